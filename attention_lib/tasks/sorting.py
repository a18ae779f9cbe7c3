"""Sorting: read n random symbols and write them in ascending order."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from attention_lib.shapes import Int
from attention_lib.tasks.arguments import check_generator, check_whole

__all__ = ["SortBatch", "sort_batch"]


class SortBatch(NamedTuple):
    """``tokens`` (B, L) and ``answer`` (B, L), each row of tokens in ascending order."""

    tokens: Int[Tensor, "B L"]
    answer: Int[Tensor, "B L"]


def sort_batch(batch: int, length: int, *, symbols: int = 8, generator: torch.Generator) -> SortBatch:
    """Draw sequences of random symbols; the answer to each is the same symbols, sorted.

    Args:
        batch: Number of sequences B.
        length: Number of symbols L in each.
        symbols: Number of different symbols.
        generator: Where the randomness comes from, on the CPU.

    Returns:
        A :class:`SortBatch`, integers from 0 to symbols - 1.

    Raises:
        OptionError: A count that is not a whole number, 1 or more (2 for ``symbols``).

    Example:
        >>> tokens, answer = sort_batch(1, 6, generator=torch.Generator().manual_seed(3))
        >>> sorted(tokens[0].tolist()) == answer[0].tolist()
        True

    Source: Karpathy's minGPT trains on the same task (its demo notebook).
    """
    check_generator(generator)
    check_whole(batch=batch, length=length)
    check_whole(2, symbols=symbols)
    tokens = torch.randint(symbols, (batch, length), generator=generator)
    return SortBatch(tokens, tokens.sort(dim=1).values)
