"""Compares what a student's function gave with what is right, and says where they part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

__all__ = ["difference", "equal"]


def equal(got: list[list[Any]], wanted: list[list[Tensor]], off: float = 1e-5) -> bool:
    """Whether every value of every answer is right, up to a relative ``off``."""
    pairs = list(zip(got, wanted, strict=True))
    if not all(len(one) == len(other) for one, other in pairs):
        return False
    return all(_close(mine, right, off) for one, other in pairs for mine, right in zip(one, other, strict=True))


def _close(got: Any, wanted: Tensor, off: float = 1e-5) -> bool:
    if not isinstance(got, Tensor) or got.shape != wanted.shape:
        return False
    if (got.dtype == torch.bool) != (wanted.dtype == torch.bool):
        return False
    return torch.allclose(got.detach().double(), wanted.detach().double(), rtol=off, atol=off / 1000, equal_nan=True)


def difference(
    got: list[list[Any]], wanted: list[list[Tensor]], labels: Sequence[str] = (), values: Sequence[str] = ()
) -> tuple[str, str]:
    """The first difference; where other inputs went well, it is told for which ones it does not."""
    for number, (one, other) in enumerate(zip(got, wanted, strict=True)):
        if len(one) != len(other):
            return "wrong-count", f"It returns {len(one)} value{'s' * (len(one) != 1)}; it should return {len(other)}."
        for place, (mine, right) in enumerate(zip(one, other, strict=True), start=1):
            told = _one_difference(mine, right)
            if told is not None:
                called = values[place - 1] if place <= len(values) else f"Value {place}"
                text = (called if len(other) > 1 else "The result") + told[1]
                if number == 0 or number >= len(labels):
                    return told[0], text
                return "wrong-" + told[0].removeprefix("wrong-"), f"Right {labels[0]}, but not {labels[number]}. {text}"
    return "differs", "It differs."


def _one_difference(mine: Any, right: Tensor) -> tuple[str, str] | None:
    if not isinstance(mine, Tensor):
        return "wrong-type", f" is a {type(mine).__name__}, not a tensor."
    if mine.shape != right.shape:
        mine_text, right_text = tuple(mine.shape), tuple(right.shape)
        return "wrong-shape", f" has shape {mine_text} in the book's order of axes; it should have {right_text}."
    if (mine.dtype == torch.bool) != (right.dtype == torch.bool):
        return "wrong-dtype", f" has dtype {str(mine.dtype)[6:]}, which is not what the convention asks for."
    if _close(mine, right):
        return None
    if mine.dtype == torch.bool:
        return "differs", f" is wrong in {int((mine != right).sum())} of {right.numel()} entries."
    off = (mine.detach().double() - right.double()).abs()
    if not bool(off.isfinite().all()):
        return "differs", " has entries that are not finite where they should be, or finite where they should not."
    return "differs", f" is off by up to {off.max().item():.3g}."
