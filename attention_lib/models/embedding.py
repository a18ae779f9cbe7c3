"""From tokens to vectors that know where they stand."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from attention_lib.errors import OptionError, ShapeError
from attention_lib.layers.positions import SinusoidalPositions
from attention_lib.models.arguments import check_count, check_tokens
from attention_lib.shapes import Float, Int

__all__ = ["TokenEmbedding"]

KINDS = ("sinusoidal", "learned", None)


class TokenEmbedding(nn.Module):
    """A vector for the symbol plus a vector for the position.

    Symbol vectors have entries of variance 1, as wide as a sinusoid's, whether the matrix is used alone or also to
    vote: it starts at standard deviation 1 / sqrt(d_model) and is multiplied by sqrt(d_model), as in the paper.

    Args:
        symbols: Number of different tokens.
        d_model: Width.
        positions: "sinusoidal" (any length, even ``d_model``), "learned" (up to ``longest``), or None.
        longest: Greatest number of positions, for "learned" alone.

    Raises:
        OptionError: Another kind of positions, or a count that is not a whole number, 1 or more.

    Example:
        >>> TokenEmbedding(7, 4)(torch.zeros(2, 3).long()).shape
        torch.Size([2, 3, 4])

    Source: Vaswani et al. (2017), sections 3.4 and 3.5.
    """

    def __init__(self, symbols: int, d_model: int, *, positions: str | None = "sinusoidal", longest: int = 512) -> None:
        super().__init__()
        check_count(symbols=symbols, d_model=d_model, longest=longest)
        if positions not in KINDS:
            raise OptionError(f"positions={positions!r} is not known; choose 'sinusoidal', 'learned' or None")
        self.symbols, self.longest = symbols, longest
        self.weight = nn.Parameter(torch.randn(symbols, d_model) / math.sqrt(d_model))
        self.sinusoids = SinusoidalPositions(d_model) if positions == "sinusoidal" else None
        self.learned = nn.Parameter(torch.randn(longest, d_model) * 0.5) if positions == "learned" else None

    def forward(self, tokens: Int[Tensor, "B L"], *, offset: int = 0) -> Float[Tensor, "B L d_model"]:
        """Look the tokens up and add the positions ``offset`` ... ``offset + L - 1``.

        Raises:
            ShapeError: Not ``(B, L)`` whole numbers, or more positions than were learned.
            OptionError: A token that is not a symbol.
        """
        check_tokens("tokens", tokens, self.symbols)
        x = nn.functional.embedding(tokens, self.weight) * math.sqrt(self.weight.shape[1])  # (B, L, d_model)
        if self.sinusoids is not None:
            return self.sinusoids(x, offset=offset)
        if self.learned is None:
            return x
        last = offset + tokens.shape[1]
        if last > self.longest:
            raise ShapeError(
                f"tokens of shape {tuple(tokens.shape)} after {offset} others reach position {last}, but "
                f"longest={self.longest} positions were learned; build the model with longest={last}"
            )
        return x + self.learned[offset:last]
