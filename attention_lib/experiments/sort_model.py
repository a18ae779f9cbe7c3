"""The two-layer network of the sorting experiment: layer norm first, one head, any scale on the scores."""

from __future__ import annotations

import math

from torch import Tensor, nn

from attention_lib.attention import attention
from attention_lib.shapes import Float, Int

__all__ = ["SortBlock", "SortModel"]


class SortBlock(nn.Module):
    """One head of attention and a feed-forward network, each added to what comes in, each after a layer norm."""

    def __init__(self, d_model: int, *, scale: float | None, unit_variance: bool) -> None:
        super().__init__()
        self.scale = scale
        self.norm_1, self.norm_2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model) for _ in range(4))
        self.feed_forward = nn.Sequential(nn.Linear(d_model, 2 * d_model), nn.GELU(), nn.Linear(2 * d_model, d_model))
        for linear in (self.w_q, self.w_k) if unit_variance else ():
            nn.init.normal_(linear.weight, std=1 / math.sqrt(d_model))
            nn.init.zeros_(linear.bias)

    def forward(self, x: Float[Tensor, "B L d_model"]) -> Float[Tensor, "B L d_model"]:
        normed = self.norm_1(x)
        output, _ = attention(self.w_q(normed), self.w_k(normed), self.w_v(normed), scale=self.scale)
        x = x + self.w_o(output)
        return x + self.feed_forward(self.norm_2(x))


class SortModel(nn.Module):
    """Symbol and position vectors, two blocks, a vote for the symbol at every position.

    Args:
        symbols: Number of different symbols.
        length: Length of every sequence.
        d_model: Width throughout; one head, so it is d_k too.
        scale: Factor on the dot products; None is 1/sqrt(d_k), 1.0 forgets the scaling.
        unit_variance: Start W_Q and W_K so that queries and keys have unit variance; else as nn.Linear starts.

    Example:
        >>> import torch
        >>> SortModel(8, 6, 16)(torch.zeros(3, 6, dtype=torch.long)).shape
        torch.Size([3, 6, 8])
    """

    def __init__(
        self, symbols: int, length: int, d_model: int, *, scale: float | None = None, unit_variance: bool = True
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(symbols, d_model)
        self.positions = nn.Embedding(length, d_model)
        self.blocks = nn.Sequential(*(SortBlock(d_model, scale=scale, unit_variance=unit_variance) for _ in range(2)))
        self.norm = nn.LayerNorm(d_model)
        self.vote = nn.Linear(d_model, symbols)

    def forward(self, tokens: Int[Tensor, "B L"]) -> Float[Tensor, "B L symbols"]:
        x = self.embedding(tokens) + self.positions.weight  # (B, L, d_model)
        return self.vote(self.norm(self.blocks(x)))
