"""The functions of "Many heads"."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from attention_lib.attention import attention
from attention_lib.coursework.conventions.task import Answer, Candidate, Task, Variant, normal, spoken, told_by
from attention_lib.coursework.words import said
from attention_lib.steps.heads import merge_heads, split_heads

__all__ = ["TASKS"]

_PLACES = {"second": (0, 2, 1, 3), "third": (0, 1, 2, 3), "first": (2, 0, 1, 3)}


def _to_places(heads: Tensor, variant: Variant) -> Tensor:
    """(B, H, L, d) in the variant's order of axes."""
    return heads.transpose(1, 2).permute(_PLACES[variant["heads"]])


def _from_places(heads: Tensor, variant: Variant) -> Tensor:
    back = [_PLACES[variant["heads"]].index(axis) for axis in range(4)]
    return heads.permute(back).transpose(1, 2)


def _dealt(width: int, H: int, variant: Variant) -> Tensor:
    """Which feature of the variant stands where the book has feature c."""
    if variant["order"] == "blocks":
        return torch.arange(width)
    return torch.arange(width).reshape(width // H, H).T.reshape(-1)


def _ask_split(candidate: Candidate, variant: Variant, x: Tensor, H: int) -> Answer:
    given = torch.empty_like(x)
    given[..., _dealt(x.shape[-1], H, variant)] = x
    return [_from_places(candidate(given, H), variant)]


def _ask_merge(candidate: Candidate, variant: Variant, x: Tensor) -> Answer:
    whole = candidate(_to_places(x, variant))
    return [whole[..., _dealt(whole.shape[-1], x.shape[1], variant)]]


def _reshaped(variant: Variant, x: Tensor, H: int) -> Tensor:
    """The shape of heads without their order."""
    B, L, width = x.shape
    sizes = (B, L, H, width // H)
    return x.reshape([sizes[axis] for axis in _PLACES[variant["heads"]]])


def _flattened(variant: Variant, heads: Tensor) -> Tensor:
    B, L, H, d = (heads.shape[_PLACES[variant["heads"]].index(axis)] for axis in range(4))
    return heads.reshape(B, L, H * d)


def _ask_multi_head(candidate: Candidate, variant: Variant, *inputs: Any) -> Answer:
    """Asked with matrices of full width, of which heads that share keys and values take the first part."""
    x, wq, wk, wv, wo, H, allowed = inputs
    wk, wv = wk[:, : wk.shape[1] // variant["groups"]], wv[:, : wv.shape[1] // variant["groups"]]
    return _ask_layer(candidate, variant, x, wq, wk, wv, wo, H, said(allowed, variant, x.dtype))


def _ask_layer(candidate: Candidate, variant: Variant, *inputs: Any) -> Answer:
    x, wq, wk, wv, wo, H, mask = inputs
    H_kv = H // variant["groups"]
    given = []
    for matrix, heads in ((wq, H), (wk, H_kv), (wv, H_kv)):
        placed = torch.empty_like(matrix)
        placed[:, _dealt(matrix.shape[1], heads, variant)] = matrix
        given.append(placed)
    last = torch.empty_like(wo)
    last[_dealt(wo.shape[0], H, variant)] = wo
    given = [m.T if variant["matrices"] == "out_in" else m for m in (*given, last)]
    return [candidate(x, *given, H, mask)]


def _true_multi_head(variant: Variant, *inputs: Any, scale: float | None = None, project: bool = True) -> Answer:
    x, wq, wk, wv, wo, H, allowed = inputs
    groups = variant["groups"]
    wk, wv = wk[:, : wk.shape[1] // groups], wv[:, : wv.shape[1] // groups]
    query = split_heads(x @ wq, H)
    key, value = split_heads(x @ wk, H // groups), split_heads(x @ wv, H // groups)
    merged = merge_heads(attention(query, key, value, allowed, scale=scale).output)
    return [merged @ wo if project else merged]


def _tiled(variant: Variant, *inputs: Any) -> Answer:
    """Query head h reads key head h mod H_kv."""
    x, wq, wk, wv, wo, H, allowed = inputs
    groups = variant["groups"]
    key, value = (split_heads(x @ w[:, : w.shape[1] // groups], H // groups).repeat(1, groups, 1, 1) for w in (wk, wv))
    return [merge_heads(attention(split_heads(x @ wq, H), key, value, allowed).output) @ wo]


def _split_first(variant: Variant, *inputs: Any, own: bool) -> Answer:
    """Every head projects its own part of x, with its own block of the matrix or with the first one."""
    x, *matrices, wo, H, allowed = inputs
    d = x.shape[-1] // H

    def blocks(matrix: Tensor, groups: int) -> Tensor:
        places = [(h, h // groups) if own else (0, 0) for h in range(H)]
        return torch.block_diag(*(matrix[i * d : (i + 1) * d, j * d : (j + 1) * d] for i, j in places))

    groups = (1, variant["groups"], variant["groups"])
    query, key, value = (split_heads(x @ blocks(w, g), H) for w, g in zip(matrices, groups, strict=True))
    return [merge_heads(attention(query, key, value, allowed).output) @ wo]


class _AsModule(nn.Module):
    """A student's multi-head function with weights of its own, for the doctor."""

    def __init__(self, candidate: Candidate, variant: Variant) -> None:
        super().__init__()
        shared = variant["groups"]
        self.num_heads, d_model = (3, 12) if shared == 1 else (4, 16)
        self.num_kv_heads = self.num_heads // shared
        for name in ("query", "key", "value", "output"):
            width = d_model // shared if name in ("key", "value") else d_model
            setattr(self, f"w_{name}", nn.Linear(d_model, width, bias=False))
        self._ask = lambda *inputs: _ask_layer(candidate, variant, *inputs)[0]
        self._variant = variant

    def forward(self, x, mask=None):
        matrices = [getattr(self, f"w_{name}").weight.T for name in ("query", "key", "value", "output")]
        return self._ask(x, *matrices, self.num_heads, mask)


def _layer(g: torch.Generator, H: int, allowed: Tensor | None) -> tuple[Any, ...]:
    width = 12
    return (normal(g, 2, 5, width), *(normal(g, width, width) for _ in range(4)), H, allowed)


TASKS: dict[str, Task] = {
    "split_heads": Task(
        inputs=lambda g: [(normal(g, 2, 5, 12), 3), (normal(g, 2, 5, 12), 4)],
        ask=_ask_split,
        truth=lambda variant, x, H: [split_heads(x, H)],
        kind="split_heads",
        mistakes={
            "split-without-transpose|A plain reshape mixes tokens and heads: give the heads an axis of their own "
            "first, then move that axis.": told_by(_ask_split, _reshaped),
        },
        subject=lambda candidate, variant: lambda x, num_heads: _ask_split(candidate, variant, x, num_heads)[0],
        follows=("order", "heads"),
    ),
    "merge_heads": Task(
        inputs=lambda g: [(normal(g, 2, 3, 5, 4),), (normal(g, 2, 4, 5, 3),)],
        ask=_ask_merge,
        truth=lambda variant, x: [merge_heads(x)],
        kind="merge_heads",
        mistakes={
            "merge-without-transpose|A plain reshape mixes tokens and heads: move the head axis back beside the "
            "features first.": told_by(_ask_merge, _flattened),
        },
        subject=lambda candidate, variant: lambda x: _ask_merge(candidate, variant, x)[0],
        follows=("order", "heads"),
    ),
    "multi_head": Task(
        inputs=lambda g: [_layer(g, 4, None), _layer(g, 2, torch.ones(5, 5, dtype=torch.bool).tril())],
        ask=_ask_multi_head,
        truth=_true_multi_head,
        kind="multi_head",
        subject=_AsModule,
        unasked=("nan-on-empty-row", "uniform-on-empty-row"),
        labels=("without a mask", "with a mask"),
        options=spoken,
        follows=("order", "groups", "matrices", "mask"),
        mistakes={
            "The scores are not divided by the square root of the head's width.": (
                lambda variant, *inputs: _true_multi_head(variant, *inputs, scale=1.0)
            ),
            "The scores are divided by the square root of d_model; each head has its own, smaller width.": (
                lambda variant, *inputs: _true_multi_head(variant, *inputs, scale=inputs[0].shape[-1] ** -0.5)
            ),
            "heads-before-projection|The input is split into heads before it is projected: project first. The heads "
            "share one corner of each matrix.": lambda variant, *inputs: _split_first(variant, *inputs, own=False),
            "heads-before-projection|The input is split into heads before it is projected: project first. Each head "
            "sees its own part of the input alone.": lambda variant, *inputs: _split_first(variant, *inputs, own=True),
            "grouped-heads-tiled|Query heads share key heads in another order: neighbours share one.": _tiled,
            "The output matrix is missing.": lambda variant, *inputs: _true_multi_head(variant, *inputs, project=False),
        },
    ),
}
