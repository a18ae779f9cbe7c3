"""Completes an answer that is one step of attention to a whole one, so that the attention doctor can examine it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from attention_lib.doctor.diagnose import diagnose
from attention_lib.doctor.findings import Diagnosis
from attention_lib.steps.scores import dot_product_scores
from attention_lib.steps.softmax import masked_softmax

__all__ = ["MaskedLayer", "OneLayer", "as_is", "as_layer", "as_mask", "as_scores", "as_weights"]

Answer = Callable[..., Any]
Examine = Callable[[Answer], Diagnosis]


def as_is(kind: str = "attention", **options: Any) -> Examine:
    """For an answer that is what ``diagnose`` examines under this kind."""
    return lambda answer: diagnose(answer, kind, **options)


def as_scores(**options: Any) -> Examine:
    """For an answer (query, key) -> scores: softmax and weighted sum are added."""
    return as_weights(lambda answer, query, key: torch.softmax(answer(query, key), dim=-1), **options)


def as_weights(completed: Callable[..., Tensor] = lambda answer, *inputs: answer(*inputs), **options: Any) -> Examine:
    """For an answer (query, key) -> weights: the weighted sum is added."""

    def examine(answer: Answer) -> Diagnosis:
        def candidate(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
            weights = completed(answer, query, key)
            return weights @ value, weights

        return diagnose(candidate, **options)

    return examine


def as_mask(**options: Any) -> Examine:
    """For an answer (L, S) -> mask of every query and key: the attention around it is added.

    Example:
        >>> from attention_lib.steps.masks import causal_mask
        >>> as_mask(causal=True)(causal_mask).ok
        True
    """

    def completed(answer: Answer, query: Tensor, key: Tensor) -> Tensor:
        scores = dot_product_scores(query, key)
        return masked_softmax(scores, answer(*scores.shape[-2:]))

    return as_weights(completed, **options)


def as_layer(layer: Callable[[Answer], nn.Module], **options: Any) -> Examine:
    """For an answer that is the forward pass of a layer with projections."""
    return lambda answer: diagnose(layer(answer), "multi_head", **options)


class OneLayer(nn.Module):
    """A layer whose forward pass is an answer: answer(x, W_Q, W_K, W_V, W_O, num_heads) -> output.

    Args:
        answer: Takes x (B, L, d_model), four matrices (d_model, d_model) to multiply from the right, and H; returns
            (B, L, d_model).
        num_heads: H.
    """

    def __init__(self, answer: Answer, num_heads: int = 3) -> None:
        super().__init__()
        self.answer = answer
        self.num_heads = num_heads
        d_model = 4 * num_heads
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))

    def matrices(self) -> list[Tensor]:
        """W_Q, W_K, W_V, W_O."""
        return [layer.weight.T for layer in (self.w_q, self.w_k, self.w_v, self.w_o)]

    def forward(self, x: Tensor) -> Tensor:
        """(B, L, d_model) -> (B, L, d_model)."""
        return self.answer(x, *self.matrices(), self.num_heads)


class MaskedLayer(OneLayer):
    """The same, for an answer that takes a mask, (B, 1, 1, L) or None, as its last argument."""

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """(B, L, d_model) -> (B, L, d_model)."""
        return self.answer(x, *self.matrices(), self.num_heads, mask)
