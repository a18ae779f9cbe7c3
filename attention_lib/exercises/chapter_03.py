"""Exercises of chapter 3: query, key and value."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_lib.exercises.around import OneLayer, as_layer
from attention_lib.exercises.exercise import Implement, Predict

__all__ = ["EXERCISES"]


def _inputs() -> list[tuple[Tensor, ...]]:
    generator = torch.Generator().manual_seed(31)
    sizes = ((5, 7), (7, 3), (7, 3), (7, 3))  # X, W_Q, W_K, W_V
    return [tuple(torch.randn(size, generator=generator) for size in sizes) for _ in range(2)]


def _project(X: Tensor, W_Q: Tensor, W_K: Tensor, W_V: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return X @ W_Q, X @ W_K, X @ W_V


def _stacked(result: Any) -> Any:
    """Three tensors as one, so that they are compared in their order; anything else as it is."""
    if not isinstance(result, (tuple, list)):
        return result
    parts = [torch.as_tensor(part) for part in result]
    return torch.stack(parts) if len({part.shape for part in parts}) == 1 else result


def _head(query: Tensor, key: Tensor, value: Tensor, *, scale: float | None = None, dim: int = -1) -> Tensor:
    scale = 1 / math.sqrt(key.shape[-1]) if scale is None else scale
    return torch.softmax(query @ key.T * scale, dim=dim) @ value


def _what_it_finds(W_Q: object) -> object:
    """Sort a query matrix: -1 it is transposed, 0 the pronoun asks for nothing, 1 street below a half, 2 above."""
    W_Q = torch.as_tensor(W_Q)
    if W_Q.shape not in ((6, 2), (2, 6)):
        raise ValueError(f"it has shape {tuple(W_Q.shape)}, not (6, 2)")
    if W_Q.shape == (2, 6):
        return -1
    if not bool(W_Q[2].any()):
        return 0
    keys = torch.zeros(11, 2)
    keys[1, 0] = keys[5, 1] = 1.0  # of eleven words, animal is a being and street is a place
    street = torch.softmax(keys @ W_Q[2].float() / math.sqrt(2), dim=0)[5]
    return 2 if street > 0.5 else 1


def _pronoun_asks(being: float, place: float) -> Tensor:
    W_Q = torch.zeros(6, 2)
    W_Q[2] = torch.tensor([being, place])
    return W_Q


def _layer_of_one_head(answer: Callable[..., Tensor]) -> OneLayer:
    def each(x: Tensor, W_Q: Tensor, W_K: Tensor, W_V: Tensor, W_O: Tensor, num_heads: int) -> Tensor:
        return torch.stack([answer(X, W_Q, W_K, W_V) for X in x]) @ W_O

    return OneLayer(each, num_heads=1)


EXERCISES = {
    "3.1": Predict(
        truth=20.0,
        praise="A query of zeros has no opinion: all weights are 1/3 at any temperature.",
        mistakes={
            10.0: "That is the value of the key that matched before; a query of zeros matches none better.",
            0.0: "The query is zero, but the weights still sum to 1: some values must come back.",
            60.0: "You added the values; the weights are 1/3 each, not 1.",
        },
        hint="What are the three dot products of [0, 0] with the keys, and what does softmax make of equal numbers?",
    ),
    "3.2": Implement(
        truth=_project,
        cases=_inputs,
        reads=_stacked,
        praise="One input, three matrices, three roles.",
        mistakes={
            "Query and key are swapped: return Q, K, V in this order.": lambda X, Q, K, V: (X @ K, X @ Q, X @ V),
            "All three are projected with W_Q.": lambda X, Q, K, V: (X @ Q, X @ Q, X @ Q),
            "The values are projected with W_K; they have a matrix of their own.": lambda X, Q, K, V: (
                X @ Q,
                X @ K,
                X @ K,
            ),
        },
        hint="Each projection is X @ W, of shape (n, d_k).",
    ),
    "3.3": Implement(
        truth=lambda X, Q, K, V: _head(X @ Q, X @ K, X @ V),
        cases=_inputs,
        praise="The values have a matrix of their own: what is found need not be what was announced.",
        mistakes={
            "The values are still projected with the keys' matrix: a word hands over what it should only announce.": (
                lambda X, Q, K, V: _head(X @ Q, X @ K, X @ K)
            ),
            "The values are now right, but the scaling by sqrt(d_k) is gone.": (
                lambda X, Q, K, V: _head(X @ Q, X @ K, X @ V, scale=1.0)
            ),
            "The values are now right, but the softmax runs over the queries (dim=0): rows no longer sum to 1.": (
                lambda X, Q, K, V: _head(X @ Q, X @ K, X @ V, dim=0)
            ),
            "The values are right, but query and key have changed places.": (
                lambda X, Q, K, V: _head(X @ K, X @ Q, X @ V)
            ),
        },
        hint="Follow each of the three matrices: which one is never used?",
        examine=as_layer(_layer_of_one_head),
    ),
    "3.4": Implement(
        truth=lambda: _pronoun_asks(0.0, 6.0),
        cases=lambda: [()],
        reads=_what_it_finds,
        praise="The query decides what is found; the words and their keys are the same as before.",
        mistakes={
            "The row of the pronoun (row 2) does not ask for places strongly enough: street gets half or less.": (
                lambda: _pronoun_asks(6.0, 3.0)
            ),
            "The row of the pronoun (row 2) is all zeros: it asks for nothing. Which row did you change?": (
                lambda: _pronoun_asks(0.0, 0.0)
            ),
            "It is transposed: rows are the six features, columns the two numbers that keys announce.": (
                lambda: _pronoun_asks(0.0, 6.0).T
            ),
        },
        hint="W_Q has shape (6, 2): six features, and the two numbers that keys announce.",
    ),
}
