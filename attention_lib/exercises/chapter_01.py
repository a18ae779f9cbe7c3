"""Exercises of chapter 1: the RNN bottleneck."""

from __future__ import annotations

import torch
from torch import Tensor

from attention_lib.exercises.around import as_is
from attention_lib.exercises.exercise import Implement, Predict

__all__ = ["EXERCISES"]


def _one_step() -> list[tuple[Tensor, ...]]:
    generator = torch.Generator().manual_seed(11)
    sizes = ((3,), (5,), (5, 3), (5, 5), (5,))  # x, h, W_x, W_h, b
    return [tuple(torch.randn(size, generator=generator) for size in sizes) for _ in range(2)]


def _sequences() -> list[tuple[Tensor, ...]]:
    generator = torch.Generator().manual_seed(13)
    sizes = ((7, 3), (5, 3), (5, 5), (5,))  # x, W_x, W_h, b
    return [tuple(torch.randn(size, generator=generator) for size in sizes) for _ in range(2)]


def _heads() -> list[tuple[Tensor, ...]]:
    generator = torch.Generator().manual_seed(15)
    sizes = ((5, 3), (7, 3), (7, 2))  # query (L, d_k), key (S, d_k), value (S, d_v)
    return [tuple(torch.randn(size, generator=generator) for size in sizes)]


def _step(x: Tensor, h: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor) -> Tensor:
    return torch.tanh(W_x @ x + W_h @ h + b)


def _states(x: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor) -> Tensor:
    h, states = torch.zeros_like(b), []
    for x_t in x:
        h = _step(x_t, h, W_x, W_h, b)
        states.append(h)
    return torch.stack(states)


def _memoryless(x: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor) -> Tensor:
    return torch.stack([_step(x_t, torch.zeros_like(b), W_x, W_h, b) for x_t in x])


def _attend(query: Tensor, key: Tensor, value: Tensor, *, scale: float | None = None, dim: int = -1) -> Tensor:
    scale = key.shape[-1] ** -0.5 if scale is None else scale
    return torch.softmax(query @ key.mT * scale, dim=dim) @ value


EXERCISES = {
    "1.1": Predict(
        truth=3.0,
        praise="Project, compare, mix: the length does not enter.",
        mistakes={
            1.0: "Comparing is one product, but the inputs are projected before it and the values mixed after it.",
            1000.0: "That is the chain of a recurrent network; attention reads all positions at once.",
            1000000.0: "That is the number of scores, and they do not wait for one another.",
            2.0: "Projections, scores, weighted sum: which of the three did you leave out?",
        },
        hint="Count only products that need the result of the one before.",
        tolerance=1e-6,
    ),
    "1.2": Implement(
        truth=_step,
        cases=_one_step,
        praise="One token and one state in, one state out.",
        mistakes={
            "The tanh is missing: without it the state can grow without bound.": (
                lambda x, h, W_x, W_h, b: W_x @ x + W_h @ h + b
            ),
            "The old state does not enter: W_h @ h is missing.": lambda x, h, W_x, W_h, b: torch.tanh(W_x @ x + b),
            "The bias b is missing.": lambda x, h, W_x, W_h, b: torch.tanh(W_x @ x + W_h @ h),
            "W_h is transposed: the state is multiplied from the right.": (
                lambda x, h, W_x, W_h, b: torch.tanh(W_x @ x + h @ W_h + b)
            ),
        },
        hint="Write the equation of the step down from left to right.",
    ),
    "1.3": Implement(
        truth=_states,
        cases=_sequences,
        praise="Now each state carries what came before it.",
        mistakes={
            "Every step still starts from an empty state: position 7 knows nothing of position 1.": _memoryless,
            "The states are right, but they come in reverse order.": lambda *inputs: _states(*inputs).flip(0),
            "The sequence is read from right to left.": (lambda x, W_x, W_h, b: _states(x.flip(0), W_x, W_h, b)),
            "Only the last state is returned; one for each token is asked for.": lambda *inputs: _states(*inputs)[-1],
        },
        hint="Which variable must survive from one pass of the loop to the next?",
    ),
    "1.4": Implement(
        truth=lambda w, distance: w**distance,
        cases=lambda: [(0.5, 3), (0.9, 50), (1.0, 50), (1.1, 20)],
        praise="At w = 0.9 and distance 50 half a percent is left; at w = 1, everything.",
        mistakes={
            "A product, not a sum: each step multiplies by w.": lambda w, distance: w * distance,
            "One factor too many: the input of the same step is not multiplied by w.": (
                lambda w, distance: w ** (distance + 1)
            ),
            "One factor too few.": lambda w, distance: w ** (distance - 1),
            "The base and the exponent have changed places.": lambda w, distance: distance**w,
        },
        hint="Write h_3 out in terms of x_1 and read off its factor.",
        tolerance=1e-6,
    ),
    "1.5": Implement(
        truth=_attend,
        cases=_heads,
        praise="Three products and no loop over time: nothing waits for the token before.",
        mistakes={
            "The shares of a row must sum to 1: the softmax runs along the last axis.": (
                lambda q, k, v: _attend(q, k, v, dim=-2)
            ),
            "The division by the root of d_k is missing.": lambda q, k, v: _attend(q, k, v, scale=1.0),
            "You divide by d_k; the formula has its root.": lambda q, k, v: _attend(q, k, v, scale=1 / k.shape[-1]),
            "These are the shares; they still have to be multiplied with the values.": (
                lambda q, k, v: torch.softmax(q @ k.mT * k.shape[-1] ** -0.5, dim=-1)
            ),
        },
        hint="Write the formula from the inside out: the product, the division, the softmax, the last product.",
        examine=as_is(),
    ),
}
