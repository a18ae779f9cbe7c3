"""The function of "Scores and their scale"."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from attention_lib.coursework.conventions.task import Answer, Candidate, Task, Variant, normal, one_rank, told_by
from attention_lib.steps.scores import dot_product_scores
from attention_lib.steps.softmax import masked_softmax

__all__ = ["TASKS"]


def _gaps(L: int, S: int, variant: Variant, like: Tensor) -> Tensor:
    gaps = (torch.arange(L)[:, None] - torch.arange(S)).abs()
    return variant.get("distance", 0.0) * gaps.to(like.dtype)


def _ask_scores(candidate: Candidate, variant: Variant, query: Tensor, key: Tensor) -> Answer:
    given = key.transpose(-2, -1).contiguous() if variant["keys"] == "columns" else key
    scores = candidate(query, given)
    scores = scores.transpose(-2, -1) if variant["result"] == "keys_first" else scores
    back = scores + _gaps(query.shape[-2], key.shape[-2], variant, query)
    return [back * variant["temperature"]]


def _scores_subject(candidate: Candidate, variant: Variant) -> Candidate:
    plain = {**variant, "distance": 0.0}

    def mine(query, key, value, mask=None):
        one_rank(query, 3)
        scores = _ask_scores(candidate, plain, query, key)[0]
        scores = scores + variant["temperature"] * _gaps(query.shape[-2], key.shape[-2], variant, query)
        return masked_softmax(scores, mask) @ value

    return mine


def _scored(variant: Variant, query: Tensor, key: Tensor, gaps: Callable[[Tensor], Tensor]) -> Tensor:
    """Scores under the variant, with another bias for the distances i - j."""
    key = key.transpose(-2, -1) if variant["keys"] == "rows" else key
    scores = query @ key / (query.shape[-1] ** 0.5 * variant["temperature"])
    behind = torch.arange(scores.shape[-2])[:, None] - torch.arange(scores.shape[-1])
    scores = scores - variant["distance"] * gaps(behind.to(scores.dtype))
    return scores.transpose(-2, -1) if variant["result"] == "keys_first" else scores


def _bias(change: Callable[[Tensor, float, Variant], Tensor]) -> Callable[..., Answer]:
    def wrong(variant: Variant, query: Tensor, key: Tensor) -> Tensor:
        return _scored(variant, query, key, lambda behind: change(behind, query.shape[-1] ** 0.5, variant))

    return told_by(_ask_scores, wrong)


def _weights(axis: int) -> Callable[..., Answer]:
    return told_by(_ask_scores, lambda variant, q, k: _scored(variant, q, k, torch.abs).softmax(axis))


TASKS: dict[str, Task] = {
    "attention_scores": Task(
        inputs=lambda g: [
            (normal(g, 2, 3, 5), normal(g, 2, 7, 5)),
            (normal(g, 2, 3, 11), normal(g, 2, 7, 11)),
            (normal(g, 3, 5), normal(g, 7, 5)),
            (normal(g, 2, 4, 3, 5), normal(g, 2, 4, 7, 5)),
        ],
        labels=("for a batch", "for another d_k", "for one sequence without a batch axis", "with heads in front"),
        plain=2,
        ask=_ask_scores,
        truth=lambda variant, query, key: [dot_product_scores(query, key)],
        kind="attention",
        subject=_scores_subject,
        mistakes={
            "The distance bias has the wrong sign: far keys get higher scores.": _bias(lambda b, s, v: -b.abs()),
            "The distance bias is divided by sqrt(d_k) too; it belongs on the score once divided.": (
                _bias(lambda b, s, v: b.abs() / s)
            ),
            "The distance bias is divided by the temperature too; it belongs on the score once divided.": (
                _bias(lambda b, s, v: b.abs() / v["temperature"])
            ),
            "The distance bias is divided by sqrt(d_k) and the temperature; it belongs on the score once divided.": (
                _bias(lambda b, s, v: b.abs() / (s * v["temperature"]))
            ),
            "The distance i - j has a sign here; the convention takes its absolute value.": _bias(lambda b, s, v: b),
            "The distance j - i has a sign here; the convention takes its absolute value.": _bias(lambda b, s, v: -b),
            "The distance is squared; the convention takes it as it is.": _bias(lambda b, s, v: b.square()),
            "double-softmax|It returns weights: the softmax belongs to a later step.": _weights(-1),
            "double-softmax|It returns weights over the last axis but one: the softmax comes later.": (_weights(-2)),
        },
    ),
}
