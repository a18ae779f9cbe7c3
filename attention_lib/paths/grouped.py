"""Grouped heads: several query heads read one key/value head."""

from __future__ import annotations

from torch import Tensor

from attention_lib.paths.fused import fused_attention
from attention_lib.shapes import Float

__all__ = ["expand_groups", "fits_fold", "folded_attention"]

UP_TO_QUERIES = 16  # more of them repay the copies that ``expand_groups`` makes


def expand_groups(query: Tensor, key_or_value: Tensor) -> Float[Tensor, "... S width"]:
    """Give every query head its own copy of the key or value head it reads.

    Query head h reads group ``h // (H / H_kv)``.

    Args:
        query: ``(..., H, L, d_k)``.
        key_or_value: ``(..., H_kv, S, width)``, H a multiple of H_kv.

    Returns:
        ``(..., H, S, width)``; the tensor itself where there is nothing to expand.

    Source:
        Ainslie et al. (2023), GQA, section 2.2.
    """
    if query.ndim < 4 or key_or_value.shape[-3] in (1, query.shape[-3]) or query.shape[-3] == 1:
        return key_or_value
    repeats = query.shape[-3] // key_or_value.shape[-3]
    return key_or_value.repeat_interleave(repeats, dim=-3)


def fits_fold(query: Tensor, key: Tensor) -> bool:
    """Whether there are groups, and few queries: decoding, where the copies would be most of the work."""
    grouped = query.ndim >= 4 and key.shape[-3] < query.shape[-3]
    return grouped and query.shape[-2] <= UP_TO_QUERIES and query.shape[:-3] == key.shape[:-3]


def folded_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, *, scale: float | None
) -> Float[Tensor, "... L d_v"]:
    """Attention of grouped heads without a copy: the queries of a group stand below each other in one head.

    Args:
        query: ``(..., H, L, d_k)``.
        key: ``(..., H_kv, S, d_k)``, with the same axes before the heads.
        value: ``(..., H_kv, S, d_v)``.
        mask: The complete mask, or None.
        scale: Factor on the dot products, None for ``1 / sqrt(d_k)``.

    Returns:
        ``(..., H, L, d_v)``.
    """
    H, L, groups = query.shape[-3], query.shape[-2], key.shape[-3]
    if mask is not None and mask.ndim >= 2:
        mask = _fold_mask(mask, H, L, groups)
    folded = query.unflatten(-3, (groups, H // groups)).flatten(-3, -2)  # (..., H_kv, H / H_kv * L, d_k)
    output = fused_attention(folded, key, value, mask, causal=False, scale=scale)
    return output.unflatten(-2, (H // groups, L)).flatten(-4, -3)  # (..., H, L, d_v)


def _fold_mask(mask: Tensor, H: int, L: int, groups: int) -> Tensor:
    """The rows of a mask in the same order: ``(..., 1 or H_kv, 1 or H / H_kv * L, S)``."""
    if mask.ndim > 2 and mask.shape[-3] == H:
        return mask.expand(*mask.shape[:-2], L, -1).unflatten(-3, (groups, H // groups)).flatten(-3, -2)
    return mask if mask.shape[-2] == 1 else mask.repeat(*(1,) * (mask.ndim - 2), H // groups, 1)
