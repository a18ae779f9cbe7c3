"""Completes an answer that is one step of attention to a whole one, so that the attention doctor can examine it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from attention_lib.doctor.diagnose import diagnose
from attention_lib.doctor.findings import Diagnosis

__all__ = ["OneLayer", "as_is", "as_scores", "as_weights"]

Answer = Callable[..., Any]
Examine = Callable[[Answer], Diagnosis]


def as_is(kind: str = "attention", **options: Any) -> Examine:
    """For an answer that is what ``diagnose`` examines under this kind."""
    return lambda answer: diagnose(answer, kind, **options)


def as_scores(**options: Any) -> Examine:
    """For an answer (query, key) -> scores: softmax and weighted sum are added."""

    def examine(answer: Answer) -> Diagnosis:
        def candidate(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
            return torch.softmax(answer(query, key), dim=-1) @ value

        return diagnose(candidate, **options)

    return examine


def as_weights(**options: Any) -> Examine:
    """For an answer (query, key) -> weights: the weighted sum is added."""

    def examine(answer: Answer) -> Diagnosis:
        def candidate(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
            weights = answer(query, key)
            return weights @ value, weights

        return diagnose(candidate, **options)

    return examine


class OneLayer(nn.Module):
    """A multi-head layer whose forward pass is an answer: answer(x, W_Q, W_K, W_V, W_O, num_heads, mask) -> output.

    Args:
        answer: Takes x (B, L, d_model), four matrices (d_model, d_model) to multiply from the right, H, and a mask
            or None; returns (B, L, d_model).
    """

    def __init__(self, answer: Answer, d_model: int = 12, num_heads: int = 3) -> None:
        super().__init__()
        self.answer = answer
        self.num_heads = num_heads
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """(B, L, d_model) -> (B, L, d_model)."""
        matrices = [layer.weight.T for layer in (self.w_q, self.w_k, self.w_v, self.w_o)]
        return self.answer(x, *matrices, self.num_heads, mask)
