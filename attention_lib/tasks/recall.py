"""First-token recall: read n random symbols, then say which was the first."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from attention_lib.shapes import Int
from attention_lib.tasks.arguments import check_generator, check_whole

__all__ = ["RecallBatch", "recall_batch"]


class RecallBatch(NamedTuple):
    """``tokens`` (B, L) and ``answer`` (B,), the first token of each row."""

    tokens: Int[Tensor, "B L"]
    answer: Int[Tensor, "B"]


def recall_batch(batch: int, length: int, *, symbols: int = 8, generator: torch.Generator) -> RecallBatch:
    """Draw sequences of random symbols; the answer to each is its first symbol.

    All symbols are equally likely, so guessing is right in one of ``symbols`` cases.

    Args:
        batch: Number of sequences B.
        length: Number of symbols L in each.
        symbols: Number of different symbols.
        generator: Where the randomness comes from, on the CPU.

    Returns:
        A :class:`RecallBatch`, integers from 0 to symbols - 1.

    Raises:
        OptionError: A count that is not a whole number, 1 or more (2 for ``symbols``).

    Example:
        >>> tokens, answer = recall_batch(3, 5, generator=torch.Generator().manual_seed(0))
        >>> tuple(tokens.shape), torch.equal(answer, tokens[:, 0])
        ((3, 5), True)

    Source: the long-lag tasks of Hochreiter and Schmidhuber (1997), section 5, in their simplest form.
    """
    check_generator(generator)
    check_whole(batch=batch, length=length)
    check_whole(2, symbols=symbols)
    tokens = torch.randint(symbols, (batch, length), generator=generator)
    return RecallBatch(tokens, tokens[:, 0])
