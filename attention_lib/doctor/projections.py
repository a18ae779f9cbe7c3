"""Finds the query, key, value and output projections of a module: by name, by what was given, or by their order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from torch import nn

from attention_lib.doctor.fused import fused_layouts
from attention_lib.doctor.linears import Linear, Reader, joined, linears_of, names_of, role_of

__all__ = ["Projections", "count_heads", "find_projections"]

Shapes = Mapping[str, tuple[int, ...]]

_HEAD_COUNTS = ("num_heads", "n_heads", "n_head", "heads", "h", "nhead", "num_attention_heads", "nheads", "num_head",
                "head_num", "H", "n_h", "nh", "heads_num", "head_count", "attention_heads", "numHeads", "_num_heads",
                "self_num_heads", "n_local_heads")  # fmt: skip


_HEAD_WIDTHS = ("head_dim", "d_head", "dim_head", "d_k", "dk", "attention_head_size", "head_size", "key_dim", "depth",
                "dim_per_head", "dh")  # fmt: skip


@dataclass
class Projections:
    """Readers of the four projections, each from a mapping of parameter names to tensors.

    Attributes:
        roles: ``query``, ``key``, ``value`` and, where there is one, ``output``.
        by_name: Whether names or the caller told which is which; otherwise only the order of definition did.
        used: Names of the parameters that belong to them.
        shared_by_heads: One small matrix serves slices of the input (each head sees a part only).
        alternatives: Other ways to read a fused matrix, each a full dict of roles.
        turned: Bare matrices read the other way round, where there are any.
    """

    roles: dict[str, Reader] = field(default_factory=dict)
    by_name: bool = True
    used: set[str] = field(default_factory=set)
    shared_by_heads: bool = False
    alternatives: list[dict[str, Reader]] = field(default_factory=list)
    separate_heads: int = 0
    turned: dict[str, Reader] | None = None


def find_projections(
    module: nn.Module, given: Mapping[str, Any] | None = None, num_heads: int | None = None
) -> Projections | None:
    """The projections of a module, or None when it has no matrices.

    Args:
        module: Any attention module.
        given: Role to name of the submodule or parameter; ``{"output": None}`` says that there is none.
        num_heads: H, where it is known.
    """
    linears = list(linears_of(module))
    named = _by_name(linears, given or {})
    if given and "output" in given and given["output"] is None:
        named.pop("output", None)
    elif "output" not in named:
        named |= _the_one_left(linears, named)
    shapes = {name: tuple(tensor.shape) for name, tensor in module.state_dict(keep_vars=True).items()}
    if "qkv" in named or "kv" in named:
        layouts, used = fused_layouts(named, shapes, num_heads)
        return Projections(layouts[0], True, used, alternatives=layouts[1:]) if layouts else None
    if {"query", "key", "value"} <= set(named):
        return _separate(named, shapes, by_name=True)
    return _by_order(linears, given, shapes, num_heads)


def _by_name(linears: list[Linear], given: Mapping[str, Any]) -> dict[str, list[Linear]]:
    named: dict[str, list[Linear]] = {}
    told = {name: role for role, name in given.items() if name}
    for linear in linears:
        role = told.get(linear.path) or told.get(linear.weight)
        if role is None and linear.path not in told:
            role = role_of(linear.path)
            role = None if role in given else role
        if role is not None:
            named.setdefault(role, []).append(linear)
    return named


def _the_one_left(linears: list[Linear], named: dict[str, list[Linear]]) -> dict[str, list[Linear]]:
    """The only layer whose name says nothing is the output projection, when all others have their roles."""
    claimed = [linear for parts in named.values() for linear in parts]
    rest = [linear for linear in linears if linear not in claimed]
    complete = "qkv" in named or {"query", "kv"} <= set(named) or {"query", "key", "value"} <= set(named)
    return {"output": rest} if complete and len(rest) == 1 else {}


def _separate(named: dict[str, list[Linear]], shapes: Shapes, *, by_name: bool) -> Projections:
    wanted: list[str] = [role for role in ("query", "key", "value", "output") if role in named]
    parts = {role: named[role][-1:] if role == "output" else named[role] for role in wanted}
    roles = {role: joined(parts[role]) for role in wanted}
    used = {name for role in wanted for name in names_of(parts[role])}
    found = Projections(roles, by_name, used, separate_heads=_separate_heads(parts["query"], shapes))
    if any(part.raw for role in wanted for part in parts[role]):
        turned = {role: [_turned(part) for part in parts[role]] for role in wanted}
        found.turned = {role: joined(turned[role]) for role in wanted}
        found.alternatives.append(found.turned)
    return found


def _separate_heads(queries: list[Linear], shapes: Shapes) -> int:
    """How many heads have a matrix of their own, or a slice of one with three axes."""
    shape = shapes[queries[0].weight]
    return shape[queries[0].head_axis] if queries[0].raw and len(shape) == 3 else len(queries)


def _turned(part: Linear) -> Linear:
    return replace(part, flip=not part.flip) if part.raw else part


def _three_in_one(linear: Linear, shapes: Shapes) -> bool:
    shape = shapes[linear.weight]
    return len(shape) >= 2 and (shape[0] == 3 * shape[1] or shape[1] == 3 * shape[0])


def _by_order(
    linears: list[Linear], given: Mapping[str, Any] | None, shapes: Shapes, num_heads: int | None
) -> Projections | None:
    """Query, key, value and output in the order in which the module defines them."""
    if len(linears) in (1, 2) and _three_in_one(linears[0], shapes):
        layouts, used = fused_layouts({"qkv": linears[:1], "output": linears[1:]}, shapes, num_heads)
        return Projections(layouts[0], True, used, alternatives=layouts[1:]) if layouts else None
    if len(linears) < 3:
        return None
    named = {role: [linear] for role, linear in zip(("query", "key", "value", "output"), linears, strict=False)}
    if given and "output" in given and given["output"] is None:
        named.pop("output", None)
    return _separate(named, shapes, by_name=False)


def count_heads(module: nn.Module, projections: Projections, inner: int) -> int | None:
    """H from the module's own attributes or from its separate heads; None when it does not say."""
    output = projections.roles.get("output")
    reads = inner if output is None else _inner_of(module, output)
    for part in module.modules():
        for owner in (part, getattr(part, "config", None)):
            for name in _HEAD_COUNTS:
                count = _count(owner, name)
                if count and (inner % count == 0 or inner * count == reads):
                    return count
            for name in _HEAD_WIDTHS:
                width = _count(owner, name)
                if width and inner % width == 0:
                    return inner // width
    return projections.separate_heads if projections.separate_heads > 1 else None


def _count(owner: Any, name: str) -> int:
    """An attribute that is a whole number, 1 or more; else 0."""
    number = getattr(owner, name, None)
    return number if isinstance(number, int) and not isinstance(number, bool) and number >= 1 else 0


def _inner_of(module: nn.Module, output: Reader) -> int:
    params = {name: tensor.detach() for name, tensor in module.state_dict(keep_vars=True).items()}
    return output(params)[0].shape[1]
