"""Induction: random tokens, then the same again. Whoever finds the earlier copy can foretell the second half."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from attention_lib.shapes import Int
from attention_lib.tasks.arguments import check_generator, check_whole

__all__ = ["InductionBatch", "induction_batch"]


class InductionBatch(NamedTuple):
    """``tokens`` (B, 2n - 1) to read; ``answer`` (B, 2n - 1), the next token; ``known`` (2n - 1,), where it repeats."""

    tokens: Int[Tensor, "B L"]
    answer: Int[Tensor, "B L"]
    known: Tensor


def induction_batch(batch: int, half: int, *, symbols: int = 16, generator: torch.Generator) -> InductionBatch:
    """Draw n random tokens and write them twice.

    Args:
        batch: Number of sequences B.
        half: n, the length of one copy, 2 or more.
        symbols: Number of different symbols; no symbol appears twice in one copy when there are enough.
        generator: Where the randomness comes from, on the CPU.

    Returns:
        An :class:`InductionBatch`; where ``known`` is False nothing can be foretold.

    Raises:
        OptionError: A count is too small or no whole number.

    Example:
        >>> tokens, answer, known = induction_batch(1, 3, generator=torch.Generator().manual_seed(0))
        >>> torch.equal(tokens[:, 3:], tokens[:, :2]), known.tolist()
        (True, [False, False, False, True, True])

    Source: Olsson et al. (2022), In-context Learning and Induction Heads, repeated random tokens.
    """
    check_generator(generator)
    check_whole(batch=batch)
    check_whole(2, half=half, symbols=symbols)
    if half <= symbols:
        once = torch.rand(batch, symbols, generator=generator).argsort(dim=1)[:, :half]  # (B, n), all different
    else:
        once = torch.randint(symbols, (batch, half), generator=generator)
    twice = torch.cat((once, once), dim=1)  # (B, 2n)
    return InductionBatch(twice[:, :-1], twice[:, 1:], torch.arange(2 * half - 1) >= half)
