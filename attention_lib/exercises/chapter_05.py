"""Exercises of chapter 5: softmax."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from attention_lib.exercises.around import as_is, as_weights
from attention_lib.exercises.exercise import Implement, Predict

__all__ = ["EXERCISES"]


def _rows() -> list[tuple[Tensor, ...]]:
    generator = torch.Generator().manual_seed(51)
    small = torch.randn(2, 3, 5, generator=generator)
    return [(small,), (torch.tensor([[1000.0, 1001.0, 999.0]]),)]


def _pairs() -> list[tuple[Tensor, ...]]:
    generator = torch.Generator().manual_seed(53)
    return [tuple(torch.randn(2, length, 11, generator=generator) for length in (5, 7))]


def _arriving() -> list[tuple[Tensor, ...]]:
    generator = torch.Generator().manual_seed(54)
    scores, gradient = torch.randn(2, 3, 5, 7, generator=generator)
    return [(torch.softmax(scores, dim=-1), gradient)]


def _naive(scores: Tensor, dim: int = -1) -> Tensor:
    return torch.exp(scores) / torch.exp(scores).sum(dim=dim, keepdim=True)


def _scores(query: Tensor, key: Tensor) -> Tensor:
    return query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])


EXERCISES = {
    "5.1": Predict(
        truth=0.75,
        praise="Shares of 1 and 3 in a total of 4.",
        mistakes={
            0.25: "That is the weight of the first key.",
            3.0: "That is the ratio of the two weights; the weights themselves sum to 1.",
            1.0: "Dividing the scores by their sum would give this; softmax exponentiates first.",
        },
        hint="Exponentiate both scores, then divide by the sum.",
        tolerance=0.005,
    ),
    "5.2": Implement(
        truth=lambda scores: torch.softmax(scores, dim=-1),
        cases=_rows,
        praise="Shifted by the row's maximum, no exponential exceeds 1.",
        mistakes={
            "It is right for small scores and overflows for large ones: subtract the maximum of each row.": _naive,
            "You sum over the queries (dim=-2); the keys are the last axis.": (
                lambda scores: torch.softmax(scores, dim=-2)
            ),
            "Your total runs over the whole tensor; each row has a total of its own.": (
                lambda scores: torch.exp(scores - scores.max()) / torch.exp(scores - scores.max()).sum()
            ),
            "You divide scores by their sum without exponentiating.": (
                lambda scores: scores / scores.sum(dim=-1, keepdim=True)
            ),
        },
        hint="Each row: subtract its maximum, exponentiate, divide by the sum; keepdim=True keeps the axes in line.",
        examine=as_is("softmax"),
    ),
    "5.3": Implement(
        truth=lambda query, key: torch.softmax(_scores(query, key), dim=-1),
        cases=_pairs,
        praise="Rows are queries: each row sums to 1 over the keys.",
        mistakes={
            "The columns still sum to 1, not the rows: softmax runs over the queries.": (
                lambda query, key: torch.softmax(_scores(query, key), dim=-2)
            ),
            "Now softmax runs over the batch (dim=0).": lambda query, key: torch.softmax(_scores(query, key), dim=0),
            "The rows sum to 1 now, but the division by sqrt(d_k) has gone.": (
                lambda query, key: torch.softmax(_scores(query, key) * math.sqrt(query.shape[-1]), dim=-1)
            ),
        },
        hint="Which axis of the scores (..., L, S) counts the keys?",
        examine=as_weights(),
    ),
    "5.4": Implement(
        truth=lambda w, g: w * (g - (w * g).sum(dim=-1, keepdim=True)),
        cases=_arriving,
        praise="One dot product for each row instead of an S x S matrix.",
        mistakes={
            "That is only the first term, diag(w) g: raising one score must lower the other weights.": (
                lambda w, g: w * g
            ),
            "You used only the diagonal of J, w (1 - w); the other entries are not zero.": (
                lambda w, g: w * (1 - w) * g
            ),
            "The sum must be weighted by w, not plain.": lambda w, g: w * (g - g.sum(dim=-1, keepdim=True)),
            "You subtract the mean of the gradient; subtract its average under w.": (
                lambda w, g: w * (g - g.mean(dim=-1, keepdim=True))
            ),
            "The sign is turned around.": lambda w, g: w * ((w * g).sum(dim=-1, keepdim=True) - g),
        },
        hint="J g = diag(w) g - w (w . g), row by row.",
    ),
}
