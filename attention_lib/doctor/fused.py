"""Readers of fused projections: one matrix that holds query, key and value, or key and value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from operator import itemgetter

from torch import Tensor

from attention_lib.doctor.linears import Linear, Matrix, Params, Reader, joined, names_of

__all__ = ["fused_layouts"]

_ORDERS = ("qkv", "kqv", "qvk", "vkq", "kvq", "vqk")
_ROLES = {"q": "query", "k": "key", "v": "value"}
Part = Callable[[int, int, Tensor], Tensor]


def fused_layouts(
    named: dict[str, list[Linear]], shapes: Mapping[str, tuple[int, ...]], num_heads: int | None
) -> tuple[list[dict[str, Reader]], set[str]]:
    """All usual readings of fused matrices, by role, and the names of their parameters.

    Three blocks, or in each head its three parts, in any order; no reading when a part is missing. An order that the
    matrix's own name spells comes first.
    """
    output = named.get("output", [])[-1:]
    if "qkv" in named:
        fused = named["qkv"][:1]
        rows = _rows(fused[0], shapes)
        inner = _inner(rows, output, shapes)
        layouts = [_blocks(fused[0], order, rows, inner) for order in _orders(fused[0].path)]
        if num_heads and rows % (3 * num_heads) == 0:
            parts = [_interleaved, _features_first, _innermost]
            layouts += [_in_heads(fused[0], part, num_heads, order) for order in _ORDERS for part in parts]
    elif "query" in named:
        fused = [named["query"][0], named["kv"][0]]
        rows = _rows(fused[1], shapes)
        layouts = [_key_value(fused[0], fused[1], order, rows // 2) for order in ("kv", "vk")]
    else:
        return [], set()
    if output:
        layouts = [layout | {"output": joined(output)} for layout in layouts]
    return layouts, names_of(fused) | names_of(output)


def _rows(linear: Linear, shapes: Mapping[str, tuple[int, ...]]) -> int:
    return shapes[linear.weight][1 if linear.flip else 0]


def _inner(rows: int, output: list[Linear], shapes: Mapping[str, tuple[int, ...]]) -> int:
    """Rows that belong to the query: as many as the output projection reads, or a third."""
    if not output:
        return rows // 3
    reads = shapes[output[0].weight][0 if output[0].flip else 1]
    return reads if reads <= rows - 2 and (rows - reads) % 2 == 0 else rows // 3


def _cut(linear: Linear, rows: Callable[[Tensor], Tensor]) -> Reader:
    def read(params: Params) -> Matrix:
        weight, bias = linear.read(params)
        return rows(weight), None if bias is None else rows(bias)

    return read


def _blocks(linear: Linear, order: str, rows: int, inner: int) -> dict[str, Reader]:
    sizes = {"q": inner, "k": (rows - inner) // 2, "v": (rows - inner) // 2}
    readers, start = {}, 0
    for letter in order:
        place = slice(start, start + sizes[letter])
        readers[_ROLES[letter]] = _cut(linear, itemgetter(place))
        start += sizes[letter]
    return readers


def _orders(path: str) -> list[str]:
    """All orders of the blocks: the one that the name spells first."""
    letters = "".join(letter for letter in path.rsplit(".", 1)[-1].lower() if letter in "qkv")
    return sorted(_ORDERS, key=lambda order: order != letters)


def _in_heads(linear: Linear, part: Part, num_heads: int, order: str) -> dict[str, Reader]:
    return {_ROLES[letter]: _cut(linear, partial(part, num_heads, number)) for number, letter in enumerate(order)}


def _interleaved(num_heads: int, number: int, rows: Tensor) -> Tensor:
    """Rows ordered (H, 3, d_head)."""
    return rows.unflatten(0, (num_heads, 3, -1))[:, number].flatten(0, 1)


def _features_first(num_heads: int, number: int, rows: Tensor) -> Tensor:
    """Rows ordered (d_head, 3, H), as ``(d k h)`` in einops."""
    return rows.unflatten(0, (-1, 3, num_heads))[:, number].transpose(0, 1).flatten(0, 1)


def _innermost(num_heads: int, number: int, rows: Tensor) -> Tensor:
    """Rows ordered (H, d_head, 3)."""
    return rows.unflatten(0, (num_heads, -1, 3))[:, :, number].flatten(0, 1)


def _key_value(query: Linear, fused: Linear, order: str, half: int) -> dict[str, Reader]:
    first, second = _cut(fused, lambda t: t[:half]), _cut(fused, lambda t: t[half:])
    key, value = (first, second) if order == "kv" else (second, first)
    return {"query": query.read, "key": key, "value": value}
