"""Two relations at once, around a round table: every place names its left neighbour and who sits opposite."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from attention_lib.errors import OptionError
from attention_lib.shapes import Int
from attention_lib.tasks.arguments import check_generator, check_whole

__all__ = ["TwoRelationBatch", "two_relation_batch"]


class TwoRelationBatch(NamedTuple):
    """``tokens`` (B, L); ``answers`` (B, L, 2): the left neighbour's token, and the opposite one."""

    tokens: Int[Tensor, "B L"]
    answers: Int[Tensor, "B L 2"]


def two_relation_batch(batch: int, length: int, *, symbols: int = 8, generator: torch.Generator) -> TwoRelationBatch:
    """Seat random symbols around a round table; every place asks for two others, by two different relations.

    Place i asks for the tokens at i - 1 (the last one for i = 0) and at i + L / 2 (counted around). No place has one
    answer for both. An attention of one head gives one average over all places, and an even average of two tokens
    does not say which is which.

    Args:
        batch: Number of sequences B.
        length: Number of tokens L, even, 4 or more.
        symbols: Number of different symbols.
        generator: Where the randomness comes from, on the CPU.

    Returns:
        A :class:`TwoRelationBatch`, integers from 0 to symbols - 1; guessing is right in 1 of ``symbols`` cases.

    Raises:
        OptionError: A count is too small or no whole number, or ``length`` is odd.

    Example:
        >>> tokens, answers = two_relation_batch(1, 4, generator=torch.Generator().manual_seed(0))
        >>> answers[0, 1].tolist() == [tokens[0, 0].item(), tokens[0, 3].item()]
        True
    """
    check_generator(generator)
    check_whole(batch=batch)
    check_whole(4, length=length)
    check_whole(2, symbols=symbols)
    if length % 2:
        raise OptionError(f"length={length} is odd, nobody sits opposite; choose length={length - 1} or {length + 1}")
    tokens = torch.randint(symbols, (batch, length), generator=generator)
    return TwoRelationBatch(tokens, torch.stack((tokens.roll(1, dims=1), tokens.roll(length // 2, dims=1)), dim=-1))
