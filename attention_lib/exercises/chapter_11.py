"""Exercises of chapter 11: training."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from attention_lib.exercises.around import OneLayer, as_layer
from attention_lib.exercises.exercise import Implement, Predict
from attention_lib.steps.scores import dot_product_scores
from attention_lib.steps.softmax import masked_softmax

__all__ = ["EXERCISES"]


def _steps() -> list[tuple[int, int]]:
    return [(1, 7), (3, 7), (7, 7), (11, 7), (5, 3), (400, 3)]  # (step, warmup_steps)


def _votes() -> list[tuple[Tensor, Tensor]]:
    generator = torch.Generator().manual_seed(113)
    tokens = torch.randint(11, (3, 7), generator=generator)  # (B, L)
    return [(2 * torch.randn(3, 7, 11, generator=generator), tokens)]  # votes (B, L, symbols)


def _regressions() -> list[tuple[Tensor, Tensor, Tensor, list[int]]]:
    generator = torch.Generator().manual_seed(114)
    x, y, w = (torch.randn(shape, generator=generator) for shape in ((13, 5), (13,), (5,)))
    return [(w, x, y, [5, 5, 3]), (w, x, y, [11, 2])]


def _gradient(w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Of the mean of (x w - y)^2."""
    return 2 * x.T @ (x @ w - y) / len(y)


def _parts(w: Tensor, x: Tensor, y: Tensor, sizes: list[int]) -> list[Tensor]:
    return [_gradient(w, *part) for part in zip(x.split(sizes), y.split(sizes), strict=True)]


def _sequences() -> list[tuple[Tensor, ...]]:
    generator = torch.Generator().manual_seed(115)
    return [tuple(torch.randn(2, 7, width, generator=generator) for width in (3, 3, 5))]  # query, key, value


def _sees(query: Tensor, key: Tensor, value: Tensor, *, last: int | None, transposed: bool = False) -> Tensor:
    """Attention of the token at i to those up to i + last; None is all of them."""
    n = query.shape[-2]
    allowed = torch.ones(n, n, dtype=torch.bool).tril(n if last is None else last)
    scores = dot_product_scores(query, key)
    return masked_softmax(scores, allowed.T if transposed else allowed) @ value


def _one_head(answer: Callable[..., Tensor]) -> OneLayer:
    def forward(x: Tensor, W_Q: Tensor, W_K: Tensor, W_V: Tensor, W_O: Tensor, num_heads: int) -> Tensor:
        return answer(x @ W_Q, x @ W_K, x @ W_V) @ W_O

    return OneLayer(forward, num_heads=1)


EXERCISES = {
    "11.1": Predict(
        truth=8.0,
        praise="n d^2 and n^2 d are both products of three sizes, and each size doubles.",
        mistakes={
            2.0: "That is the length alone, in its linear part; the width doubles too.",
            4.0: "That is one of the two doublings of the quadratic part; the other size doubles as well.",
            16.0: "No part has the square of both: the products are n d^2 and n^2 d.",
            6.0: "Factors multiply: twice the length and twice the width, squared, are 2 times 4.",
        },
        hint="Put 2n and 2d into 24 n d^2 + 4 n^2 d.",
    ),
    "11.2": Implement(
        truth=lambda step, warmup_steps: min(step / warmup_steps, math.sqrt(warmup_steps / step)),
        cases=_steps,
        praise="Up in a straight line to 1 at warmup_steps, then down with the root of the step.",
        mistakes={
            "It rises, and then stays up: the way down is missing.": lambda step, warm: min(1.0, step / warm),
            "It falls with the root from the start: the rise is missing.": lambda step, warm: min(1.0, step**-0.5),
            "It falls too fast: with the step, not with its root.": lambda step, warm: min(step / warm, warm / step),
            "The larger of the two branches is in force; it should be the smaller.": (
                lambda step, warm: max(step / warm, math.sqrt(warm / step))
            ),
            "Counted from 0: the first batch has a learning rate of 0 and teaches nothing.": (
                lambda step, warm: min((step - 1) / warm, math.sqrt(warm / step))
            ),
            "The peak is not at 1: that is the formula of 2017 itself, without its d_model.": (
                lambda step, warm: min(step**-0.5, step * warm**-1.5)
            ),
        },
        hint="Two branches that meet at step = warmup_steps, where both are 1; take the smaller.",
    ),
    "11.3": Implement(
        truth=lambda votes, tokens: cross_entropy(votes[:, :-1].mT, tokens[:, 1:]),
        cases=_votes,
        praise="Each vote is compared with the token after it, and the last has nothing to be compared with.",
        mistakes={
            "Still not shifted: each vote is compared with the token that was just read.": (
                lambda votes, tokens: cross_entropy(votes.mT, tokens)
            ),
            "Shifted the wrong way: each vote is compared with the token before.": (
                lambda votes, tokens: cross_entropy(votes[:, 1:].mT, tokens[:, :-1])
            ),
            "Shifted around the end: the last vote is compared with the first token.": (
                lambda votes, tokens: cross_entropy(votes.mT, tokens.roll(-1, dims=1))
            ),
            "Shifted by two.": lambda votes, tokens: cross_entropy(votes[:, :-2].mT, tokens[:, 2:]),
            "Shifted over the batch: the first axis is the sequence, the second the place in it.": (
                lambda votes, tokens: cross_entropy(votes[:-1].mT, tokens[1:])
            ),
            "Reshaped where the axes had to be exchanged: votes of different places are mixed.": (
                lambda votes, tokens: cross_entropy(votes[:, :-1].reshape(3, 11, 6), tokens[:, 1:])
            ),
        },
        hint="The vote at place i is about the token at place i + 1.",
    ),
    "11.4": Implement(
        truth=lambda w, x, y, sizes: _gradient(w, x, y),
        cases=_regressions,
        praise="Each part counts with its share of the batch, so the small last one does not count double.",
        mistakes={
            "The parts are added as they are: the gradient is about as many times too long as there are parts.": (
                lambda w, x, y, sizes: sum(_parts(w, x, y, sizes))
            ),
            "A plain average: the smaller last part counts as much as the others.": (
                lambda w, x, y, sizes: sum(_parts(w, x, y, sizes)) / len(sizes)
            ),
            "Only the last part is left: the gradient was cleared between the parts.": (
                lambda w, x, y, sizes: _parts(w, x, y, sizes)[-1]
            ),
            "Sums without a division: this is the gradient of the sum of the squares, not of their mean.": (
                lambda w, x, y, sizes: _gradient(w, x, y) * len(y)
            ),
        },
        hint="Weight the mean of each part with its size over the size of the batch, and add.",
    ),
    "11.5": Implement(
        truth=lambda query, key, value: _sees(query, key, value, last=0),
        cases=_sequences,
        praise="Each token sees itself and what came before it, so the next one has to be predicted.",
        mistakes={
            "Each token still sees the next one, which is the answer it is asked for.": (
                lambda q, k, v: _sees(q, k, v, last=1)
            ),
            "Now nothing is blocked: each token sees the whole future.": lambda q, k, v: _sees(q, k, v, last=None),
            "One too many is blocked: a token may see itself.": lambda q, k, v: _sees(q, k, v, last=-1),
            "The mask is transposed: each token sees only the future.": (
                lambda q, k, v: _sees(q, k, v, last=0, transposed=True)
            ),
        },
        hint="Which is the first diagonal, counted from the main one, that has to be blocked?",
        examine=as_layer(_one_head, causal=True),
    ),
}
