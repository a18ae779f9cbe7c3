"""Sequences of different lengths in one padded batch: the padding is left out instead of masked."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import pad

from attention_lib.attention import AttentionOutput, attention
from attention_lib.axes import check_attention, check_scale, check_window, shape_of
from attention_lib.errors import ShapeError
from attention_lib.shapes import Float, Int
from attention_lib.steps.mask_checks import check_lengths
from attention_lib.steps.masks import allowed_by_position

__all__ = ["ragged_attention"]


def ragged_attention(
    query: Float[Tensor, "B H L d_k"],
    key: Float[Tensor, "B H_kv S d_k"],
    value: Float[Tensor, "B H_kv S d_v"],
    lengths: Int[Tensor, "B"] | Sequence[int],
    *,
    query_lengths: Int[Tensor, "B"] | Sequence[int] | None = None,
    causal: bool = False,
    window: int | None = None,
    scale: float | None = None,
    dropout_p: float = 0.0,
) -> AttentionOutput:
    """Attention in which sequence b reads its first ``lengths[b]`` keys, at the cost of those alone.

    ``output[b] = softmax(Q[b] K[b, :lengths[b]]^T / sqrt(d_k)) V[b, :lengths[b]]``

    The result is that of ``attention(query, key, value, padding_mask(lengths, S), ...)``, with rows from
    ``query_lengths[b]`` on set to 0.

    Args:
        query: ``(B, H, L, d_k)``.
        key: ``(B, H_kv, S, d_k)``; what lies behind ``lengths[b]`` is not read.
        value: ``(B, H_kv, S, d_v)``.
        lengths: B whole numbers, at most S.
        query_lengths: B whole numbers, at most L; the rows behind them are padding and not computed. None computes
            all. In self-attention these are ``lengths`` again.
        causal: As in ``attention``; positions are those in the padded tensors.
        window: As in ``attention``.
        scale: As in ``attention``.
        dropout_p: As in ``attention``.

    Returns:
        ``AttentionOutput`` with the output ``(B, H, L, d_v)``, and no weights.

    Raises:
        ShapeError: The tensors do not fit together, have not four axes, or there are not B lengths.
        MaskError: A length is not a whole number between 0 and the length of its tensor.
        OptionError: ``window`` or ``dropout_p`` is out of range.
        AttentionMemoryError: As in ``attention``, for one sequence.

    Example:
        >>> value = torch.tensor([1.0, 3.0, 8.0]).reshape(1, 1, 3, 1)
        >>> zeros = torch.zeros(1, 1, 3, 1)
        >>> ragged_attention(zeros, zeros, value, [2], query_lengths=[2]).output.flatten()
        tensor([2., 2., 0.])
    """
    check_attention(query, key, value)
    check_window(window)
    check_scale(scale)
    L, S = query.shape[-2], key.shape[-2]
    keys = _per_sequence("lengths", lengths, query, key, S)
    rows = [L] * len(keys) if query_lengths is None else _per_sequence("query_lengths", query_lengths, query, key, L)
    outputs = [value.new_zeros(0, *query.shape[1:-1], value.shape[-1])]
    for q, k, v, real, count in zip(*(t.unsqueeze(1) for t in (query, key, value)), rows, keys, strict=True):
        mask, aligned = None, count - real == S - L  # where the last real query meets the last real key
        if (causal or window is not None) and not aligned:
            positions = torch.arange(S - L, S - L + real, device=query.device)
            mask = allowed_by_position(positions, count, causal=causal, window=window)
        part = attention(
            q[..., :real, :], k[..., :count, :], v[..., :count, :], mask,
            causal=causal and aligned, window=window if aligned else None, scale=scale, dropout_p=dropout_p,
        ).output  # (1, H, real, d_v)  # fmt: skip
        outputs.append(pad(part, (0, 0, 0, L - real)))
    return AttentionOutput(torch.cat(outputs))


def _per_sequence(name: str, lengths: Tensor | Sequence[int], query: Tensor, key: Tensor, longest: int) -> list[int]:
    if query.ndim != 4 or query.shape[0] != key.shape[0]:
        raise ShapeError(
            f"query and key have shapes {shape_of(query)} and {shape_of(key)}; ragged_attention takes (B, H, L, d_k) "
            "and (B, H_kv, S, d_k) with equal B: for one head, query[:, None]"
        )
    whole = check_lengths(lengths, longest, name=name)
    if len(whole) != query.shape[0]:
        raise ShapeError(f"{name} has {len(whole)} entries for B = {query.shape[0]} sequences; give one for each")
    return [int(length) for length in whole.tolist()]
