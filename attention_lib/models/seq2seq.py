"""Sequence to sequence with recurrent networks: one fixed vector, or attention over all the encoder's states."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attention_lib.errors import OptionError
from attention_lib.models.arguments import check_count, check_lengths, check_tokens
from attention_lib.models.decoding import end_after
from attention_lib.models.seq2seq_decoders import AdditiveDecoder, DotDecoder, FixedVectorDecoder, Memory
from attention_lib.shapes import Int
from attention_lib.steps.masks import padding_mask

__all__ = ["Seq2Seq", "Seq2SeqOutput"]

DECODERS = {None: FixedVectorDecoder, "dot": DotDecoder, "additive": AdditiveDecoder}


class Seq2SeqOutput(NamedTuple):
    """``logits`` (B, T, target_symbols), ``weights`` (B, T, S) or None (not asked for, or no attention)."""

    logits: Tensor
    weights: Tensor | None = None


class Seq2Seq(nn.Module):
    """A GRU reads the source; another GRU writes the target, with or without attention.

    Args:
        source_symbols: Number of different source tokens.
        target_symbols: Number of different target tokens.
        d_state: Width of embeddings and states.
        attention: None (the decoder gets one fixed vector), "dot" (Luong) or "additive" (Bahdanau).
        bidirectional: Whether the encoder also reads from right to left; both states of a position are then
            projected to ``d_state`` together.

    Raises:
        OptionError: Another attention, or a count that is not a whole number, 1 or more.

    Example:
        >>> model = Seq2Seq(8, 9, 16, attention="dot")
        >>> logits, weights = model(torch.zeros(2, 7).long(), torch.zeros(2, 5).long(), need_weights=True)
        >>> tuple(logits.shape), tuple(weights.shape)
        ((2, 5, 9), (2, 5, 7))

    Source: Sutskever et al. (2014); Bahdanau et al. (2014); Luong et al. (2015).
    """

    def __init__(
        self,
        source_symbols: int,
        target_symbols: int,
        d_state: int = 64,
        *,
        attention: str | None = None,
        bidirectional: bool = False,
    ) -> None:
        super().__init__()
        check_count(source_symbols=source_symbols, target_symbols=target_symbols, d_state=d_state)
        if attention not in DECODERS:
            raise OptionError(f"attention={attention!r} is not known; choose None, 'dot' or 'additive'")
        self.source_embedding = nn.Embedding(source_symbols, d_state)
        self.target_embedding = nn.Embedding(target_symbols, d_state)
        self.encoder = nn.GRU(d_state, d_state, batch_first=True, bidirectional=bidirectional)
        self.join = nn.Linear(2 * d_state, d_state) if bidirectional else nn.Identity()
        self.decoder = DECODERS[attention](d_state)
        self.vote = nn.Linear(d_state, target_symbols)

    def forward(
        self,
        source: Int[Tensor, "B S"],
        target_in: Int[Tensor, "B T"],
        source_lengths: Int[Tensor, "B"] | None = None,
        *,
        need_weights: bool = False,
    ) -> Seq2SeqOutput:
        """Teacher forcing: at each step the decoder is told the true token before.

        Args:
            source: Tokens ``(B, S)``.
            target_in: The start token and the target without its last token, ``(B, T)``.
            source_lengths: How many tokens of each source count, 1 to S; None is all.
            need_weights: Also return where each step looked.

        Returns:
            :class:`Seq2SeqOutput`: votes for the next token; each row of weights sums to 1.

        Raises:
            ShapeError, OptionError: Tokens or lengths do not fit the model.
        """
        check_tokens("target_in", target_in, self.target_embedding.num_embeddings)
        memory = self.encode(source, source_lengths)
        features, _, weights = self.decoder(self.target_embedding(target_in), memory.last, memory)
        return Seq2SeqOutput(self.vote(features), weights if need_weights else None)

    def encode(self, source: Int[Tensor, "B S"], source_lengths: Int[Tensor, "B"] | None = None) -> Memory:
        """Read the source; padding changes nothing, in either direction.

        Returns:
            ``Memory``: states ``(B, S, d_state)``, mask ``(B, 1, S)`` or None, last state ``(B, d_state)``.
        """
        check_tokens("source", source, self.source_embedding.num_embeddings)
        check_lengths(source_lengths, source)
        x = self.source_embedding(source)  # (B, S, d)
        if source_lengths is None:
            states, last = self.encoder(x)
            mask = None
        else:
            packed = pack_padded_sequence(x, source_lengths.cpu(), batch_first=True, enforce_sorted=False)
            states, last = self.encoder(packed)
            states, _ = pad_packed_sequence(states, batch_first=True, total_length=source.shape[1])
            mask = padding_mask(source_lengths.to(source.device), source.shape[1])[:, 0]  # (B, 1, S)
        last = torch.cat(tuple(last), dim=-1)  # (B, d), or (B, 2 d) of both directions
        return Memory(self.join(states), mask, self.join(last))

    @torch.no_grad()
    def greedy(
        self,
        source: Int[Tensor, "B S"],
        source_lengths: Int[Tensor, "B"] | None = None,
        *,
        start: int,
        longest: int,
        end: int | None = None,
        pad: int = 0,
    ) -> tuple[Int[Tensor, "B longest"], Tensor | None]:
        """Write by itself: each step reads the token it wrote before.

        Args:
            source: Tokens ``(B, S)``.
            source_lengths: As in ``forward``.
            start: Token read at the first step.
            longest: Number of steps.
            end: Token that ends a text; what follows becomes ``pad``. None never ends.
            pad: Fills the places after the end.

        Returns:
            Tokens ``(B, longest)`` and weights ``(B, longest, S)``, None without attention.
        """
        check_count(longest=longest)
        memory = self.encode(source, source_lengths)
        token, state = source.new_full((source.shape[0], 1), start), memory.last
        written, every = [], []
        for _ in range(longest):
            features, state, weights = self.decoder(self.target_embedding(token), state, memory)
            token = self.vote(features).argmax(dim=-1)  # (B, 1)
            written.append(token)
            every.append(weights)
        tokens = torch.cat(written, dim=1)
        tokens = tokens if end is None else end_after(tokens, end, pad)
        return tokens, None if every[0] is None else torch.cat(every, dim=1)
