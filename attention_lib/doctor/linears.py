"""The linear maps of a module, and which role their names suggest."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

__all__ = ["Linear", "Matrix", "Params", "Reader", "joined", "linears_of", "names_of", "role_of"]


Params = Mapping[str, Tensor]
Matrix = tuple[Tensor, Tensor | None]  # weight (out, in), bias (out,)
Reader = Callable[[Params], Matrix]


_ROLE_WORDS = {
    "query": {"q", "query", "queries", "qs", "wq", "wqs", "wquery"},
    "key": {"k", "key", "keys", "ks", "wk", "wks", "wkey"},
    "value": {"v", "value", "values", "vs", "wv", "wvs", "wvalue", "val", "vals"},
    "qkv": {"qkv", "wqkv", "kqv", "qvk", "kvq", "vkq", "vqk", "cattn", "inproj",
            "inprojweight", "pack", "wpack", "qkvs", "querykeyvalue", "attn", "fused"},
    "kv": {"kv", "wkv", "kvs", "keyvalue"},
    "output": {"o", "out", "output", "wo", "os", "cproj", "proj", "projection", "unifyheads", "unify", "concat",
               "combine", "dense", "fc", "fcout", "final", "wout", "mix", "outproj", "projout"},
}  # fmt: skip


_FILLERS = {"w", "weight", "weights", "proj", "projection", "linear", "lin", "fc", "to", "layer", "net", "dense",
            "matrix", "kernel", "conv", "map", "transform", "c", "mat", "heads", "head", "self", "mha",
            "mm"}  # fmt: skip


@dataclass(frozen=True)
class Linear:
    """A linear map found in a module: its path and how to read it.

    Attributes:
        path: Where it is.
        weight: Name of its weight.
        bias: Name of its bias, or None.
        flip: The weight is (in, out), for ``x @ W``.
        raw: A bare parameter, whose orientation only its use shows.
        head_axis: Where a bare parameter of three axes has its heads: (H, d_model, d_head) or (d_model, H, d_head).
    """

    path: str
    weight: str
    bias: str | None
    flip: bool = False
    raw: bool = False
    head_axis: int = 0

    def read(self, params: Params) -> Matrix:
        weight = params[self.weight]
        bias = None if self.bias is None else params[self.bias].flatten()
        if self.raw and weight.ndim == 3:
            return self._heads(weight), bias
        weight = weight.flatten(1) if weight.ndim > 2 else weight  # a convolution of width 1
        return (weight.T if self.flip else weight), bias

    def _heads(self, weight: Tensor) -> Tensor:
        """Heads side by side, as one matrix (out, in); an output is (H, d_head, d_model)."""
        if role_of(self.path) == "output":
            return weight.flatten(0, 1).T
        if self.head_axis == 1:
            return weight.flatten(1, 2).T
        return weight.transpose(1, 2).flatten(0, 1)


def linears_of(module: nn.Module) -> Iterator[Linear]:
    """Linear layers, convolutions of width 1 and bare matrices, in the order of their definition."""
    taken: set[str] = set()
    for path, part in module.named_modules():
        prefix = f"{path}." if path else ""
        if _is_layer(part):
            weight = f"{prefix}weight"
            bias = f"{prefix}bias" if getattr(part, "bias", None) is not None else None
            taken |= {weight, f"{prefix}bias"}
            yield Linear(path, weight, bias, flip=type(part).__name__ == "Conv1D")
    parameters = dict(module.named_parameters())
    for name, parameter in parameters.items():
        if name in taken or parameter.ndim not in (2, 3) or "norm" in name or "embed" in name:
            continue
        stem = name.removesuffix("weight").removesuffix("_")
        bias = next(
            (b for b in (f"{stem}_bias", f"{stem}bias", name.replace("W", "b")) if b in parameters and b != name), None
        )
        axis = int(parameter.ndim == 3 and parameter.shape[1] * parameter.shape[2] == parameter.shape[0])
        if bias and parameter.ndim == 2 and parameter.shape[0] == parameters[bias].numel() != parameter.shape[1]:
            yield Linear(name, name, bias)  # as many rows as biases: (out, in)
            continue
        packed = name.endswith(("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"))
        yield Linear(name, name, bias, flip=not packed, raw=not packed, head_axis=axis)


def _is_layer(part: nn.Module) -> bool:
    """Whether a part is a linear layer or a convolution; a scripted one only says so by its original name."""
    scripted = getattr(part, "original_name", "") in ("Linear", "Conv1d", "Conv2d")
    return isinstance(part, (nn.Linear, nn.Conv1d, nn.Conv2d)) or type(part).__name__ == "Conv1D" or scripted


def _words(path: str) -> list[str]:
    """The words of a path, leaf first: ``attn.w_q`` gives ["wq", "q", "attn"]."""
    found = []
    for part in reversed(path.split(".")):
        snake = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", part).lower()
        pieces = [piece for piece in re.split(r"[_\d]+", snake) if piece]
        found.append("".join(pieces))
        kept = [piece for piece in pieces if piece not in _FILLERS]
        found.append("".join(kept))
        found += kept if len(kept) == 1 else []
    return [word for word in found if word]


def role_of(path: str) -> str | None:
    """The role that a path's words suggest, leaf first: ``attn.w_q`` is a query.

    Example:
        >>> role_of("attn.w_q"), role_of("blocks.0.qkv"), role_of("linears.3")
        ('query', 'qkv', None)
    """
    for word in _words(path):
        for role, words in _ROLE_WORDS.items():
            if word in words:
                return role
    return None


def joined(parts: list[Linear]) -> Reader:
    """One reader for one matrix, or for the matrices of several heads below each other."""

    def read(params: Params) -> Matrix:
        matrices = [part.read(params) for part in parts]
        biases = [bias for _, bias in matrices]
        if len(matrices) == 1:
            return matrices[0]
        bias = None if any(b is None for b in biases) else torch.cat([b for b in biases if b is not None])
        return torch.cat([weight for weight, _ in matrices]), bias

    return read


def names_of(parts: list[Linear]) -> set[str]:
    """The parameters behind some linear maps."""
    return {name for part in parts for name in (part.weight, part.bias) if name}
