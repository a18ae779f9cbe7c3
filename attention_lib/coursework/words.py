"""The words of a variant: a mask as the course speaks of it, and the course's order of axes.

The public checks and the hidden ones say things in the same words; what is right, each works out for itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

__all__ = ["heads_second", "said"]


def said(allowed: Tensor | None, variant: Mapping[str, Any], dtype: torch.dtype = torch.float64) -> Tensor | None:
    """A mask, True = may attend, in the words of the variant.

    Example:
        >>> said(torch.tensor([True, False]), {"mask": "blocked"})
        tensor([False,  True])
        >>> said(torch.tensor([True, False]), {"mask": "additive"}, torch.float32)
        tensor([0., -inf])
    """
    if allowed is None or variant.get("mask", "allowed") == "allowed":
        return allowed
    if variant["mask"] == "blocked":
        return ~allowed
    return torch.zeros(allowed.shape, dtype=dtype).masked_fill(~allowed, -torch.inf)


def heads_second(tensor: Tensor, variant: Mapping[str, Any]) -> Tensor:
    """From the variant's order of axes to (B, H, L, d), or from there to the variant's: it is the same exchange."""
    return tensor.transpose(1, 2) if variant.get("layout") == "BLHd" else tensor
