"""Exercises of chapter 6: the weighted sum."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from attention_lib.exercises.around import as_is
from attention_lib.exercises.exercise import Implement, Predict

__all__ = ["EXERCISES"]


def _inputs() -> list[tuple[Tensor, ...]]:
    generator = torch.Generator().manual_seed(61)
    flat = tuple(torch.randn(length, width, generator=generator) for length, width in ((5, 3), (7, 3), (7, 2)))
    return [flat, tuple(x.expand(2, *x.shape).clone() * 2 for x in flat)]


def _square_weights() -> list[tuple[Tensor, ...]]:
    generator = torch.Generator().manual_seed(63)
    weights = torch.softmax(torch.randn(2, 5, 5, generator=generator), dim=-1)
    return [(weights, torch.randn(2, 5, 3, generator=generator))]


def _one_query() -> list[tuple[Tensor, ...]]:
    generator = torch.Generator().manual_seed(64)
    value = torch.randn(7, 3, generator=generator)
    scores = torch.randn(7, generator=generator)
    return [(scores, value), (scores * 2 + 1000.0, value)]


def _attention(query: Tensor, key: Tensor, value: Tensor, *, scale: float | None = None, dim: int = -1) -> Tensor:
    scale = 1 / math.sqrt(key.shape[-1]) if scale is None else scale
    return torch.softmax(query @ key.mT * scale, dim=dim) @ value


def _one_pass(scores: Tensor, value: Tensor, *, shrink_total: bool = True, shrink_output: bool = True) -> Tensor:
    top, total, output = -math.inf, 0.0, torch.zeros(value.shape[1])
    for score, row in zip(scores.tolist(), value, strict=True):
        new_top = max(top, score)
        shrink, share = math.exp(top - new_top), math.exp(score - new_top)
        total = total * (shrink if shrink_total else 1.0) + share
        output = output * (shrink if shrink_output else 1.0) + share * row
        top = new_top
    return output / total


EXERCISES = {
    "6.1": Predict(
        truth=7.0,
        praise="Nearer to 8 by as much as its weight is larger.",
        mistakes={
            6.0: "That is the plain average; the weights are not equal.",
            5.0: "The weights have changed places: three quarters belong to the value 8.",
            12.0: "You added the values; the weights sum to 1, so the output lies between 4 and 8.",
        },
        hint="Multiply each value by its weight and add.",
        tolerance=0.001,
    ),
    "6.2": Implement(
        truth=_attention,
        cases=_inputs,
        praise="Two products and a softmax of rows.",
        mistakes={
            "The scaling by sqrt(d_k) is missing.": lambda q, k, v: _attention(q, k, v, scale=1.0),
            "You divide by d_k instead of its root.": lambda q, k, v: _attention(q, k, v, scale=1 / k.shape[-1]),
            "Softmax runs over the queries (dim=-2); it must run over the keys.": (
                lambda q, k, v: _attention(q, k, v, dim=-2)
            ),
            "You return the weights; the values have not been mixed yet.": (
                lambda q, k, v: torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), dim=-1)
            ),
            "The softmax is missing: you mix with raw scores.": (lambda q, k, v: q @ k.mT / math.sqrt(q.shape[-1]) @ v),
        },
        hint="scores (..., L, S), weights (..., L, S), output (..., L, d_v).",
        examine=as_is(),
    ),
    "6.3": Implement(
        truth=lambda weights, value: weights @ value,
        cases=_square_weights,
        praise="Row i of the weights belongs to query i.",
        mistakes={
            "The weights are still transposed: query i is mixed with column i, which does not sum to 1.": (
                lambda weights, value: weights.mT @ value
            ),
            "That multiplies the sums of the rows, not the rows.": (
                lambda weights, value: weights.sum(dim=-1, keepdim=True) * value
            ),
            "You mix with equal weights: the average of the values.": (
                lambda weights, value: value.mean(dim=-2, keepdim=True).expand_as(value)
            ),
        },
        hint="Which axis of the weights is summed over, and which axis of the values?",
    ),
    "6.4": Implement(
        truth=lambda scores, value: torch.softmax(scores, dim=0) @ value,
        cases=_one_query,
        praise="This is what a fused kernel does, block by block.",
        mistakes={
            "The running output must shrink by the same factor as the total when a larger score arrives.": (
                lambda scores, value: _one_pass(scores, value, shrink_output=False)
            ),
            "The running total must shrink when a larger score arrives.": (
                lambda scores, value: _one_pass(scores, value, shrink_total=False)
            ),
            "Neither total nor output shrinks when a larger score arrives.": (
                lambda scores, value: _one_pass(scores, value, shrink_total=False, shrink_output=False)
            ),
            "The division by the total is missing.": (lambda scores, value: torch.exp(scores - scores.max()) @ value),
            "It is right for small scores and overflows at 1,000: keep a running maximum.": (
                lambda scores, value: torch.exp(scores) @ value / torch.exp(scores).sum()
            ),
        },
        hint="When the maximum grows from a to b, everything summed so far is multiplied by exp(a - b).",
    ),
}
