"""The functions of "Masks and what they mean"."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from attention_lib.coursework.conventions.task import Answer, Candidate, Task, Variant, some, spoken
from attention_lib.coursework.words import said
from attention_lib.steps.masks import causal_mask, padding_mask, window_mask

__all__ = ["TASKS", "true_window"]


def _heard(mask: Tensor, variant: Variant) -> Tensor:
    """The variant's words as True = may attend; what is neither yes nor no stays visible as it is."""
    if variant["mask"] == "additive":
        proper = mask.is_floating_point() and bool(((mask == 0) | torch.isneginf(mask)).all())
        return mask == 0 if proper else mask
    return ~mask if variant["mask"] == "blocked" and mask.dtype == torch.bool else mask


def _top_left(whole: Tensor, L: int, S: int) -> Tensor:
    return whole[:L, :S]


def _true_causal(variant: Variant, L: int, S: int) -> Answer:
    if variant["corner"] == "top_left":
        return [_top_left(causal_mask(max(L, S)), L, S)]
    return [causal_mask(L, S)]


def true_window(variant: Variant, L: int, S: int, w: int) -> Answer:
    n = max(L, S)
    around = variant["reach"] == "around"
    whole = window_mask(n, window=w + (variant["reach"] == "before"), causal=True)
    if around:
        whole = whole | whole.T
    return [whole[:L, :S] if variant["corner"] == "top_left" else whole[n - L :, n - S :]]


def _true_padding(variant: Variant, lengths: Tensor, S: int) -> Answer:
    mask = padding_mask(lengths, S)
    return [mask.flip(-1) if variant["side"] == "left" else mask]


def _ask_mask(candidate: Candidate, variant: Variant, *inputs: Any) -> Answer:
    return [_heard(candidate(*inputs), variant)]


def _ask_combine(candidate: Candidate, variant: Variant, first: Tensor, second: Tensor) -> Answer:
    words = [said(mask, variant, torch.float32) for mask in (first, second)]
    return [_heard(candidate(*words), variant)]


def _ask_to_additive(candidate: Candidate, variant: Variant, allowed: Tensor) -> Answer:
    return [candidate(said(allowed, variant, torch.float32))]


def _earlier(variant: Variant, L: int, S: int, by: int) -> Tensor:
    first = (S - L if variant["corner"] == "bottom_right" else 0) + by
    return torch.arange(S) <= first + torch.arange(L)[:, None]


TASKS: dict[str, Task] = {
    "causal_mask": Task(
        inputs=lambda g: [(5, 5), (3, 7), (1, 4)],
        ask=_ask_mask,
        truth=_true_causal,
        kind="causal_mask",
        subject=lambda candidate, variant: candidate if variant["corner"] == "bottom_right" else None,
        options=spoken,
        mistakes={
            "Each query sees the keys after it instead of those before it: the triangle is the other one.": (
                lambda variant, L, S: [~_earlier(variant, L, S, -1)]
            ),
            "causal-excludes-itself|A query does not see its own position; it should.": lambda variant, L, S: [
                _earlier(variant, L, S, -1)
            ],
            "causal-sees-next|A query sees one position too far, the one right after it.": lambda variant, L, S: [
                _earlier(variant, L, S, 1)
            ],
        },
        follows=("mask", "corner"),
    ),
    "padding_mask": Task(
        inputs=lambda g: [(torch.tensor([7, 3, 0, 1]), 7)],
        ask=_ask_mask,
        truth=_true_padding,
        mistakes={
            "One real token too many may be attended to.": lambda variant, n, S: _true_padding(
                variant, (n + 1).clamp(max=S), S
            ),
            "The last real token may not be attended to; it should.": lambda variant, n, S: _true_padding(
                variant, (n - 1).clamp(min=0), S
            ),
            "A sequence of length 0 is allowed everything: `[-0:]` is the whole row.": lambda variant, n, S: (
                _true_padding(variant, n.masked_fill(n == 0, S), S)
            ),
            "The shape misses the axes for heads and queries: (B, 1, 1, S).": lambda variant, n, S: [
                _true_padding(variant, n, S)[0][:, 0, 0]
            ],
        },
        follows=("mask", "side"),
    ),
    "window_mask": Task(
        inputs=lambda g: [(9, 9, 3), (9, 9, 1), (4, 9, 2)],
        ask=_ask_mask,
        truth=true_window,
        mistakes={
            "convention-reach|The window has one key more than it should.": lambda variant, L, S, w: true_window(
                variant, L, S, w + 1
            ),
            "There is no window: every earlier key is seen.": lambda variant, L, S, w: true_window(variant, L, S, 999),
            "convention-reach|The window never sees the future; yours does.": lambda variant, L, S, w: true_window(
                {**variant, "reach": "around"}, L, S, w + (variant["reach"] == "before")
            ),
            "The window has one key fewer than it should.": lambda variant, L, S, w: (
                true_window(variant, L, S, w - 1) if w > 1 else [torch.zeros(L, S, dtype=torch.bool)]
            ),
        },
        follows=("mask", "corner", "reach"),
    ),
    "combine": Task(
        inputs=lambda g: [(some(g, 5, 7), some(g, 5, 7)), (some(g, 2, 1, 5, 7), some(g, 5, 7))],
        ask=_ask_combine,
        truth=lambda variant, first, second: [first & second],
        mistakes={
            "convention-mask|You allow what *either* mask allows; allow what both allow. Mind what True means here.": (
                lambda variant, first, second: [first | second]
            ),
            "That is allowed where the masks differ; allow what both allow.": lambda variant, first, second: [
                first ^ second if variant["mask"] == "allowed" else ~(first ^ second)
            ],
            "The second mask is ignored.": lambda variant, first, second: [first & torch.ones_like(second)],
            "The first mask is ignored.": lambda variant, first, second: [second & torch.ones_like(first)],
        },
        follows=("mask",),
    ),
    "to_additive": Task(
        inputs=lambda g: [(some(g, 5, 7),)],
        ask=_ask_to_additive,
        truth=lambda variant, allowed: [torch.zeros(allowed.shape).masked_fill(~allowed, -torch.inf)],
        mistakes={
            "convention-mask|It blocks what should be allowed: mind what True means here.": lambda variant, allowed: [
                torch.zeros(allowed.shape).masked_fill(allowed, -torch.inf)
            ],
            "convention-mask|It holds 0 and 1, which get *added*: blocked needs -inf.": lambda variant, allowed: [
                allowed.float()
            ],
            "It multiplies by -inf, and 0 times -inf is NaN: fill in -inf where blocked.": lambda variant, allowed: [
                torch.where(allowed, torch.nan, -torch.inf)
            ],
            "It adds 1 to what is allowed: 0 leaves a score as it is.": lambda variant, allowed: [
                torch.ones(allowed.shape).masked_fill(~allowed, -torch.inf)
            ],
            "It fills with the smallest number of the dtype; the convention asks for -inf.": lambda variant, allowed: [
                torch.zeros(allowed.shape).masked_fill(~allowed, torch.finfo(torch.float32).min)
            ],
            "It fills with +inf, which draws all weight there: blocked entries need -inf.": lambda variant, allowed: [
                torch.zeros(allowed.shape).masked_fill(~allowed, torch.inf)
            ],
            "It fills with a large negative number; the convention asks for -inf.": lambda variant, allowed: [
                torch.zeros(allowed.shape).masked_fill(~allowed, -1e9)
            ],
        },
        follows=("mask",),
    ),
}
