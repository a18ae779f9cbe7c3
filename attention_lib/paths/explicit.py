"""The path that shows its weights: the four steps, one after the other."""

from __future__ import annotations

import torch
from torch import Tensor

from attention_lib.paths.lean import fits_lean, lean_weights
from attention_lib.shapes import Float
from attention_lib.steps.precision import widen
from attention_lib.steps.scores import scaled_scores
from attention_lib.steps.softmax import mask_scores, softmax_or_zero

__all__ = ["explicit_attention", "explicit_weights"]


def explicit_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, *, scale: float | None, dropout_p: float
) -> tuple[Float[Tensor, "... L d_v"], Float[Tensor, "... L S"]]:
    """``weights = softmax(scale * Q K^T + mask)``, ``output = dropout(weights) V``.

    Returns:
        ``(output, weights)`` in the query's dtype; the weights are those before dropout, and half precision is
        widened to float32 from the scores to the output.
    """
    weights = explicit_weights(query, key, mask, scale=scale)  # (..., L, S)
    used = torch.dropout(weights, dropout_p, train=True) if dropout_p else weights
    output = used @ widen(value)  # (..., L, d_v)
    return output.to(value.dtype), weights.to(query.dtype)


def explicit_weights(query: Tensor, key: Tensor, mask: Tensor | None, *, scale: float | None) -> Tensor:
    """The weights alone, in the dtype they are computed in (at least float32); a large table is made only once."""
    query, key = widen(query), widen(key)
    if fits_lean(query, key):
        return lean_weights(query, key, mask, scale=scale)
    return softmax_or_zero(mask_scores(scaled_scores(query, key, scale), mask))
