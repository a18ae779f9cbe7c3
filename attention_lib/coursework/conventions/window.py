"""The functions of "Windows and caches"."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_lib.attention import attention
from attention_lib.coursework.conventions.masks import true_window
from attention_lib.coursework.conventions.task import (
    Answer,
    Candidate,
    Task,
    Variant,
    listed,
    normal,
    with_logs_read,
    with_zeros_named,
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
    return with_zeros_named([result.output, result.weights], variant)


def _told(wrong: Callable[[Variant, Tensor, Tensor, Tensor, int], tuple[Tensor, Tensor]]) -> Callable[..., Answer]:
    """What another output and other weights, in the book's order, look like under the variant."""

    def made(variant: Variant, query: Tensor, key: Tensor, value: Tensor, w: int) -> Answer:
        key, value = (t[:, : t.shape[1] // variant["groups"]] for t in (key, value))
        key, value = (t.repeat_interleave(variant["groups"], 1) for t in (key, value))
        return with_zeros_named(list(wrong(variant, query, key, value, w)), variant)

    return made


def _over_queries(variant: Variant, query: Tensor, key: Tensor, value: Tensor, w: int) -> tuple[Tensor, Tensor]:
    behind, allowed = _seen(variant, query.shape[2], w)
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5 + _bias(variant, behind, allowed)
    weights = scores.softmax(-2)
    return weights @ value, weights


def _other_reach(variant: Variant, query: Tensor, key: Tensor, value: Tensor, w: int) -> Answer:
    """The window of the variant, turned to both sides."""
    return _true_windowed({**variant, "reach": "around"}, query, key, value, w + (variant["reach"] == "before"))


def _weights_as_they_are(variant: Variant, *inputs: Any) -> Answer:
    right = _true_windowed(variant, *inputs)
    return [right[0], right[1].exp(), right[1].isneginf()] if len(right) > 1 else []


def _tiled(variant: Variant, query: Tensor, key: Tensor, value: Tensor, w: int) -> Answer:
    """Query head h reads key head h mod H_kv."""
    behind, allowed = _seen(variant, query.shape[2], w)
    key, value = (t[:, : t.shape[1] // variant["groups"]].repeat(1, variant["groups"], 1, 1) for t in (key, value))
    result = attention(query, key, value, _bias(variant, behind, allowed), need_weights=True)
    assert result.weights is not None
    return with_zeros_named([result.output, result.weights], variant)


def _ask_windowed(candidate: Candidate, variant: Variant, query: Tensor, key: Tensor, value: Tensor, w: int) -> Answer:
    key, value = (t[:, : t.shape[1] // variant["groups"]] for t in (key, value))
    answer = listed(candidate(*(heads_second(t, variant) for t in (query, key, value)), w))
    answer[0] = heads_second(answer[0], variant)
    return with_logs_read(answer, variant)


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
        values=("The output", "The exponential of the logarithms", "Whether a logarithm is -inf"),
        labels=("for a window of 3", "for a window of 1", "for a window wider than the sequence"),
        ask=_ask_windowed,
        truth=_true_windowed,
        follows=("layout", "reach", "gives", "distance", "groups"),
        mistakes={
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
            "convention-reach|The window has one key more than it should.": lambda variant, q, k, v, w: _true_windowed(
                variant, q, k, v, w + 1
            ),
            "The window has one key fewer than it should.": lambda variant, q, k, v, w: _true_windowed(
                variant, q, k, v, max(w - 1, 0 if variant["reach"] == "before" else 1)
            ),
            "convention-reach|The window reaches to both sides; this one never sees the future.": _other_reach,
            "The softmax runs over the queries; it belongs over the keys.": _told(_over_queries),
            "The weights come back as they are; the convention asks for their logarithm.": _weights_as_they_are,
            "Query heads share key heads in another order: neighbours share one.": _tiled,
            "There is no window: every earlier key is seen.": lambda variant, q, k, v, w: _true_windowed(
                variant, q, k, v, 999
            ),
        },
    ),
    "attend_step": Task(
        inputs=lambda g: [_step_inputs(g, 6), _step_inputs(g, 1)],
        values=("The output", "The cache of keys", "The cache of values"),
        labels=("with a filled cache", "at the first step, with an empty cache"),
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
            "Query heads share key heads in another order: neighbours share one.": lambda variant, q, k, v: [
                _true_step(
                    {**variant, "groups": 1},
                    q,
                    *(t[:, : t.shape[1] // variant["groups"]].repeat(1, variant["groups"], 1, 1) for t in (k, v)),
                )[0],
                *_true_step(variant, q, k, v)[1:],
            ],
            "The output is right, but the caches of keys and values are exchanged: return keys, then values.": (
                lambda variant, q, k, v: [_true_step(variant, q, k, v)[n] for n in (0, 2, 1)]
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
