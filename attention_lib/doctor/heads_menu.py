"""The options of kind ``multi_head``: which matrix meets which input, and how heads are split and merged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import permutations

import torch
from torch import Tensor

from attention_lib.doctor.linears import Matrix
from attention_lib.doctor.options import MASK_MODES, MIXES, NO_SHAPE, NORMS, PATTERN_MODES, READINGS, scales
from attention_lib.doctor.patterns import patterns
from attention_lib.doctor.pipeline import Material, Menu, Option
from attention_lib.doctor.subject import Declared

__all__ = ["HeadsMaterial", "heads_menu"]


@dataclass
class HeadsMaterial(Material):
    """Inputs ``query key value`` (B, length, d_model) and the module's matrices by role.

    ``across`` stands for heads that were never moved before the length: (B, L, H, d_head), so that the heads of one
    token attend to each other. ``post_norm`` is a module's own norm(x + attention(x)).
    """

    matrices: dict[str, Matrix] = field(default_factory=dict)
    norms: dict[str, Callable[[Tensor], Tensor]] = field(default_factory=dict)
    across: bool = False
    post_norm: Callable[[Tensor], Tensor] | None = None
    known: dict[tuple[str, str, str, bool], Tensor] = field(default_factory=dict, init=False, repr=False)

    def heads(self, matrix: str, given: str, split: str, *, bias: bool = True) -> Tensor:
        """One input through one matrix (or raw, for ``""``), split into ``(B, H, length, width)``."""
        key = (matrix, given, split, bias)
        if key not in self.known:
            self.known[key] = self._heads(matrix, given, split, bias=bias)
        return self.known[key]

    def _heads(self, matrix: str, given: str, split: str, *, bias: bool) -> Tensor:
        x = self.tensors[given]
        if matrix:
            weight, offset = self.matrices[matrix]
            x = x @ weight.T
            x = x + offset if bias and offset is not None else x
        count = self.count(x.shape[-1])
        if self.across:
            return x.unflatten(-1, (count, -1))
        heads = _SPLITS[split](x, count)
        if matrix in self.norms:
            heads = self.norms[matrix](heads)
        if count == self.sizes.H:
            return heads
        group = self.sizes.H // count
        return heads.repeat(1, group, 1, 1) if split == "tiled" else heads.repeat_interleave(group, dim=1)

    def count(self, width: int) -> int:
        """How many heads a width holds: H, or fewer for grouped keys and values."""
        if width % self.sizes.H == 0 and width // self.sizes.H >= self.sizes.d_k:
            return self.sizes.H
        if width % self.sizes.d_k == 0 and self.sizes.H % (width // self.sizes.d_k) == 0:
            return width // self.sizes.d_k
        if width % self.sizes.H == 0:
            return self.sizes.H
        raise RuntimeError("this width does not divide into heads")


def _split_view(x: Tensor, count: int) -> Tensor:
    return x.reshape(x.shape[0], count, x.shape[1], -1)


_SPLITS: dict[str, Callable[[Tensor, int], Tensor]] = {
    "right": lambda x, count: x.unflatten(-1, (count, -1)).transpose(1, 2),
    "tiled": lambda x, count: x.unflatten(-1, (count, -1)).transpose(1, 2),
    "view": _split_view,
    "strided": lambda x, count: x.unflatten(-1, (-1, count)).permute(0, 3, 1, 2),
    "width first": lambda x, count: x.reshape(x.shape[0], count, -1, x.shape[1]).transpose(-2, -1),
}
_SPLIT_CODES = {"right": "", "tiled": "grouped-heads-tiled", "view": "split-without-transpose",
                "strided": "heads-interleaved", "width first": "split-without-transpose"}  # fmt: skip


def _pair(
    query: tuple[str, str], key: tuple[str, str], split: str, bias: bool = True
) -> Callable[[HeadsMaterial], tuple[Tensor, Tensor]]:
    def apply(material: HeadsMaterial) -> tuple[Tensor, Tensor]:
        return material.heads(*query, split, bias=bias), material.heads(*key, split)

    return apply


_Q, _K = ("query", "query"), ("key", "key")
_WIRES = {
    "": (_Q, _K),
    "query-key-swapped": (("key", "query"), ("query", "key")),
    "shared-projection": (_Q, ("query", "key")),
    "shared-projection ": (("key", "query"), _K),
    "shared-projection  ": (_Q, ("value", "key")),
    "shared-projection   ": (("value", "query"), _K),
    "missing-projection": (("", "query"), _K),
    "missing-projection ": (_Q, ("", "key")),
    "missing-projection  ": (("", "query"), ("", "key")),
}
_CROSS_WIRES = {
    "input-mixed-up": (_Q, ("key", "query")),
    "input-mixed-up ": (_Q, ("key", "value")),
    "input-mixed-up  ": (("query", "key"), _K),
    "input-mixed-up   ": (("query", "key"), ("key", "query")),
}


def _pairs(cross: bool, grouped: bool) -> tuple[Option, ...]:
    options = []
    splits = [name for name in _SPLITS if grouped or name != "tiled"]
    for wire, (query, key) in (_WIRES | (_CROSS_WIRES if cross else {})).items():
        for split in splits:
            code = "+".join(filter(None, (wire.strip(), _SPLIT_CODES[split])))
            rare = split == "width first" or (bool(wire) and split == "strided")
            rare = rare or (wire in _WIRES and wire.endswith("  "))
            options.append(
                Option(f"{wire or 'right'}, {split}", code, _pair(query, key, split), None, code.count("+") + 1, rare)
            )
    options.append(Option("no query bias", "missing-bias", _pair(_Q, _K, "right", bias=False), rare=True))
    return tuple(options)


def _values(cross: bool, grouped: bool) -> tuple[Option, ...]:
    sources = {
        "": ("value", "value"), "value-from-key": ("key", "key"), "value-from-query": ("query", "query"),
        "missing-projection": ("", "value"),
    }  # fmt: skip
    if cross:
        sources |= {
            "value-from-key ": ("key", "value"), "value-from-query ": ("query", "value"),
            "input-mixed-up": ("value", "key"), "input-mixed-up ": ("value", "query"),
        }  # fmt: skip
    options = []
    for source, (matrix, given) in sources.items():
        for split in (name for name in _SPLITS if grouped or name != "tiled"):
            code = "+".join(filter(None, (source.strip(), _SPLIT_CODES[split])))
            cost = (1 if source else 0) + (0 if split in ("right", "view", "strided", "tiled") else 1)
            apply = _value(matrix, given, split)
            options.append(Option(f"{source or 'right'}, {split}", code, apply, None, cost, split == "width first"))
    options.append(Option("no value bias", "missing-bias", _value("value", "value", "right", bias=False), rare=True))
    return tuple(options)


def _value(matrix: str, given: str, split: str, *, bias: bool = True) -> Callable[[HeadsMaterial], Tensor]:
    return lambda material: material.heads(matrix, given, split, bias=bias)


# Merging: the order in which (H, L, width) are laid out before the last two are flattened.
_MERGES = {"".join(order): order for order in permutations("HLd") if order != ("L", "H", "d")}


def _merged(heads: Tensor, order: tuple[str, ...]) -> Tensor:
    places = {"H": -3, "L": -2, "d": -1}
    lead = list(range(heads.ndim - 3))
    moved = heads.permute(*lead, *(heads.ndim + places[axis] for axis in order))
    return moved.reshape(*heads.shape[:-3], heads.shape[-2], -1)


def _merge_code(name: str) -> str:
    return "heads-interleaved" if name == "LdH" else "merge-without-transpose"


def _projected(merged: Tensor, material: HeadsMaterial, *, bias: bool = True) -> Tensor:
    weight, offset = material.matrices["output"]
    out = merged @ weight.T
    return out + offset if bias and offset is not None else out


def _finishes(has_output: bool, needs_output: bool) -> tuple[Option, ...]:
    merges: dict[str, tuple[str, Callable[[Tensor], Tensor]]] = {"": ("", lambda h: _merged(h, ("L", "H", "d")))}
    for name, order in _MERGES.items():
        merges[name] = (_merge_code(name), partial(_merged, order=order))
    merges["mean"] = ("heads-averaged", lambda h: h.mean(dim=-3))
    merges["sum"] = ("heads-averaged", lambda h: h.sum(dim=-3))
    merges["mean, repeated"] = ("heads-averaged", lambda h: torch.cat([h.mean(dim=-3)] * h.shape[-3], dim=-1))
    merges["sum, repeated"] = ("heads-averaged", lambda h: torch.cat([h.sum(dim=-3)] * h.shape[-3], dim=-1))
    options = []
    for name, (code, merge) in merges.items():
        rare = name in ("HdL", "dLH", "dHL", "sum", "mean, repeated", "sum, repeated")
        for finish, (finish_code, project) in _projects(has_output, needs_output).items():
            codes = "+".join(filter(None, (code, finish_code)))
            # An interleaved merge that undoes an interleaved split is no edit of its own.
            cost = codes.count("+") + 1 - (name == "LdH")
            apply = _finish(merge, project)
            options.append(Option(f"{name or 'right'}, {finish}", codes, apply, None, cost, rare or finish in _RARE))
    return tuple(options)


Merge = Callable[[Tensor], Tensor]
Project = Callable[[Tensor, HeadsMaterial], Tensor]


def _finish(merge: Merge, project: Project) -> Project:
    def apply(heads: Tensor, material: HeadsMaterial) -> Tensor:
        output = project(heads.flatten(-2) if material.across else merge(heads), material)
        return output if material.post_norm is None else material.post_norm(material.tensors["query"] + output)

    return apply


_RARE = ("no bias", "residual")


def _plain(merged: Tensor, material: HeadsMaterial) -> Tensor:
    return merged


def _projects(has_output: bool, needs_output: bool) -> dict[str, tuple[str, Project]]:
    if not has_output:
        return {
            "plain": ("missing-output-projection" if needs_output else "", _plain),
            "residual": ("adds-residual", lambda merged, m: merged + m.tensors["query"]),
        }
    return {
        "projected": ("", _projected),
        "plain": ("missing-output-projection", _plain),
        "no bias": ("missing-bias", lambda merged, m: _projected(merged, m, bias=False)),
        "residual": ("adds-residual", lambda merged, m: _projected(merged, m) + m.tensors["query"]),
    }


def heads_menu(declared: Declared, *, cross: bool, grouped: bool, has_output: bool, needs_output: bool) -> Menu:
    """All options of kind ``multi_head``, the right and the declared ones first."""
    return Menu(
        {
            "pair": _pairs(cross, grouped), "scale": scales(declared.scale), "shape": (NO_SHAPE,),
            "pattern": patterns(declared.causal, declared.window), "pattern_mode": PATTERN_MODES,
            "reading": READINGS, "mask_mode": MASK_MODES, "norm": NORMS,
            "value": _values(cross, grouped), "mix": MIXES, "finish": _finishes(has_output, needs_output),
        }
    )  # fmt: skip
