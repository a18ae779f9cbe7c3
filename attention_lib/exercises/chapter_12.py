"""Exercises of chapter 12: long sequences."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from attention_lib.attention import attention
from attention_lib.exercises.around import as_is, as_mask
from attention_lib.exercises.exercise import Implement, Predict
from attention_lib.steps.masks import window_mask

__all__ = ["EXERCISES"]


def _lengths_and_windows() -> list[tuple[int, int, int]]:
    return [(7, 7, 3), (2, 5, 3), (1, 6, 4), (4, 11, 1)]


def _newest() -> list[tuple[Tensor, ...]]:
    generator = torch.Generator().manual_seed(123)

    def drawn(length: int) -> Tensor:
        return torch.randn(2, 3, length, 8, generator=generator)

    return [(drawn(L), drawn(S), drawn(S)) for L, S in ((5, 5), (2, 7), (1, 5))]


def _patterns() -> list[tuple[int, int, int]]:
    return [(11, 2, 1), (7, 1, 2), (5, 0, 1)]


def _behind(L: int, S: int, *, first: int) -> Tensor:
    """How far each key lies behind each query, the first query at position ``first``: (L, S)."""
    return torch.arange(first, first + L)[:, None] - torch.arange(S)


def _between(L: int, S: int, least: int, most: int) -> Tensor:
    behind = _behind(L, S, first=S - L)
    return (behind >= least) & (behind <= most)


def _top_left(L: int, S: int, window: int) -> Tensor:
    behind = _behind(L, S, first=0)
    return (behind >= 0) & (behind < window)


def _global(n: int, radius: int, num_global: int, *, rows: bool, columns: bool) -> Tensor:
    position = torch.arange(n)
    mask = (position[:, None] - position).abs() <= radius
    if rows:
        mask = mask | (position[:, None] < num_global)
    if columns:
        mask = mask | (position < num_global)
    return mask


_three_keys = as_mask(causal=True, window=3)


EXERCISES = {
    "12.1": Predict(
        truth=12.0,
        praise="Each layer looks 4 positions back, and the hops add up.",
        mistakes={
            15.0: "A window of 5 includes the query itself: one layer looks 4 positions back.",
            4.0: "That is one layer; the next one reads tokens that have looked back themselves.",
            5.0: "That is the number of keys that one layer sees.",
            13.0: "That is the number of inputs in reach, the own position included; the farthest is one less away.",
            64.0: "Hops add up, they do not multiply: 4 and 4 and 4.",
            125.0: "Hops add up, they do not multiply; and one layer looks 4 positions back, not 5.",
        },
        hint="How far back does one layer look, the query itself being one of the 5 keys?",
        tolerance=0.001,
    ),
    "12.2": Implement(
        truth=lambda L, S, window: window_mask(L, S, window=window),
        cases=_lengths_and_windows,
        praise="The queries are the last of the positions, and each is one of its own keys.",
        mistakes={
            "Top-left alignment: your queries are the first L positions; they are the last.": _top_left,
            "It is off by one: a query sees window keys behind itself, and itself, window + 1 in all.": (
                lambda L, S, window: _between(L, S, 0, window)
            ),
            "The query does not see itself: the keys start at its own position.": (
                lambda L, S, window: _between(L, S, 1, window)
            ),
            "It looks both ways: keys after the query are allowed.": (
                lambda L, S, window: _between(L, S, 1 - window, window - 1)
            ),
            "It looks into the future: the sign of the distance is turned around.": (
                lambda L, S, window: _between(L, S, 1 - window, 0)
            ),
            "That is the causal mask; the window is missing.": lambda L, S, window: _between(L, S, 0, S),
            "It is the opposite of the mask: True means may attend.": (
                lambda L, S, window: ~_between(L, S, 0, window - 1)
            ),
        },
        hint="Query i stands at position S - L + i; subtract the position of the key.",
        examine=lambda answer: _three_keys(lambda L, S: answer(L, S, 3)),
    ),
    "12.3": Implement(
        truth=lambda query, key, value: attention(query, key, value, causal=True).output,
        cases=_newest,
        praise="The newest queries are the last of the keys, and see everything before them.",
        mistakes={
            "torch's is_causal is still top-left: the newest query sees the oldest key only.": (
                lambda q, k, v: scaled_dot_product_attention(q, k, v, is_causal=True)
            ),
            "Now nothing is causal: of several new queries, the first sees those after it.": (
                lambda q, k, v: scaled_dot_product_attention(q, k, v)
            ),
            "Off by one: a query does not see itself.": (
                lambda q, k, v: attention(q, k, v, _between(q.shape[-2], k.shape[-2], 1, k.shape[-2])).output
            ),
            "You throw the older keys away: the queries see only those as new as themselves.": (
                lambda q, k, v: attention(q, k[..., -q.shape[-2] :, :], v[..., -q.shape[-2] :, :], causal=True).output
            ),
        },
        hint="Build the causal mask for L queries that are the last of S positions, and pass it as attn_mask.",
        examine=as_is(causal=True),
    ),
    "12.4": Implement(
        truth=lambda n, radius, num_global: _global(n, radius, num_global, rows=True, columns=True),
        cases=_patterns,
        praise="A band, the first rows and the first columns.",
        mistakes={
            "The global tokens see all, but are not seen by all: their columns are missing.": (
                lambda n, radius, num_global: _global(n, radius, num_global, rows=True, columns=False)
            ),
            "The global tokens are seen by all, but do not see all: their rows are missing.": (
                lambda n, radius, num_global: _global(n, radius, num_global, rows=False, columns=True)
            ),
            "That is the window alone; the global tokens are missing.": (
                lambda n, radius, num_global: _global(n, radius, num_global, rows=False, columns=False)
            ),
            "An encoder is not causal: your mask blocks every key after the query.": (
                lambda n, radius, num_global: _global(n, radius, num_global, rows=True, columns=True).tril()
            ),
            "Only global tokens see and are seen in your mask: both conditions are required where either is enough.": (
                lambda n, radius, num_global: (
                    _global(n, -1, num_global, rows=True, columns=False)
                    & _global(n, -1, num_global, rows=False, columns=True)
                )
            ),
        },
        hint="Three conditions, joined by or: close enough, a global query, a global key.",
    ),
}
