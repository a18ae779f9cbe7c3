"""The map most people draw: the weights averaged over the heads, without a table for each head."""

from __future__ import annotations

import torch
from torch import Tensor

from attention_lib.attention import attention_weights
from attention_lib.axes import check_query_key, check_scale, shape_of
from attention_lib.errors import ShapeError
from attention_lib.memory import room_for
from attention_lib.paths.large_pages import new_table
from attention_lib.shapes import Bool, Float

__all__ = ["averaged_weights"]

_FEWER_ROWS = "attention_weights(rows=[...]) gives single rows"
CELLS = 2**20  # of all heads together, in work at a time


def averaged_weights(
    query: Float[Tensor, "... H L d_k"],
    key: Float[Tensor, "... H_kv S d_k"],
    mask: Bool[Tensor, "..."] | Float[Tensor, "..."] | None = None,
    *,
    causal: bool = False,
    window: int | None = None,
    scale: float | None = None,
) -> Float[Tensor, "... L S"]:
    """The mean of the heads' weights.

    ``weights = mean over h of softmax(Q_h K_h^T / sqrt(d_k) + mask)``

    It is computed some rows at a time, so that without gradients one table ``(L, S)`` a sequence is all that is held.
    ``attention(...).output`` beside it costs no table at all.

    Args:
        query: ``(..., H, L, d_k)``, four axes or more.
        key: ``(..., H_kv, S, d_k)``, grouped heads as in ``attention``.
        mask: As in ``attention``.
        causal: As in ``attention``.
        window: As in ``attention``.
        scale: As in ``attention``.

    Returns:
        ``(..., L, S)``. Each row sums to 1, or is all 0 when no key is allowed for any head.

    Raises:
        ShapeError: No axis of heads, or axes, dtypes or devices do not fit.
        MaskError: As in ``attention``.
        OptionError: ``window`` is out of range.
        AttentionMemoryError: The mean itself does not fit.

    Example:
        >>> query = torch.tensor([0.0, 1.0986]).reshape(1, 2, 1, 1)  # weights (1/2, 1/2) and (3/4, 1/4)
        >>> averaged_weights(query, torch.tensor([1.0, 0.0]).reshape(1, 1, 2, 1))
        tensor([[[0.6250, 0.3750]]])
    """
    check_query_key(query, key)
    check_scale(scale)
    if query.ndim < 4:
        raise ShapeError(
            f"query has shape {shape_of(query)}; the mean over heads needs (B, H, L, d_k): query[None] for one sequence"
        )
    L, S = query.shape[-2], key.shape[-2]
    leading = torch.broadcast_shapes(query.shape[:-3], key.shape[:-3])
    step = max(16, CELLS // max(1, S * query.shape[-3]))
    pieces = (
        attention_weights(
            query, key, mask, causal=causal, window=window, scale=scale, rows=slice(start, start + step)
        ).mean(dim=-3)
        for start in range(0, max(1, L), step)
    )
    if torch.is_grad_enabled() and (query.requires_grad or key.requires_grad):
        return torch.cat(list(pieces), dim=-2)
    with room_for((*leading, L, S), query.dtype, query.device, way_out=_FEWER_ROWS):
        average = new_table(query, *leading, L, S)
    for piece, start in zip(pieces, range(0, max(1, L), step), strict=True):
        average[..., start : start + step, :] = piece
    return average
