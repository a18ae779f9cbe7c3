"""The function of "Scores and their scale"."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from attention_lib.coursework.conventions.task import Answer, Candidate, Task, Variant, normal, one_rank
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


def _off_by(share: Callable[[float, float], float]) -> Callable[..., Answer]:
    """The right scores, with a share of the distance bias that is left over once the right one was added back."""

    def made(variant: Variant, query: Tensor, key: Tensor) -> Answer:
        left = share(variant["temperature"], math.sqrt(query.shape[-1]))
        return [dot_product_scores(query, key) + left * _gaps(query.shape[-2], key.shape[-2], variant, query)]

    return made


TASKS: dict[str, Task] = {
    "attention_scores": Task(
        inputs=lambda g: [(normal(g, 2, 3, 5), normal(g, 2, 7, 5)), (normal(g, 2, 3, 11), normal(g, 2, 7, 11))],
        ask=_ask_scores,
        truth=lambda variant, query, key: [dot_product_scores(query, key)],
        kind="attention",
        subject=_scores_subject,
        mistakes={
            "The distance bias has the wrong sign: far keys get higher scores.": _off_by(lambda t, root: 2 * t),
            "The distance bias is divided by the temperature too; subtract it from the divided score.": (
                _off_by(lambda t, root: t - 1)
            ),
            "The distance bias is divided by sqrt(d_k) too; subtract it from the divided score.": (
                _off_by(lambda t, root: t * (1 - 1 / root))
            ),
            "The distance bias is divided by sqrt(d_k) and the temperature too; subtract it after that.": (
                _off_by(lambda t, root: t - 1 / root)
            ),
        },
    ),
}
