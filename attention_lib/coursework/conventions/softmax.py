"""The functions of "A softmax that knows masks"."""

from __future__ import annotations

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


def _ask_softmax(candidate: Candidate, variant: Variant, scores: Tensor, allowed: Tensor | None) -> Answer:
    mask = None if allowed is None else _turned(said(allowed, variant, scores.dtype), variant)  # type: ignore[arg-type]
    weights = candidate(_turned(scores * variant["temperature"], variant), mask)
    weights = weights.exp() if variant["returns"] == "log_weights" else weights
    return [_turned(weights, variant)]


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
        ],
        ask=_ask_softmax,
        truth=lambda variant, scores, allowed: [masked_softmax(scores, allowed)],
        kind="softmax",
        plain=2,
        subject=_softmax_subject,
        options=spoken,
    ),
    "softmax_backward": Task(
        inputs=lambda g: [(normal(g, 2, 3, 7).softmax(-1), normal(g, 2, 3, 7))],
        ask=_ask_softmax_backward,
        truth=lambda variant, weights, arriving: _softmax_gradient(weights, arriving),
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
            "The sum runs over the queries; it belongs over the keys.": (
                lambda variant, w, g: [w * (g - (w * g).sum(-2, keepdim=True))]
            ),
            "The sign is turned around.": lambda variant, w, g: [-_softmax_gradient(w, g)[0]],
        },
    ),
}
