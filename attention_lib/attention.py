"""The one dispatch: reads the arguments, checks them, and picks an exact path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from attention_lib.axes import check_attention, check_dropout, check_query_key, check_scale, check_window
from attention_lib.errors import OptionError
from attention_lib.memory import room_for
from attention_lib.paths.dropout import Seen, fits_pieces, piecewise_dropout
from attention_lib.paths.explicit import explicit_attention, explicit_weights
from attention_lib.paths.fused import fused_attention
from attention_lib.paths.grouped import expand_groups, fits_fold, folded_attention
from attention_lib.paths.windowed import fits_window, windowed_attention
from attention_lib.shapes import Bool, Float
from attention_lib.steps.mask_checks import check_mask
from attention_lib.steps.masks import allowed_by_position, restrict

__all__ = ["AttentionOutput", "attention", "attention_weights"]

_LESS = (
    "attention(..., window=w) without need_weights takes memory in proportion to the length, and so does causal=True "
    "with as many queries as keys; attention_weights(rows=[...]) gives single rows"
)
_FEWER_ROWS = "ask for fewer rows: rows=[...]"


class AttentionOutput(NamedTuple):
    """What attention returns: ``output`` ``(..., L, d_v)`` and ``weights`` ``(..., L, S)`` or None."""

    output: Tensor
    weights: Tensor | None = None


def attention(
    query: Float[Tensor, "... L d_k"],
    key: Float[Tensor, "... S d_k"],
    value: Float[Tensor, "... S d_v"],
    mask: Bool[Tensor, "..."] | Float[Tensor, "..."] | None = None,
    *,
    causal: bool = False,
    window: int | None = None,
    scale: float | None = None,
    dropout_p: float = 0.0,
    need_weights: bool = False,
) -> AttentionOutput:
    """Scaled dot-product attention.

    ``output = softmax(Q K^T / sqrt(d_k) + mask) V``

    Args:
        query: ``(..., L, d_k)``.
        key: ``(..., S, d_k)``. With four axes or more it may have fewer heads than the query, H a multiple of
            H_kv: query head h reads key head ``h // (H / H_kv)``.
        value: ``(..., S, d_v)``, as many heads as the key.
        mask: Boolean, True = may attend, or float, added to the scores. ``(L, S)``, or the rank of the scores
            with 1 where it is shared.
        causal: Queries see no later position; the L queries are the last L of the S positions.
        window: A query sees exactly this many keys, itself included: behind it when causal, else around it.
        scale: Factor on the dot products; None is ``1 / sqrt(d_k)``.
        dropout_p: Probability, in [0, 1), with which each weight is dropped. Pass 0.0 outside training. Long sequences
            take it to the nearest 1/65,536.
        need_weights: Also return the weights, those before dropout.

    Returns:
        ``AttentionOutput(output, weights)``: output ``(..., L, d_v)``, weights ``(..., L, S)`` or None, both in
        the query's dtype. Each row of weights sums to 1; where no key is allowed, weights and output are 0.

    Raises:
        ShapeError: Axes, dtypes or devices of query, key and value do not fit.
        MaskError: The mask is of integers, ambiguous, or does not broadcast.
        OptionError: ``window`` or ``dropout_p`` is out of range, or ``scale`` is no number.
        AttentionMemoryError: A table ``(L, S)``, or ``(..., L, S)`` for weights, is larger than the memory left.

    Example:
        >>> query, key = torch.ones(1, 1), torch.tensor([[0.0], [1.0986]])  # scores 0 and ln 3
        >>> output, weights = attention(query, key, torch.tensor([[4.0], [8.0]]), need_weights=True)
        >>> weights, output.round(decimals=3)  # (1 * 4 + 3 * 8) / 4
        (tensor([[0.2500, 0.7500]]), tensor([[7.]]))

    Source:
        Vaswani et al. (2017), Attention Is All You Need, equation 1.
    """
    check_attention(query, key, value)
    window = check_window(window)
    check_dropout(dropout_p)
    check_scale(scale)
    if mask is not None:
        check_mask(mask, _scores_shape(query, key), query.device)
    plain, L, S = not (dropout_p or need_weights), query.shape[-2], key.shape[-2]
    causal = causal and (L != 1 or window is not None)  # a single query, the last, has nothing after it
    if plain and fits_fold(query, key):  # grouped heads and few queries: decoding
        mask = _complete_mask(mask, L, S, query.device, causal=causal, window=window)
        return AttentionOutput(folded_attention(query, key, value, mask, scale=scale))
    key, value = expand_groups(query, key), expand_groups(query, value)
    if plain and window is not None and fits_window(query, key, mask, window):  # a band much narrower than the table
        return AttentionOutput(windowed_attention(query, key, value, mask, causal=causal, window=window, scale=scale))
    if plain and mask is None and window is None and (L == S or not causal):  # no table at all
        return AttentionOutput(fused_attention(query, key, value, None, causal=causal, scale=scale))
    if dropout_p and not need_weights and fits_pieces(query, key, value, mask):  # training on long sequences
        seen = Seen(mask, causal, window)
        return AttentionOutput(piecewise_dropout(query, key, value, seen, scale=scale, dropout_p=dropout_p))
    table = (L, S) if plain else _scores_shape(query, key)
    with room_for(table, query.dtype, query.device, way_out=_LESS):
        mask = _complete_mask(mask, L, S, query.device, causal=causal, window=window)
        if plain:
            return AttentionOutput(fused_attention(query, key, value, mask, causal=False, scale=scale))
        output, weights = explicit_attention(query, key, value, mask, scale=scale, dropout_p=dropout_p)
        return AttentionOutput(output, weights if need_weights else None)


def attention_weights(
    query: Float[Tensor, "... L d_k"],
    key: Float[Tensor, "... S d_k"],
    mask: Bool[Tensor, "..."] | Float[Tensor, "..."] | None = None,
    *,
    causal: bool = False,
    window: int | None = None,
    scale: float | None = None,
    rows: Sequence[int] | slice | Tensor | None = None,
) -> Float[Tensor, "... R S"]:
    """The weights alone, and only for the query rows asked for: what a picture needs.

    ``weights = softmax(Q[rows] K^T / sqrt(d_k) + mask[rows])``

    Args:
        query: ``(..., L, d_k)``.
        key: ``(..., S, d_k)``, grouped heads as in ``attention``.
        mask: As in ``attention``: for all L rows, not for the chosen ones.
        causal: As in ``attention``.
        window: As in ``attention``.
        scale: As in ``attention``.
        rows: List, slice or one-dimensional integer tensor of query rows, negative ones counted from the end;
            None is all of them.

    Returns:
        ``(..., R, S)``, R the number of rows asked for. Each row sums to 1, or is all 0 when no key is allowed.

    Raises:
        ShapeError: Axes, dtypes or devices of query and key do not fit.
        MaskError: As in ``attention``.
        OptionError: ``window`` is out of range, or ``rows`` names a row that is not there.

    Example:
        >>> query, key = torch.ones(3, 1), torch.zeros(3, 1)
        >>> attention_weights(query, key, causal=True, rows=[1])
        tensor([[0.5000, 0.5000, 0.0000]])
    """
    check_query_key(query, key)
    check_scale(scale)
    window = check_window(window)
    shape = _scores_shape(query, key)
    check_mask(mask, shape, query.device)
    chosen = _row_indices(rows, shape[-2], query.device)
    key = expand_groups(query, key)
    with room_for((*shape[:-2], len(chosen), shape[-1]), query.dtype, query.device, way_out=_FEWER_ROWS):
        return _weights_of_rows(query, key, mask, chosen, causal=causal, window=window, scale=scale)


def _weights_of_rows(
    query: Tensor, key: Tensor, mask: Tensor | None, chosen: Tensor,
    *, causal: bool, window: int | None, scale: float | None,
) -> Tensor:  # fmt: skip
    L, S = query.shape[-2], key.shape[-2]
    if mask is not None and mask.ndim >= 2 and mask.shape[-2] == L:
        mask = mask.index_select(-2, chosen)
    if causal or window is not None:
        mask = restrict(mask, allowed_by_position(S - L + chosen, S, causal=causal, window=window))
    return explicit_weights(query.index_select(-2, chosen), key, mask, scale=scale).to(query.dtype)


def _scores_shape(query: Tensor, key: Tensor) -> tuple[int, ...]:
    """``(..., L, S)``, with the query's heads where several of them read one of the key's."""
    leading = (size if size != 1 else other for size, other in zip(query.shape[:-2], key.shape[:-2], strict=True))
    return (*leading, query.shape[-2], key.shape[-2])


def _complete_mask(
    mask: Tensor | None, L: int, S: int, device: torch.device, *, causal: bool, window: int | None
) -> Tensor | None:
    """Fold ``causal`` and ``window`` into the caller's mask; the queries are the last L of the S positions."""
    if not causal and window is None:
        return mask
    positions = torch.arange(S - L, S, device=device)
    return restrict(mask, allowed_by_position(positions, S, causal=causal, window=window))


def _row_indices(rows: Sequence[int] | slice | Tensor | None, L: int, device: torch.device) -> Tensor:
    every = torch.arange(L, device=device)
    if rows is None:
        return every
    if isinstance(rows, slice):
        return torch.as_tensor(range(L)[rows], dtype=torch.long, device=device)  # a step may be negative
    refusal = OptionError(f"rows={rows!r} must be a list, a slice or a one-dimensional integer tensor")
    try:
        chosen = torch.as_tensor(rows, device=device)
    except (TypeError, ValueError, RuntimeError) as error:
        raise refusal from error
    if chosen.ndim != 1 or (chosen.numel() and (chosen.is_floating_point() or chosen.dtype == torch.bool)):
        raise refusal
    if chosen.numel() and not -L <= int(chosen.min()) <= int(chosen.max()) < L:
        raise OptionError(f"rows={chosen.tolist()} asks for a row outside 0 ... {L - 1}; there are L = {L} queries")
    return every[chosen.long()]
