"""The functions of "A softmax that knows masks"."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from attention_lib.coursework.conventions.task import (
    Answer,
    Candidate,
    Task,
    Variant,
    normal,
    some,
    spoken,
    with_empty_row,
)
from attention_lib.coursework.words import said
from attention_lib.steps.softmax import masked_softmax

__all__ = ["TASKS"]


def _turned(tensor: Tensor, variant: Variant) -> Tensor:
    return tensor.transpose(-2, -1) if variant["axis"] == "first" else tensor


def _in_the_books(candidate: Candidate, variant: Variant, scores: Tensor, allowed: Tensor | None) -> Tensor:
    mask = None if allowed is None else _turned(said(allowed, variant, scores.dtype), variant)  # type: ignore[arg-type]
    return _turned(candidate(_turned(scores * variant["temperature"], variant), mask), variant)


def _ask_softmax(candidate: Candidate, variant: Variant, scores: Tensor, allowed: Tensor | None) -> Answer:
    weights = _in_the_books(candidate, variant, scores, allowed)
    return [weights.exp(), weights.isneginf()] if variant["returns"] == "log_weights" else [weights]


def _true_softmax(variant: Variant, scores: Tensor, allowed: Tensor | None) -> Answer:
    weights = masked_softmax(scores, allowed)
    return [weights, weights == 0] if variant["returns"] == "log_weights" else [weights]


def _logarithm(change: Callable[[Tensor], Tensor]) -> Callable[..., Answer]:
    """What the right weights give under another logarithm."""

    def made(variant: Variant, scores: Tensor, allowed: Tensor | None) -> Answer:
        logs = change(masked_softmax(scores, allowed))
        return [logs.exp(), logs.isneginf()] if variant["returns"] == "log_weights" else []

    return made


def _rows_at_heights(g: torch.Generator) -> Tensor:
    return normal(g, 2, 3, 7) + 3000 * normal(g, 2, 3, 1)


def _blocked_above(g: torch.Generator) -> tuple[Tensor, Tensor]:
    allowed = some(g, 2, 3, 7)
    return normal(g, 2, 3, 7) + 4000.0 * ~allowed, allowed


def _softmax_subject(candidate: Candidate, variant: Variant) -> Candidate:
    def mine(scores, mask=None):
        spoken = {**variant, "mask": "allowed"}  # the doctor speaks the variant's own kind of mask
        return _ask_softmax(candidate, spoken, scores, mask)[0]

    return mine


def _softmax_gradient(weights: Tensor, arriving: Tensor) -> Answer:
    return [weights * (arriving - (weights * arriving).sum(-1, keepdim=True))]


def _ask_softmax_backward(candidate: Candidate, variant: Variant, weights: Tensor, arriving: Tensor) -> Answer:
    grads = candidate(_turned(weights, variant), _turned(arriving, variant))
    return [_turned(grads, variant) * variant["temperature"]]


TASKS: dict[str, Task] = {
    "masked_softmax": Task(
        inputs=lambda g: [
            (normal(g, 2, 3, 7), None),
            (normal(g, 2, 3, 7), some(g, 2, 3, 7)),
            (normal(g, 2, 3, 7), with_empty_row(some(g, 2, 3, 7))),
            (normal(g, 3, 7), some(g, 3, 7)),
            (normal(g, 2, 4, 3, 7), some(g, 3, 7)),
            (normal(g, 2, 4, 3, 7), some(g, 2, 1, 3, 7)),
            (_rows_at_heights(g), None),
            (_rows_at_heights(g), some(g, 2, 3, 7)),
            _blocked_above(g),
        ],
        labels=(
            "without a mask",
            "with a mask",
            "where a query has no allowed key",
            "for one sequence without a batch axis",
            "with a mask shared by batch and heads",
            "with a mask shared by heads",
            "with scores in the thousands: every row needs a maximum of its own",
            "with scores in the thousands and a mask",
            "where a blocked score lies far above the allowed ones: take the maximum of the allowed ones",
        ),
        ask=_ask_softmax,
        truth=_true_softmax,
        kind="softmax",
        plain=2,
        values=("The exponential of the logarithms", "Whether a logarithm is -inf"),
        unasked=("gradient-cut", "gradient-wrong"),
        mistakes={
            "It returns logarithms to the base 2; the convention asks for natural ones.": _logarithm(torch.log2),
            "It returns logarithms to the base 10; the convention asks for natural ones.": _logarithm(torch.log10),
        },
        subject=_softmax_subject,
        options=spoken,
    ),
    "softmax_backward": Task(
        inputs=lambda g: [(normal(g, 2, 3, 7).softmax(-1), normal(g, 2, 3, 7))],
        ask=_ask_softmax_backward,
        truth=lambda variant, weights, arriving: _softmax_gradient(weights, arriving),
        by_hand=True,
        mistakes={
            "That is only the diagonal term: raising one score must lower the other weights of its row.": (
                lambda variant, w, g: [w * g]
            ),
            "You used the diagonal of the Jacobian, w (1 - w), alone; its other entries are not zero.": (
                lambda variant, w, g: [w * (1 - w) * g]
            ),
            "Subtract the average of the gradient *under the weights*, not its plain sum.": (
                lambda variant, w, g: [w * (g - g.sum(-1, keepdim=True))]
            ),
            "Subtract the average of the gradient *under the weights*, not its plain mean.": (
                lambda variant, w, g: [w * (g - g.mean(-1, keepdim=True))]
            ),
            "convention-axis|The sum runs over the queries; it belongs over the keys.": (
                lambda variant, w, g: [w * (g - (w * g).sum(-2, keepdim=True))]
            ),
            "That is the gradient through the logarithm of a softmax; the weights themselves arrive here.": (
                lambda variant, w, g: [g - w * g.sum(-1, keepdim=True)]
            ),
            "The sign is turned around.": lambda variant, w, g: [-_softmax_gradient(w, g)[0]],
        },
    ),
}
