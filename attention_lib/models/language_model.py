"""The decoder-only transformer: reads tokens from left to right and votes for the next one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from attention_lib.layers.cache import KVCache
from attention_lib.layers.stacks import EncoderStack, LayerSpec, check_spec
from attention_lib.models.arguments import check_count
from attention_lib.models.decoding import next_token
from attention_lib.models.embedding import TokenEmbedding
from attention_lib.shapes import Int

__all__ = ["LanguageModel", "ModelOutput"]


class ModelOutput(NamedTuple):
    """``logits`` (B, L, symbols) or (B, classes); ``weights``, one (B, H, L, S) a layer, or None."""

    logits: Tensor
    weights: list[Tensor] | None = None


class LanguageModel(nn.Module):
    """Embeddings, causal layers, a vote for the next token.

    Args:
        symbols: Number of different tokens.
        spec: What each layer is like.
        num_layers: How many.
        positions: "learned", "sinusoidal" or None.
        longest: Greatest number of positions, for "learned" alone.
        tied: Whether the vote uses the embedding's own matrix.

    Raises:
        OptionError: An option is out of range.

    Example:
        >>> model = LanguageModel(11, LayerSpec(8, 2), 3)
        >>> logits, weights = model(torch.zeros(2, 5).long(), need_weights=True)
        >>> tuple(logits.shape), len(weights), tuple(weights[0].shape)
        ((2, 5, 11), 3, (2, 2, 5, 5))

    Source: Radford et al. (2018), Improving Language Understanding by Generative Pre-Training, section 3.1.
    """

    def __init__(
        self,
        symbols: int,
        spec: LayerSpec,
        num_layers: int = 2,
        *,
        positions: str | None = "learned",
        longest: int = 512,
        tied: bool = False,
    ) -> None:
        super().__init__()
        check_spec(spec)
        self.embedding = TokenEmbedding(symbols, spec.d_model, positions=positions, longest=longest)
        self.stack = EncoderStack(num_layers, spec)
        self.vote = nn.Linear(spec.d_model, symbols)
        if tied:
            self.vote.weight = self.embedding.weight

    def forward(
        self,
        tokens: Int[Tensor, "B L"],
        *,
        window: int | None = None,
        need_weights: bool = False,
        caches: Sequence[KVCache] | None = None,
    ) -> ModelOutput:
        """Vote at every position for the token after it.

        Args:
            tokens: ``(B, L)``.
            window: Each position sees exactly this many, itself included, in every layer.
            need_weights: Also return every layer's weights.
            caches: One a layer, holding what was read before; ``tokens`` are then the new ones alone.

        Returns:
            :class:`ModelOutput`: logits ``(B, L, symbols)``.

        Raises:
            ShapeError, OptionError: Tokens, window or caches do not fit the model.
        """
        offset = len(caches[0]) if caches else 0
        x = self.embedding(tokens, offset=offset)  # (B, L, d_model)
        x, weights, _ = self.stack(x, causal=True, window=window, need_weights=need_weights, caches=caches)
        return ModelOutput(self.vote(x), weights)

    def new_caches(self) -> list[KVCache]:
        """One empty cache a layer."""
        return [KVCache() for _ in self.stack.layers]

    @torch.no_grad()
    def generate(
        self,
        tokens: Int[Tensor, "B L"],
        count: int,
        *,
        cached: bool = True,
        temperature: float = 0.0,
        top_k: int | None = None,
        generator: torch.Generator | None = None,
    ) -> Int[Tensor, "B total"]:
        """Continue the tokens, one at a time.

        Args:
            tokens: What to continue, ``(B, L)``, L at least 1.
            count: How many to add.
            cached: Keep keys and values between the steps; the result is the same without, only slower.
            temperature, top_k, generator: See ``next_token``; temperature 0 is greedy.

        Returns:
            ``(B, L + count)``: the tokens and their continuation.

        Raises:
            OptionError: ``count`` is not a whole number, 0 or more, or a sampling option is out of range.
        """
        check_count(0, count=count)
        caches = self.new_caches() if cached else None
        new = tokens
        for _ in range(count):
            logits = self(new if cached else tokens, caches=caches).logits[:, -1]  # (B, symbols)
            chosen = next_token(logits, temperature=temperature, top_k=top_k, generator=generator)
            new = chosen[:, None]
            tokens = torch.cat((tokens, new), dim=1)
        return tokens
