"""What all tasks from sequence to sequence share: three special tokens, padding, and what a decoder reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from attention_lib.shapes import Int

__all__ = ["END", "FIRST", "PAD", "START", "PairBatch", "decoder_input", "pad_pairs"]

PAD, START, END, FIRST = 0, 1, 2, 3  # FIRST is the first ordinary symbol


class PairBatch(NamedTuple):
    """``source`` (B, S), ``source_lengths`` (B,), ``target`` (B, T), each target closed by END; PAD fills the rest."""

    source: Int[Tensor, "B S"]
    source_lengths: Int[Tensor, "B"]
    target: Int[Tensor, "B T"]


def pad_pairs(sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> PairBatch:
    """Put sequences of several lengths side by side.

    Args:
        sources: B sequences of tokens.
        targets: B sequences of tokens, without END.

    Returns:
        A :class:`PairBatch`.

    Example:
        >>> pad_pairs([[5], [6, 7]], [[8, 9], []]).target
        tensor([[8, 9, 2],
                [2, 0, 0]])
    """
    lengths = torch.tensor([len(source) for source in sources])
    return PairBatch(_pad(sources), lengths, _pad([[*target, END] for target in targets]))


def decoder_input(target: Int[Tensor, "B T"]) -> Int[Tensor, "B T"]:
    """What a decoder reads under teacher forcing: START, then the target without its last token.

    Example:
        >>> decoder_input(torch.tensor([[8, 9, 2]]))
        tensor([[1, 8, 9]])
    """
    return torch.cat((torch.full_like(target[:, :1], START), target[:, :-1]), dim=1)


def _pad(sequences: Sequence[Sequence[int]]) -> Tensor:
    longest = max((len(sequence) for sequence in sequences), default=0)
    return torch.tensor([[*sequence, *[PAD] * (longest - len(sequence))] for sequence in sequences]).long()
