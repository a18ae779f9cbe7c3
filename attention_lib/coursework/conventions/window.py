"""The functions of "Windows and caches"."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from attention_lib.attention import attention
from attention_lib.coursework.conventions.masks import true_window
from attention_lib.coursework.conventions.task import (
    PLAIN_WEIGHTS,
    Answer,
    Candidate,
    Task,
    Variant,
    listed,
    normal,
    with_plain_weights,
)
from attention_lib.coursework.words import heads_second

__all__ = ["TASKS"]


def _bias(variant: Variant, behind: Tensor, allowed: Tensor) -> Tensor:
    return (-variant["distance"] * behind.abs().double()).masked_fill(~allowed, -torch.inf)


def _seen(variant: Variant, n: int, w: int) -> tuple[Tensor, Tensor]:
    behind = torch.arange(n)[:, None] - torch.arange(n)
    return behind, true_window({"corner": "bottom_right", **variant}, n, n, w)[0]


def _true_windowed(variant: Variant, query: Tensor, key: Tensor, value: Tensor, w: int, **options: Any) -> Answer:
    behind, allowed = _seen(variant, query.shape[2], w)
    key, value = (t[:, : t.shape[1] // variant["groups"]] for t in (key, value))
    bias = _bias(variant, behind, allowed)
    result = attention(query, key, value, bias, need_weights=True, **options)
    assert result.weights is not None
    return [result.output, result.weights] if variant["gives"] == "output_log_weights" else [result.output]


def _ask_windowed(candidate: Candidate, variant: Variant, query: Tensor, key: Tensor, value: Tensor, w: int) -> Answer:
    key, value = (t[:, : t.shape[1] // variant["groups"]] for t in (key, value))
    answer = listed(candidate(*(heads_second(t, variant) for t in (query, key, value)), w))
    answer[0] = heads_second(answer[0], variant)
    if variant["gives"] == "output_log_weights":
        answer[1] = answer[1].exp()
    return answer


def _true_step(variant: Variant, query: Tensor, key: Tensor, value: Tensor, **options: Any) -> Answer:
    key, value = (t[:, : t.shape[1] // variant["groups"]] for t in (key, value))
    behind = torch.arange(key.shape[2] - 1, -1, -1)[None]
    bias = -variant["distance"] * behind.double()
    return [attention(query, key, value, bias, **options).output, key, value]


def _ask_step(candidate: Candidate, variant: Variant, query: Tensor, key: Tensor, value: Tensor) -> Answer:
    key, value = (t[:, : t.shape[1] // variant["groups"]] for t in (key, value))

    def stored(tensor: Tensor) -> Tensor:
        return heads_second(tensor.flip(2) if variant["cache"] == "prepend" else tensor, variant)

    new, past = (key[:, :, -1:], value[:, :, -1:]), (key[:, :, :-1], value[:, :, :-1])
    given = [heads_second(t, variant) for t in (query, *new)]
    answer = listed(candidate(*given, *map(stored, past)))
    answer = [heads_second(t, variant) for t in answer]
    if variant["cache"] == "prepend":
        answer[1:] = [t.flip(2) for t in answer[1:]]
    return answer


def _without_own(variant: Variant, query: Tensor, key: Tensor, value: Tensor) -> Answer:
    right = _true_step(variant, query, key, value)
    if key.shape[2] == 1:
        return right
    shifted = _true_step({**variant}, query, key[:, :, :-1], value[:, :, :-1])[0]
    return [shifted, *right[1:]]


def _same_length(g: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    return normal(g, 2, 4, 7, 5), normal(g, 2, 4, 7, 5), normal(g, 2, 4, 7, 3)


def _step_inputs(g: torch.Generator, S: int) -> tuple[Tensor, Tensor, Tensor]:
    return normal(g, 2, 4, 1, 5), normal(g, 2, 4, S, 5), normal(g, 2, 4, S, 3)


TASKS: dict[str, Task] = {
    "attention": Task(
        inputs=lambda g: [(*_same_length(g), 3), (*_same_length(g), 1), (*_same_length(g), 20)],
        ask=_ask_windowed,
        truth=_true_windowed,
        follows=("layout", "reach", "gives", "distance", "groups"),
        mistakes={
            PLAIN_WEIGHTS: lambda variant, *inputs: with_plain_weights(_true_windowed(variant, *inputs)),
            "The scores are not divided by sqrt(d_k).": lambda variant, *inputs: _true_windowed(
                variant, *inputs, scale=1.0
            ),
            "The distance bias is divided by sqrt(d_k) too; it belongs on the scaled score.": (
                lambda variant, *inputs: _true_windowed(
                    {**variant, "distance": variant["distance"] * inputs[0].shape[-1] ** -0.5}, *inputs
                )
            ),
            "The distance bias has the wrong sign: far keys get more weight.": (
                lambda variant, *inputs: _true_windowed({**variant, "distance": -variant["distance"]}, *inputs)
            ),
            "The window has one key more than it should.": lambda variant, q, k, v, w: _true_windowed(
                variant, q, k, v, w + 1
            ),
            "There is no window: every earlier key is seen.": lambda variant, q, k, v, w: _true_windowed(
                variant, q, k, v, 999
            ),
        },
    ),
    "attend_step": Task(
        inputs=lambda g: [_step_inputs(g, 6), _step_inputs(g, 1)],
        ask=_ask_step,
        truth=_true_step,
        follows=("layout", "distance", "groups", "cache"),
        mistakes={
            "The scores are not divided by sqrt(d_k).": lambda variant, *inputs: _true_step(
                variant, *inputs, scale=1.0
            ),
            "The distance bias has the wrong sign: far keys get more weight.": (
                lambda variant, *inputs: _true_step({**variant, "distance": -variant["distance"]}, *inputs)
            ),
            "The new token does not see its own key.": lambda variant, q, k, v: _without_own(variant, q, k, v),
            "The new token sees its own key alone, not the cache.": lambda variant, q, k, v: [
                _true_step(variant, q, k[:, :, -1:], v[:, :, -1:])[0],
                *_true_step(variant, q, k, v)[1:],
            ],
            "The output is right, but the caches come back without the new token.": lambda variant, *inputs: [
                _true_step(variant, *inputs)[0],
                *(t[:, :, :-1] for t in _true_step(variant, *inputs)[1:]),
            ],
        },
    ),
}
