"""Grouped heads: several query heads read one key/value head."""

from __future__ import annotations

from torch import Tensor

from attention_lib.shapes import Float

__all__ = ["expand_groups"]


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
