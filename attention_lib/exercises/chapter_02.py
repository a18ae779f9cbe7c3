"""Exercises of chapter 2: attention over the states of an encoder."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from attention_lib.exercises.around import as_weights
from attention_lib.exercises.exercise import Implement, Predict

__all__ = ["EXERCISES"]


def _drawn(seed: int, *shapes: tuple[int, ...]) -> tuple[Tensor, ...]:
    generator = torch.Generator().manual_seed(seed)
    return tuple(torch.randn(shape, generator=generator) for shape in shapes)


def _two_widths() -> list[tuple[Tensor, ...]]:
    # queries (L, d_q), states (S, d_h), W_q (d_q, d_hidden), W_k (d_h, d_hidden), v (d_hidden,)
    return [_drawn(21, (3, 5), (7, 2), (5, 11), (2, 11), (11,)), _drawn(22, (1, 3), (4, 7), (3, 5), (7, 5), (5,))]


def _batches() -> list[tuple[Tensor, ...]]:
    return [_drawn(23, (3, 5), (3, 7, 5)), _drawn(24, (2, 3), (2, 5, 3))]  # one state each (B, d), memory (B, S, d)


def _general() -> list[tuple[Tensor, ...]]:
    return [_drawn(25, (3, 5), (7, 2), (5, 2)), _drawn(26, (2, 3), (5, 7), (3, 7))]  # (L, d_q), (S, d_h), (d_q, d_h)


def _additive(s: Tensor, H: Tensor, W_q: Tensor, W_k: Tensor, v: Tensor) -> Tensor:
    return _hidden(s, H, W_q, W_k).tanh() @ v


def _hidden(s: Tensor, H: Tensor, W_q: Tensor, W_k: Tensor) -> Tensor:
    return (s @ W_q)[:, None] + (H @ W_k)[None]  # (L, S, d_hidden)


def _match(s: Tensor, H: Tensor) -> Tensor:
    return (H @ s[:, :, None])[:, :, 0]  # (B, S)


def _one_by_one(answer: Callable[..., Tensor], query: Tensor, key: Tensor) -> Tensor:
    """The weights of an answer that takes one state a sentence, for all of them in turn."""
    return torch.stack([answer(query[:, i], key) for i in range(query.shape[1])], dim=1)


EXERCISES = {
    "2.1": Predict(
        truth=3200.0,
        praise="50 states of 64 numbers; the memory grows with the sentence.",
        mistakes={
            64.0: "That is the fixed vector; attention keeps the states of all 50 words.",
            50.0: "That is how many weights there are at one step; each belongs to a whole state.",
            2500.0: "That is 50 x 50, words against words; here the decoder asks, and the memory is states.",
            3250.0: "The weights are computed, not kept: count the states alone.",
        },
        hint="One state for each word, and each state has the width of the network.",
        tolerance=1e-6,
    ),
    "2.2": Implement(
        truth=_additive,
        cases=_two_widths,
        praise="Two widths, one hidden layer, and every query met every state.",
        mistakes={
            "The tanh is missing. Then the query adds the same to every state's score, and the softmax cancels it.": (
                lambda s, H, W_q, W_k, v: _hidden(s, H, W_q, W_k) @ v
            ),
            "You multiply the two halves; additive scores add them.": (
                lambda s, H, W_q, W_k, v: ((s @ W_q)[:, None] * (H @ W_k)[None]).tanh() @ v
            ),
            "The tanh comes too late: it belongs around the hidden layer, before v.": (
                lambda s, H, W_q, W_k, v: (_hidden(s, H, W_q, W_k) @ v).tanh()
            ),
            "The vector v is missing: you only add up the hidden layer.": (
                lambda s, H, W_q, W_k, v: _hidden(s, H, W_q, W_k).tanh().sum(dim=-1)
            ),
            "Rows and columns have changed places: rows are queries, columns are states.": (
                lambda *inputs: _additive(*inputs).T
            ),
        },
        hint="Bring both halves to shape (L, S, d_hidden) before you add them: one needs [:, None], the other [None].",
    ),
    "2.3": Implement(
        truth=lambda s, H: _match(s, H).softmax(dim=1),
        cases=_batches,
        praise="Each sentence shares out its own weight, whoever else is in the batch.",
        mistakes={
            "The softmax still runs over the batch: sentences compete with one another for weight.": (
                lambda s, H: _match(s, H).softmax(dim=0)
            ),
            "These are the scores; the softmax has gone altogether.": _match,
            "The softmax runs over batch and states together: the whole batch shares one weight of 1.": (
                lambda s, H: _match(s, H).flatten().softmax(dim=0).view(H.shape[:2])
            ),
            "The axis is right, but these are the states mixed by the weights; the weights are asked for.": (
                lambda s, H: (_match(s, H).softmax(dim=1)[:, None] @ H)[:, 0]
            ),
        },
        hint="Along which axis should the weights of one sentence sum to 1?",
        examine=as_weights(_one_by_one, scale=1.0),
    ),
    "2.4": Implement(
        truth=lambda s, H, W: s @ W @ H.T,
        cases=_general,
        praise="One matrix makes two widths comparable, and the rest is a dot product.",
        mistakes={
            "Rows and columns have changed places: rows are queries, columns are states.": lambda s, H, W: (
                H @ (s @ W).T
            ),
            "Scaled: this score, of 2015, is not divided by anything yet.": (
                lambda s, H, W: s @ W @ H.T / math.sqrt(H.shape[-1])
            ),
            "A tanh too many: that one belongs to the additive score.": lambda s, H, W: torch.tanh(s @ W @ H.T),
            "Scores are asked for, before the softmax.": lambda s, H, W: (s @ W @ H.T).softmax(dim=-1),
        },
        hint="Bring the queries to the width of the states, then compare all with all.",
    ),
}
