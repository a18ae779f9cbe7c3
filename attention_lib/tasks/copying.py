"""Copying and reversal: read random symbols, write them again, forwards or backwards."""

from __future__ import annotations

import torch

from attention_lib.errors import OptionError
from attention_lib.tasks.arguments import check_generator, check_whole
from attention_lib.tasks.pairs import FIRST, PairBatch, pad_pairs

__all__ = ["copy_batch", "reversal_batch"]


def copy_batch(batch: int, *, shortest: int, longest: int, symbols: int = 8, generator: torch.Generator) -> PairBatch:
    """Draw sequences of random symbols; the target is the same sequence.

    Args:
        batch: Number of sequences B.
        shortest: Least number of symbols in a source.
        longest: Greatest number; every length in between is equally likely.
        symbols: Number of different symbols; they are FIRST ... FIRST + symbols - 1.
        generator: Where the randomness comes from, on the CPU.

    Returns:
        A :class:`PairBatch`; models need ``FIRST + symbols`` tokens.

    Raises:
        OptionError: A count that is not a whole number, 1 or more, or ``shortest > longest``.

    Example:
        >>> batch = copy_batch(1, shortest=3, longest=3, generator=torch.Generator().manual_seed(0))
        >>> torch.equal(batch.source, batch.target[:, :-1])
        True
    """
    sources = _draw(batch, shortest, longest, symbols, generator)
    return pad_pairs(sources, sources)


def reversal_batch(
    batch: int, *, shortest: int, longest: int, symbols: int = 8, generator: torch.Generator
) -> PairBatch:
    """Draw sequences of random symbols; the target is the same sequence from its end to its beginning.

    Args:
        batch: Number of sequences B.
        shortest: Least number of symbols in a source.
        longest: Greatest number; every length in between is equally likely.
        symbols: Number of different symbols; they are FIRST ... FIRST + symbols - 1.
        generator: Where the randomness comes from, on the CPU.

    Returns:
        A :class:`PairBatch`; models need ``FIRST + symbols`` tokens.

    Raises:
        OptionError: A count that is not a whole number, 1 or more, or ``shortest > longest``.

    Example:
        >>> batch = reversal_batch(1, shortest=3, longest=3, generator=torch.Generator().manual_seed(0))
        >>> torch.equal(batch.source.flip(1), batch.target[:, :-1])
        True
    """
    sources = _draw(batch, shortest, longest, symbols, generator)
    return pad_pairs(sources, [source[::-1] for source in sources])


def _draw(batch: int, shortest: int, longest: int, symbols: int, generator: torch.Generator) -> list[list[int]]:
    check_generator(generator)
    check_whole(batch=batch, shortest=shortest, longest=longest)
    check_whole(2, symbols=symbols)
    if shortest > longest:
        raise OptionError(f"shortest={shortest} is more than longest={longest}; exchange them")
    lengths = torch.randint(shortest, longest + 1, (batch,), generator=generator).tolist()
    drawn = torch.randint(FIRST, FIRST + symbols, (batch, longest), generator=generator).tolist()
    return [row[:length] for row, length in zip(drawn, lengths, strict=True)]
