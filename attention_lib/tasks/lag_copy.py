"""Lag copy: at every place, write the token that was read so many steps before."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from attention_lib.errors import OptionError
from attention_lib.shapes import Int
from attention_lib.tasks.arguments import check_generator, check_whole

__all__ = ["LagCopyBatch", "lag_copy_batch"]


class LagCopyBatch(NamedTuple):
    """``tokens`` (B, L) and ``answer`` (B, L - lag): the answers of the places from ``lag`` on."""

    tokens: Int[Tensor, "B L"]
    answer: Int[Tensor, "B answers"]


def lag_copy_batch(batch: int, length: int, *, lag: int, symbols: int = 8, generator: torch.Generator) -> LagCopyBatch:
    """Draw random tokens; the answer at place i is the token at i - lag.

    Args:
        batch: Number of sequences B.
        length: Number of tokens L.
        lag: How far back, 1 to L - 1.
        symbols: Number of different symbols.
        generator: Where the randomness comes from, on the CPU.

    Returns:
        A :class:`LagCopyBatch`; compare with ``logits[:, lag:]``. Guessing is right in 1 of ``symbols`` cases.

    Raises:
        OptionError: A count is too small or no whole number, or ``lag`` reaches before the first token.

    Example:
        >>> tokens, answer = lag_copy_batch(1, 5, lag=2, generator=torch.Generator().manual_seed(0))
        >>> torch.equal(answer, tokens[:, :3])
        True
    """
    check_generator(generator)
    check_whole(batch=batch, length=length, lag=lag)
    check_whole(2, symbols=symbols)
    if lag >= length:
        raise OptionError(
            f"lag={lag} reaches before the first of length={length} tokens; choose lag={length - 1} or less"
        )
    tokens = torch.randint(symbols, (batch, length), generator=generator)
    return LagCopyBatch(tokens, tokens[:, : length - lag])
