"""One attention and nothing else, asked for two answers at every place: can its heads share the work?"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from attention_lib.attention import AttentionOutput
from attention_lib.layers.multi_head import MultiHeadAttention
from attention_lib.models.arguments import check_count, check_tokens
from attention_lib.shapes import Int

__all__ = ["TwoAnswerReader"]


class TwoAnswerReader(nn.Module):
    """Symbol vectors plus position vectors, one multi-head attention, two linear votes.

    No shortcut and no feed-forward network: whatever is answered went through the heads. The number of parameters
    and of multiplications does not depend on ``num_heads``.

    Args:
        symbols: Number of different tokens, and of different answers.
        length: Number of tokens L.
        d_model: Width.
        num_heads: H, a divisor of ``d_model``.

    Raises:
        OptionError: An option is out of range.

    Example:
        >>> reader = TwoAnswerReader(8, 7, 32, 2)
        >>> reader(torch.zeros(3, 7).long()).output.shape
        torch.Size([3, 7, 2, 8])
    """

    def __init__(self, symbols: int, length: int, d_model: int = 32, num_heads: int = 2) -> None:
        super().__init__()
        check_count(symbols=symbols, length=length, d_model=d_model)
        self.embedding = nn.Embedding(symbols, d_model)
        self.positions = nn.Parameter(torch.randn(length, d_model))
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.vote = nn.Linear(d_model, 2 * symbols)

    def forward(self, tokens: Int[Tensor, "B L"], *, need_weights: bool = False) -> AttentionOutput:
        """Vote twice at every place.

        Args:
            tokens: ``(B, length)``.
            need_weights: Also return the weights.

        Returns:
            ``AttentionOutput``: votes ``(B, L, 2, symbols)``, weights ``(B, H, L, L)`` or None.

        Raises:
            ShapeError, OptionError: The tokens do not fit the model.
        """
        check_tokens("tokens", tokens, self.embedding.num_embeddings)
        x = self.embedding(tokens) + self.positions[: tokens.shape[1]]  # (B, L, d_model)
        output, weights = self.attention(x, need_weights=need_weights)
        return AttentionOutput(self.vote(output).unflatten(-1, (2, -1)), weights)
