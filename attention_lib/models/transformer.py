"""The transformer of 2017: an encoder reads the source, a decoder writes the target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from attention_lib.layers.cache import KVCache
from attention_lib.layers.stacks import DecoderStack, EncoderStack, LayerSpec, check_spec
from attention_lib.models.arguments import check_count, check_lengths
from attention_lib.models.decoding import end_after
from attention_lib.models.embedding import TokenEmbedding
from attention_lib.shapes import Float, Int
from attention_lib.steps.masks import padding_mask

__all__ = ["Encoded", "Transformer", "TransformerOutput"]


class Encoded(NamedTuple):
    """``memory`` (B, S, d_model), its padding ``mask`` (B, 1, 1, S) or None, and the encoder's weights or None."""

    memory: Tensor
    mask: Tensor | None
    weights: list[Tensor] | None = None


class TransformerOutput(NamedTuple):
    """``logits`` (B, T, target_symbols), and one tensor a layer, or None when not asked for.

    ``encoder_weights`` (B, H, S, S), ``decoder_weights`` (B, H, T, T), ``memory_weights`` (B, H, T, S).
    """

    logits: Tensor
    encoder_weights: list[Tensor] | None = None
    decoder_weights: list[Tensor] | None = None
    memory_weights: list[Tensor] | None = None


class Transformer(nn.Module):
    """Embeddings, positions, encoder, decoder, vote.

    Args:
        source_symbols: Number of different source tokens.
        target_symbols: Number of different target tokens.
        spec: What each layer is like, in both stacks.
        num_layers: How many in each stack.
        positions: "sinusoidal", "learned" (up to 512) or None.
        tied: Whether the vote uses the target embedding's own matrix.

    Raises:
        OptionError: An option is out of range.

    Example:
        >>> model = Transformer(13, 11, LayerSpec(8, 2))
        >>> output = model(torch.zeros(2, 7).long(), torch.zeros(2, 5).long(), need_weights=True)
        >>> tuple(output.logits.shape), tuple(output.memory_weights[0].shape)
        ((2, 5, 11), (2, 2, 5, 7))

    Source: Vaswani et al. (2017), Attention Is All You Need, figure 1.
    """

    def __init__(
        self,
        source_symbols: int,
        target_symbols: int,
        spec: LayerSpec,
        num_layers: int = 2,
        *,
        positions: str | None = "sinusoidal",
        tied: bool = False,
    ) -> None:
        super().__init__()
        check_spec(spec)
        self.source_embedding = TokenEmbedding(source_symbols, spec.d_model, positions=positions)
        self.target_embedding = TokenEmbedding(target_symbols, spec.d_model, positions=positions)
        self.encoder = EncoderStack(num_layers, spec)
        self.decoder = DecoderStack(num_layers, spec)
        self.vote = nn.Linear(spec.d_model, target_symbols)
        self.dropout = nn.Dropout(spec.dropout_p)
        if tied:
            self.vote.weight = self.target_embedding.weight

    def forward(
        self,
        source: Int[Tensor, "B S"],
        target_in: Int[Tensor, "B T"],
        source_lengths: Int[Tensor, "B"] | None = None,
        *,
        need_weights: bool = False,
    ) -> TransformerOutput:
        """Teacher forcing: all target positions at once, none sees a later one.

        Args:
            source: Tokens ``(B, S)``.
            target_in: The start token and the target without its last token, ``(B, T)``. Padding at its end needs
                no mask: no earlier position sees it.
            source_lengths: How many tokens of each source count, 1 to S; None is all.
            need_weights: Also return every layer's weights.

        Returns:
            :class:`TransformerOutput`.

        Raises:
            ShapeError, OptionError: Tokens or lengths do not fit the model.
        """
        encoded = self.encode(source, source_lengths, need_weights=need_weights)
        x = self.dropout(self.target_embedding(target_in))  # (B, T, d_model)
        x, own, of_memory = self.decoder(x, encoded.memory, encoded.mask, need_weights=need_weights)
        return TransformerOutput(self.vote(x), encoded.weights, own, of_memory)

    def encode(
        self,
        source: Int[Tensor, "B S"],
        source_lengths: Int[Tensor, "B"] | None = None,
        *,
        need_weights: bool = False,
    ) -> Encoded:
        """Read the source once; a decoder uses the result at every step."""
        check_lengths(source_lengths, source)
        mask = None if source_lengths is None else padding_mask(source_lengths.to(source.device), source.shape[1])
        x = self.dropout(self.source_embedding(source))  # (B, S, d_model)
        memory, weights, _ = self.encoder(x, mask, need_weights=need_weights)
        return Encoded(memory, mask, weights)

    def step(
        self, target_in: Int[Tensor, "B T"], encoded: Encoded, caches: Sequence[KVCache] | None = None
    ) -> Float[Tensor, "B symbols"]:
        """Vote for the token after the last of ``target_in``; with caches, ``target_in`` is what is new."""
        offset = len(caches[0]) if caches else 0
        x = self.dropout(self.target_embedding(target_in, offset=offset))  # (B, T, d_model)
        return self.vote(self.decoder(x, encoded.memory, encoded.mask, caches=caches).output[:, -1])

    @torch.no_grad()
    def greedy(
        self,
        source: Int[Tensor, "B S"],
        source_lengths: Int[Tensor, "B"] | None = None,
        *,
        start: int,
        longest: int,
        end: int | None = None,
        cached: bool = True,
    ) -> Int[Tensor, "B longest"]:
        """Write by itself: each step reads the tokens it wrote before and takes the largest vote.

        Args:
            source: Tokens ``(B, S)``.
            source_lengths: As in ``forward``.
            start: Token read at the first step.
            longest: Number of steps.
            end: Token that ends a text; what follows becomes 0. None never ends.
            cached: Keep keys and values between the steps; the result is the same without, only slower.

        Returns:
            Tokens ``(B, longest)``.

        Raises:
            OptionError: ``longest`` is not a whole number, 1 or more.
        """
        check_count(longest=longest)
        encoded = self.encode(source, source_lengths)
        caches = [KVCache() for _ in self.decoder.layers] if cached else None
        tokens = source.new_full((source.shape[0], 1), start)
        for _ in range(longest):
            chosen = self.step(tokens[:, -1:] if cached else tokens, encoded, caches).argmax(dim=-1)
            tokens = torch.cat((tokens, chosen[:, None]), dim=1)
        return tokens[:, 1:] if end is None else end_after(tokens[:, 1:], end, 0)
