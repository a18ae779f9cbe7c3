"""The function of "Scores and their scale"."""

from __future__ import annotations

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


TASKS: dict[str, Task] = {
    "attention_scores": Task(
        inputs=lambda g: [(normal(g, 2, 3, 5), normal(g, 2, 7, 5)), (normal(g, 2, 3, 11), normal(g, 2, 7, 11))],
        ask=_ask_scores,
        truth=lambda variant, query, key: [dot_product_scores(query, key)],
        kind="attention",
        subject=_scores_subject,
    ),
}
