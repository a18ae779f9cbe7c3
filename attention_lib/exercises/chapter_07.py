"""Exercises of chapter 7: masks."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from attention_lib.doctor.diagnose import diagnose
from attention_lib.doctor.findings import Diagnosis
from attention_lib.exercises.around import as_is
from attention_lib.exercises.exercise import Implement, Predict
from attention_lib.steps.masks import causal_mask, padding_mask
from attention_lib.steps.scores import dot_product_scores
from attention_lib.steps.softmax import masked_softmax

__all__ = ["EXERCISES"]


def _scores_and_masks() -> list[tuple[Tensor, ...]]:
    generator = torch.Generator().manual_seed(72)
    scores = torch.randn(2, 3, 5, 7, generator=generator)
    mask = torch.rand(2, 1, 5, 7, generator=generator) > 0.4
    mask[0, 0, 2] = False  # a query that may attend to nobody
    mask[0, 0, 3] = torch.arange(7) < 4
    return [(scores, mask)]


def _lengths() -> list[tuple[Tensor, int]]:
    return [(torch.tensor([2, 5, 3]), 5), (torch.tensor([7, 1]), 7)]


def _documents() -> list[tuple[Tensor]]:
    return [(torch.tensor([0, 0, 0, 1, 1, 2, 2]),), (torch.tensor([4, 4, 9, 9, 9]),)]


def _softmax(scores: Tensor, mask: Tensor, *, fill: float) -> Tensor:
    return torch.softmax(scores.masked_fill(~mask, fill), dim=-1)


def _kept(lengths: Tensor, S: int) -> Tensor:
    return torch.arange(S) < lengths[:, None]


def _same(document: Tensor) -> Tensor:
    return document[:, None] == document[None, :]


def _padding_in_attention(answer: Callable[..., Tensor]) -> Diagnosis:
    def candidate(query: Tensor, key: Tensor, value: Tensor, lengths: Tensor) -> Tensor:
        scores = dot_product_scores(query, key)
        return masked_softmax(scores, answer(lengths, scores.shape[-1])) @ value

    return diagnose(candidate)


EXERCISES = {
    "7.1": Predict(
        truth=4.0,
        praise="It stands at position 3, counted from 0, and sees 0 to 3.",
        mistakes={
            1.0: "That is top-left alignment, as if the queries were the first two of the five.",
            5.0: "That is the second of them, the last position.",
            3.0: "It sees the three before it, and itself.",
            2.0: "That is the number of queries.",
        },
        hint="At which of the five positions does the first of the last two stand?",
        tolerance=0.001,
    ),
    "7.2": Implement(
        truth=masked_softmax,
        cases=_scores_and_masks,
        praise="Blocked keys get exactly 0, and an empty row is all zeros.",
        mistakes={
            "The empty row is NaN: with every score at -inf, softmax divides 0 by 0.": (
                lambda s, m: _softmax(s, m, fill=-math.inf)
            ),
            "The empty row is a uniform average over keys that nobody may attend to.": (
                lambda s, m: _softmax(s, m, fill=-1e9)
            ),
            "Blocked scores are filled with 0, and e^0 = 1 is still a share.": lambda s, m: _softmax(s, m, fill=0.0),
            "You mask after the softmax: the rows no longer sum to 1.": lambda s, m: torch.softmax(s, dim=-1) * m,
            "The mask is the wrong way round: True means may attend.": lambda s, m: masked_softmax(s, ~m),
        },
        hint="Block with -inf before the softmax, then take care of rows in which everything is blocked.",
        examine=as_is("softmax"),
    ),
    "7.3": Implement(
        truth=padding_mask,
        cases=_lengths,
        praise="True = may attend, and the keys are the last axis.",
        mistakes={
            "Both faults are still there: it marks the padding, and it masks rows instead of columns.": (
                lambda lengths, S: ~_kept(lengths, S)[:, None, :, None]
            ),
            "The polarity is right now, but it still masks the queries (rows) instead of the keys (columns).": (
                lambda lengths, S: _kept(lengths, S)[:, None, :, None]
            ),
            "The axis is right now, but True still marks the padding.": (
                lambda lengths, S: ~_kept(lengths, S)[:, None, None, :]
            ),
            "It is off by one: a sequence of length n has the positions 0 to n - 1.": (
                lambda lengths, S: (torch.arange(S) <= lengths[:, None])[:, None, None, :]
            ),
            "The numbers are right; the shape must leave room for heads and queries: (B, 1, 1, S).": _kept,
        },
        hint="Two things are wrong with it: what True means, and which axis it lies on.",
        examine=_padding_in_attention,
    ),
    "7.4": Implement(
        truth=lambda document: _same(document) & causal_mask(len(document)),
        cases=_documents,
        praise="Blocks on the diagonal, each of them causal.",
        mistakes={
            "The documents are apart, but within one a word sees the words after it.": _same,
            "That is the causal mask alone: a document still reads those before it.": (
                lambda document: causal_mask(len(document))
            ),
            "Either is enough in your mask; both must allow a key.": (
                lambda document: _same(document) | causal_mask(len(document))
            ),
            "It looks into the future: the causal part is transposed.": (
                lambda document: _same(document) & causal_mask(len(document)).T
            ),
        },
        hint="A key is visible if it is in the same document and not later.",
    ),
}
