"""The path without weights: torch's fused kernel, kept out of its traps."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from attention_lib.shapes import Float
from attention_lib.steps.precision import widen

__all__ = ["fused_attention"]


def fused_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, *, causal: bool, scale: float | None
) -> Float[Tensor, "... L d_v"]:
    """``softmax(scale * Q K^T + mask) V`` by ``scaled_dot_product_attention``.

    Args:
        query: ``(..., L, d_k)``.
        key: ``(..., S, d_k)``.
        value: ``(..., S, d_v)``.
        mask: The complete mask, or None.
        causal: Only with ``mask=None`` and L = S: torch aligns its ``is_causal`` top-left, we bottom-right,
            and the two agree only on a square.
        scale: Factor on the dot products, None for ``1 / sqrt(d_k)``.

    Returns:
        ``(..., L, d_v)``; rows with no allowed key are 0.
    """
    dtype = query.dtype
    if query.device.type == "cpu":  # CPUs without native half-precision kernels are 50 times slower in it
        query, key, value = widen(query), widen(key), widen(value)
    if mask is None:
        return scaled_dot_product_attention(query, key, value, is_causal=causal, scale=scale).to(dtype)
    mask = torch.atleast_2d(mask)  # torch refuses a mask (S,) that every query shares
    # What a fused kernel makes of an empty row differs by version and backend (0, NaN, or NaN gradients only).
    # So such a row attends to everything inside the kernel and is set to 0 outside.
    if mask.dtype == torch.bool:
        empty = ~mask.any(dim=-1, keepdim=True)  # (..., L, 1)
        mask = mask | empty
    else:
        mask = mask.to(query.dtype)  # a float32 bias beside float64 inputs gives silently wrong numbers
        empty = (mask == -math.inf).all(dim=-1, keepdim=True)
        mask = mask.masked_fill(empty, 0.0)
    output = scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=scale)
    return output.masked_fill(empty, 0.0).to(dtype)
