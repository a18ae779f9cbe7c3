"""The functions of "Attention, forward and backward"."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_lib.attention import attention
from attention_lib.coursework.conventions.task import (
    Answer,
    Candidate,
    Task,
    Variant,
    listed,
    normal,
    one_rank,
    some,
    spoken,
    with_empty_row,
    with_logs_read,
    with_zeros_named,
)
from attention_lib.coursework.words import heads_second, said

__all__ = ["TASKS"]


def _ask_attention(candidate: Candidate, variant: Variant, *inputs: Any) -> Answer:
    query, key, value, allowed = inputs
    mask = said(allowed, variant, query.dtype)
    tensors = [heads_second(t, variant) for t in (query * variant["temperature"], key, value)]
    answer = listed(candidate(*tensors, mask))
    answer[0] = heads_second(answer[0], variant)
    return with_logs_read(answer, variant)


def _true_attention(variant: Variant, *inputs: Any) -> Answer:
    query, key, value, allowed = inputs
    result = attention(query, key, value, allowed, need_weights=True)
    assert result.weights is not None
    return with_zeros_named([result.output, result.weights], variant)


def _weights_as_they_are(variant: Variant, *inputs: Any) -> Answer:
    """The right answer with weights in place of their logarithms."""
    right = _true_attention(variant, *inputs)
    return [right[0], right[1].exp(), right[1].isneginf()] if len(right) > 1 else []


def _attention_subject(candidate: Candidate, variant: Variant) -> Candidate:
    def mine(query, key, value, mask=None):
        one_rank(query, 4)
        answer = _ask_attention(candidate, {**variant, "mask": "allowed"}, query, key, value, mask)
        return tuple(answer[:2]) if len(answer) > 1 else answer[0]

    return mine


def _attention_gradients(variant: Variant, *inputs: Any) -> Answer:
    query, key, value, allowed, arriving = inputs
    with torch.enable_grad():
        leaves = [t.clone().requires_grad_() for t in (query, key, value)]
        output = attention(leaves[0], leaves[1], leaves[2], allowed).output
        return list(torch.autograd.grad(output, leaves, arriving))


def _ask_backward(candidate: Candidate, variant: Variant, *inputs: Any) -> Answer:
    query, key, value, allowed, arriving = inputs
    t = variant["temperature"]
    tensors = [heads_second(x, variant) for x in (query * t, key, value)]
    grads = listed(candidate(*tensors, said(allowed, variant, query.dtype), heads_second(arriving, variant)))
    grads = [heads_second(g, variant) for g in grads]
    if len(grads) == 3:
        grads[0] = grads[0] * t  # the chain rule through query * t
    return grads


def _with(change: Callable[[Tensor, Tensor, Tensor, float], Answer]) -> Callable[..., Answer]:
    def made(variant: Variant, *inputs: Any) -> Answer:
        query, *_ = inputs
        grads = _attention_gradients(variant, *inputs)
        return change(grads[0], grads[1], grads[2], math.sqrt(query.shape[-1]))

    return made


def _without_average(variant: Variant, *inputs: Any) -> Answer:
    query, key, value, allowed, arriving = inputs
    weights = attention(query, key, value, allowed, need_weights=True).weights
    assert weights is not None
    scores = weights * (arriving @ value.transpose(-2, -1)) / math.sqrt(query.shape[-1])
    return [scores @ key, scores.transpose(-2, -1) @ query, weights.transpose(-2, -1) @ arriving]


def _pieces(*inputs: Any) -> tuple[Tensor, Tensor]:
    query, key, value, allowed, arriving = inputs
    weights = attention(query, key, value, allowed, need_weights=True).weights
    assert weights is not None
    return weights, arriving @ value.transpose(-2, -1)


def _average_over_queries(variant: Variant, *inputs: Any) -> Answer:
    (query, key), (weights, arrived) = inputs[:2], _pieces(*inputs)
    scores = weights * (arrived - (weights * arrived).sum(-2, keepdim=True)) / math.sqrt(query.shape[-1])
    return [scores @ key, scores.transpose(-2, -1) @ query, weights.transpose(-2, -1) @ inputs[4]]


def _value_from_scores(variant: Variant, *inputs: Any) -> Answer:
    query, (weights, arrived) = inputs[0], _pieces(*inputs)
    scores = weights * (arrived - (weights * arrived).sum(-1, keepdim=True)) / math.sqrt(query.shape[-1])
    scores = scores / variant["temperature"]
    return [*_attention_gradients(variant, *inputs)[:2], scores.transpose(-2, -1) @ inputs[4]]


def _qkv(g: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    return normal(g, 2, 3, 5, 11), normal(g, 2, 3, 7, 11), normal(g, 2, 3, 7, 13)


TASKS: dict[str, Task] = {
    "attention": Task(
        inputs=lambda g: [
            (*_qkv(g), None),
            (*_qkv(g), some(g, 2, 3, 5, 7)),
            (*_qkv(g), with_empty_row(some(g, 2, 3, 5, 7))),
            (*_qkv(g), some(g, 2, 1, 1, 7)),
            (*_qkv(g), some(g, 5, 7)),
        ],
        labels=(
            "without a mask",
            "with a mask",
            "where a query has no allowed key",
            "with a mask of shape (B, 1, 1, S)",
            "with a mask of shape (L, S)",
        ),
        ask=_ask_attention,
        truth=_true_attention,
        kind="attention",
        plain=2,
        subject=_attention_subject,
        values=("The output", "The exponential of the logarithms", "Whether a logarithm is -inf"),
        unasked=("gradient-cut", "gradient-wrong"),
        mistakes={"The weights come back as they are; the convention asks for their logarithm.": _weights_as_they_are},
        options=spoken,
    ),
    "attention_backward": Task(
        inputs=lambda g: [
            (*_qkv(g), None, normal(g, 2, 3, 5, 13)),
            (*_qkv(g), some(g, 2, 3, 5, 7), normal(g, 2, 3, 5, 13)),
            (*_qkv(g), with_empty_row(some(g, 2, 3, 5, 7)), normal(g, 2, 3, 5, 13)),
            (*_qkv(g), some(g, 2, 1, 1, 7), normal(g, 2, 3, 5, 13)),
        ],
        labels=(
            "without a mask",
            "with a mask",
            "where a query has no allowed key: its gradients are 0",
            "with a mask of shape (B, 1, 1, S)",
        ),
        values=("The gradient of query", "The gradient of key", "The gradient of value"),
        by_hand=True,
        ask=_ask_backward,
        truth=_attention_gradients,
        mistakes={
            "The average is missing: grad_scores = weights * (grad_weights - average).": _without_average,
            "The gradients of query and key miss the temperature: divide the gradient of the scores by it too.": (
                lambda variant, *inputs: _with(
                    lambda q, k, v, s: [q * variant["temperature"], k * variant["temperature"], v]
                )(variant, *inputs)
            ),
            "The average runs over the queries; it belongs over the keys.": _average_over_queries,
            "The gradient of value is made from the gradient of the scores; it takes the weights.": _value_from_scores,
            "The mask plays no part on the way back.": lambda variant, *inputs: _attention_gradients(
                variant, *inputs[:3], None, inputs[4]
            ),
            "The gradients of query and key miss the scale 1/sqrt(d_k).": _with(lambda q, k, v, s: [q * s, k * s, v]),
            "The gradients of query and key have the scale twice.": _with(lambda q, k, v, s: [q / s, k / s, v]),
            "The gradient of query misses the scale 1/sqrt(d_k).": _with(lambda q, k, v, s: [q * s, k, v]),
            "The gradient of key misses the scale 1/sqrt(d_k).": _with(lambda q, k, v, s: [q, k * s, v]),
            "The signs of the gradients of query and key are turned around.": _with(lambda q, k, v, s: [-q, -k, v]),
            "The gradients come in another order: return query, key, value.": _with(lambda q, k, v, s: [q, v, k]),
            "The gradients come in another order: return query, key, value, not value first.": _with(
                lambda q, k, v, s: [v, k, q]
            ),
        },
    ),
}
