"""Exercises of chapter 10: dropout and modes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from attention_lib.doctor.diagnose import diagnose
from attention_lib.exercises.exercise import Implement, Predict
from attention_lib.steps.scores import dot_product_scores

__all__ = ["EXERCISES"]


def _weights_and_keep() -> list[tuple[Tensor, Tensor, float]]:
    generator = torch.Generator().manual_seed(102)
    weights = torch.softmax(torch.randn(2, 3, 5, 7, generator=generator), dim=-1)
    keep = torch.rand(2, 3, 5, 7, generator=generator) > 0.3
    return [(weights, keep, 0.3), (weights[0, 0], keep[1, 2], 0.75)]


def _modes() -> list[tuple[Tensor, Tensor, Tensor, float, bool]]:
    (weights, keep, p), _ = _weights_and_keep()
    value = torch.randn(2, 3, 7, 11, generator=torch.Generator().manual_seed(103))
    return [(weights, value, keep, p, training) for training in (True, False)]


def _rows() -> list[tuple[Tensor, float]]:
    (weights, _, p), _ = _weights_and_keep()
    return [(weights, p), (torch.eye(3), 0.2)]


def _attend(*, always: bool = False, returns_dropped: bool = False, rescale: bool = True) -> Callable[..., Any]:
    """A right answer to 10.3, or one with the faults asked for."""

    def attend(weights: Tensor, value: Tensor, keep: Tensor, p: float, training: bool) -> tuple[Tensor, Tensor]:
        used = weights
        if training or always:
            used = weights * keep / (1 - p if rescale else 1)
        return used @ value, used if returns_dropped else weights

    return attend


def _together(result: object) -> object:
    """Output and weights side by side, when the answer is such a pair."""
    if isinstance(result, tuple) and len(result) == 2 and all(isinstance(part, Tensor) for part in result):
        output, weights = result
        if output.shape[:-1] == weights.shape[:-1]:
            return torch.cat([output, weights], dim=-1)
    return result


def _row_variance(weights: Tensor, p: float) -> Tensor:
    return p / (1 - p) * weights.square().sum(dim=-1)


class _InAttention(nn.Module):
    """The answer to 10.3 in its place, between softmax and output."""

    def __init__(self, answer: Callable[..., tuple[Tensor, Tensor]]) -> None:
        super().__init__()
        self.answer = answer
        self.drop = nn.Dropout(0.3)  # only its p is used: the doctor sets it

    def forward(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        weights = torch.softmax(dot_product_scores(query, key), dim=-1)
        keep = torch.rand_like(weights) >= self.drop.p
        return self.answer(weights, value, keep, self.drop.p, self.training)


EXERCISES = {
    "10.1": Predict(
        truth=2.0,
        praise="What survives is multiplied by 1 / (1 - 0.5), whatever it was; here it was 1.",
        mistakes={
            1.0: "That is the mean over many draws, and the weight before dropout; a survivor is scaled up.",
            0.5: "Dropout divides by the probability of staying; it does not multiply by it.",
            0.0: "That is the weight when it is dropped; it was kept.",
            1.5: "It is divided by 1 - p, not multiplied by 1 + p.",
        },
        hint="Half of the draws give 0, and the mean of all draws must be 1.",
    ),
    "10.2": Implement(
        truth=lambda weights, keep, p: weights * keep / (1 - p),
        cases=_weights_and_keep,
        praise="Dropped weights are 0, the others are scaled up by the probability of staying.",
        mistakes={
            "The survivors are not scaled up: the mean of a row sum is now 1 - p.": lambda w, keep, p: w * keep,
            "You divide by p, the probability of being dropped; it is the probability of staying that counts.": (
                lambda w, keep, p: w * keep / p
            ),
            "You scale the survivors down instead of up.": lambda w, keep, p: w * keep * (1 - p),
            "You divide every row by its own sum. Then each row sums to 1, but the mean of a weight has moved.": (
                lambda w, keep, p: w * keep / (w * keep).sum(dim=-1, keepdim=True)
            ),
            "The wrong ones are dropped: True in keep means stays.": lambda w, keep, p: w * ~keep / (1 - p),
        },
        hint="Set those that are not kept to 0, and scale the others so that the mean over many draws is unchanged.",
    ),
    "10.3": Implement(
        truth=_attend(),
        cases=_modes,
        praise="Dropout in training alone, and the weights that come back are those of the softmax.",
        mistakes={
            "Both faults are still there: it drops in evaluation too, and returns the weights after dropout.": _attend(
                always=True, returns_dropped=True
            ),
            "The right weights come back now, but weights are still dropped in evaluation.": _attend(always=True),
            "Evaluation is right now; in training the weights that come back are still those after dropout.": _attend(
                returns_dropped=True
            ),
            "The survivors are no longer scaled up by 1 / (1 - p).": _attend(rescale=False),
        },
        hint="Return a pair, output and weights. Look at what training changes, and at which weights are returned.",
        reads=_together,
        examine=lambda answer: diagnose(_InAttention(answer)),
    ),
    "10.4": Implement(
        truth=lambda weights, p: _row_variance(weights, p).sqrt(),
        cases=_rows,
        praise="A row that spreads its weight over many keys is hardly disturbed; one that has found its key is.",
        mistakes={
            "That is the variance; the standard deviation is its root.": _row_variance,
            "You use p (1 - p), the spread of the keep mask, and leave out the division by 1 - p.": (
                lambda w, p: (p * (1 - p) * w.square().sum(dim=-1)).sqrt()
            ),
            "You add up the weights themselves; it is their squares that count.": (
                lambda w, p: (p / (1 - p) * w.sum(dim=-1)).sqrt()
            ),
            "The sum runs over the queries; a row is summed over its keys, the last axis.": (
                lambda w, p: (p / (1 - p) * w.square().sum(dim=-2)).sqrt()
            ),
        },
        hint="Independent terms: variances add. What is the variance of one weight that is 0 or w / (1 - p)?",
    ),
}
