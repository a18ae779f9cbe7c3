"""Which dtype a step computes in: half precision is widened to float32, everything else stays."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["saturate", "widen"]


def widen(tensor: Tensor) -> Tensor:
    """float16 and bfloat16 become float32; float32 and float64 are returned as they are.

    float16 ends at 65,504, which a dot product of ordinary numbers can pass; float32 does not overflow there.

    Example:
        >>> widen(torch.ones(2, dtype=torch.float16)).dtype, widen(torch.ones(2, dtype=torch.float64)).dtype
        (torch.float32, torch.float64)
    """
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor


def saturate(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    """Convert to ``dtype``; numbers beyond its range become its largest number instead of infinity.

    Example:
        >>> saturate(torch.tensor([1e6, -1e6]), torch.float16)
        tensor([ 65504., -65504.], dtype=torch.float16)
    """
    if tensor.dtype == dtype:
        return tensor
    limit = torch.finfo(dtype).max
    return tensor.clamp(-limit, limit).to(dtype)
