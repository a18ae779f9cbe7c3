"""The code of the introductory articles, written plainly: what a reader would have without this library."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

__all__ = ["ArticleMultiHead", "article_attention"]


def article_attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """``(output, weights)``; blocked scores become -1e9, as the article has it."""
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = torch.softmax(scores, dim=-1)
    return torch.matmul(weights, value), weights


class ArticleMultiHead(nn.Module):
    """Project, split, attend, concatenate, project: ``(output, weights)``."""

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads, self.d_head = num_heads, d_model // num_heads
        self.q_linear, self.k_linear, self.v_linear, self.out = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        B, L, d_model = x.shape
        query, key, value = (
            linear(x).view(B, L, self.num_heads, self.d_head).transpose(1, 2)
            for linear in (self.q_linear, self.k_linear, self.v_linear)
        )
        output, weights = article_attention(query, key, value, mask)
        return self.out(output.transpose(1, 2).contiguous().view(B, L, d_model)), weights
