"""Step 1 and 2: how well does each query match each key?"""

from __future__ import annotations

import math

from torch import Tensor

from attention_lib.axes import check_query_key, check_scale
from attention_lib.shapes import Float
from attention_lib.steps.precision import saturate, widen

__all__ = ["dot_product_scores", "scaled_scores"]


def dot_product_scores(
    query: Float[Tensor, "... L d_k"], key: Float[Tensor, "... S d_k"], *, scale: float | None = None
) -> Float[Tensor, "... L S"]:
    """Dot product of every query with every key, scaled.

    ``scores = scale * Q K^T``, with ``scale = 1 / sqrt(d_k)`` unless given.

    Args:
        query: ``(..., L, d_k)``.
        key: ``(..., S, d_k)``, leading axes equal to the query's or 1.
        scale: Factor on the dot products. None is ``1 / sqrt(d_k)``; 1.0 leaves them unscaled.

    Returns:
        ``(..., L, S)`` in the query's dtype. Half precision is summed in float32, and a score outside its
        range becomes its largest finite number.

    Raises:
        ShapeError: d_k, the leading axes, the dtypes or the devices of query and key differ (grouped heads are for
            ``attention``).
        OptionError: ``scale`` is no number.

    Example:
        >>> import torch
        >>> query, key = torch.tensor([[1.0, 2.0, 0.0, 0.0]]), torch.tensor([[3.0, 4.0, 0.0, 0.0]])
        >>> dot_product_scores(query, key)  # (1*3 + 2*4) / sqrt(4)
        tensor([[5.5000]])

    Source:
        Vaswani et al. (2017), Attention Is All You Need, section 3.2.1.
    """
    check_query_key(query, key, grouped=False)
    check_scale(scale)
    return saturate(scaled_scores(query, key, scale), query.dtype)


def scaled_scores(query: Tensor, key: Tensor, scale: float | None) -> Tensor:
    """The same without checks, and left in the dtype it is computed in (at least float32)."""
    factor = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    return (widen(query) * factor) @ widen(key).transpose(-2, -1)  # (..., L, S)
