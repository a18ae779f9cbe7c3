"""The path for windows: blocks of queries, each with the keys in its reach and no others. Cost grows with n, not n^2.

The keys of neighbouring blocks overlap. ``unfold`` shows them as one tensor without copying, so that all blocks go
through one call of the fused kernel, with one small band for a mask.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn.functional import pad

from attention_lib.paths.fused import fused_attention
from attention_lib.shapes import Float
from attention_lib.steps.masks import allowed_by_position, reach_of, restrict

__all__ = ["fits_window", "windowed_attention"]

# A block reads ``block + window`` of the S keys. Measured for 1 and 8 heads, widths of 64, S from 256 to 2,048 against
# the dense path: forward 1.2 times faster where that is 3/4 of the keys, 1.6 at 1/2, 2.5 to 3 at 1/3, forward and
# backward 1.1, 1.4, 2.1; below 512 queries the dense path is as fast. Forward it takes 1.4 times less memory (short, 8
# heads) to 44 times less (long, 1 head). With gradients of 8 heads it takes up to twice that of the dense path, but no
# table: in proportion to S, not to S^2.
MOST, FROM_QUERIES = 0.75, 512


def fits_window(query: Tensor, key: Tensor, mask: Tensor | None, window: int) -> bool:
    """Whether blocks leave out most of the cells, and the mask can be cut with them."""
    L, S = query.shape[-2], key.shape[-2]
    block, share = _block(window), MOST if L >= FROM_QUERIES else 0.25
    if L > S or 4 * block > L or block + window > share * S:
        return False
    return mask is None or not mask.requires_grad  # a learned table of biases has n^2 gradients anyway


def _block(window: int) -> int:
    """How many queries share one slice of keys; of its ``block + window - 1`` keys a query sees ``window``."""
    return min(64, max(32, window // 2))


def windowed_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, *, causal: bool, window: int, scale: float | None
) -> Float[Tensor, "... L d_v"]:
    """``softmax(scale * Q K^T + mask) V`` inside the window, block by block.

    Args:
        query: ``(..., L, d_k)``, the last L of the S positions.
        key: ``(..., S, d_k)``, S at least L.
        value: ``(..., S, d_v)``.
        mask: The caller's mask, without the window, or None.
        causal: Whether the window lies behind the query or around it.
        window: Number of keys that a query sees.
        scale: Factor on the dot products, None for ``1 / sqrt(d_k)``.

    Returns:
        ``(..., L, d_v)``; rows with no allowed key are 0.

    Source:
        Beltagy et al. (2020), Longformer, section 3.1: the pattern.
    """
    L, S, block = query.shape[-2], key.shape[-2], _block(window)
    leading = torch.broadcast_shapes(query.shape[:-2], key.shape[:-2], value.shape[:-2])
    scale, width = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale, value.shape[-1]
    query, key, value = _equally_wide(query, key, value)
    query, key, value = (_four_axes(tensor, leading) for tensor in (query, key, value))
    mask = None if mask is None else _four_axes_of_mask(mask, leading, S)
    before, after = reach_of(causal=causal, window=window)
    first = max(0, before - (S - L))  # rows above it look beyond the first key
    last = first + (L - after - first) // block * block  # rows from there on do not fill a block
    parts = []
    for start, stop, step in ((0, first, first), (first, last, block), (last, L, L - last)):
        keys = slice(max(0, S - L + start - before), min(S, S - L + stop + after))
        rows = query[..., start:stop, :], key[..., keys, :], value[..., keys, :]
        seen = allowed_by_position(
            torch.arange(S - L + start, S - L + start + step, device=query.device) - keys.start,
            min(before + step + after, keys.stop - keys.start), causal=causal, window=window,
        )  # fmt: skip
        cut = None if mask is None else mask[..., start:stop, keys] if mask.shape[-2] == L else mask[..., keys]
        parts.append(_blocks(*rows, cut, seen, scale) if start < stop else rows[0].new_empty(0))
    return torch.cat([part for part in parts if part.numel()], dim=-2).reshape(*leading, L, -1)[..., :width]


def _blocks(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, seen: Tensor, scale: float | None
) -> Tensor:
    """Every block of rows over its own keys, in one call; ``seen`` ``(block, size)`` is the same for all of them."""
    (B, H), (block, size) = query.shape[:2], seen.shape
    count = query.shape[-2] // block
    rows = query.unflatten(-2, (count, block))  # (B, H, count, block, d_k)
    if mask is None:  # a sequence of blocks beside another, as heads stand beside each other
        rows = rows.reshape(B * H, count, block, -1)
        key, value = (tensor.reshape(B * H, *tensor.shape[2:]).unfold(1, size, block).mT for tensor in (key, value))
        output = fused_attention(rows, key, value, seen, causal=False, scale=scale)  # (B * H, count, block, d_v)
        return output.reshape(B, H, count * block, -1)
    key, value = (tensor.unfold(2, size, block).mT for tensor in (key, value))  # (B, H, count, size, width)
    rows, key, value = (tensor.transpose(1, 2).flatten(0, 1) for tensor in (rows, key, value))  # (B * count, H, ...)
    cut = _mask_blocks(mask, count, block, size).expand(B, -1, -1, -1, -1).transpose(1, 2).flatten(0, 1)
    output = fused_attention(rows, key, value, restrict(cut, seen), causal=False, scale=scale)
    return output.unflatten(0, (B, count)).transpose(1, 2).flatten(2, 3)


def _mask_blocks(mask: Tensor, count: int, block: int, size: int) -> Tensor:
    """``(B, H, rows, S)`` as ``(B, H, count, block, size)``: the blocks along the diagonal, without copying."""
    if mask.shape[-2] == 1:
        return mask.unfold(-1, size, block).transpose(-3, -2)  # (B, H, count, 1, size)
    tiles = mask.unflatten(-2, (count, block)).unfold(-1, size, block)  # (B, H, count, block, count, size)
    return tiles.diagonal(dim1=-4, dim2=-2).movedim(-1, -3)


def _equally_wide(query: Tensor, key: Tensor, value: Tensor) -> list[Tensor]:
    """Zeros behind the narrower: they change no score, and the kernel that makes no table asks for d_k = d_v.

    Its substitute cannot be compiled for keys that overlap.
    """
    width = max(query.shape[-1], value.shape[-1])
    return [pad(each, (0, width - each.shape[-1])) if each.shape[-1] < width else each for each in (query, key, value)]


def _four_axes(tensor: Tensor, leading: tuple[int, ...]) -> Tensor:
    tensor = tensor.expand(*leading, *tensor.shape[-2:])
    return tensor.reshape(math.prod(leading[:-1]), leading[-1] if leading else 1, *tensor.shape[-2:])


def _four_axes_of_mask(mask: Tensor, leading: tuple[int, ...], S: int) -> Tensor:
    """``(B or 1, H or 1, L or 1, S)``."""
    mask = torch.atleast_2d(mask)
    mask = mask.expand(*mask.shape[:-1], S)
    if mask.ndim == 2 or math.prod(mask.shape[:-3]) == 1:
        return mask.reshape(1, -1 if mask.ndim > 2 else 1, *mask.shape[-2:])
    return mask.expand(*leading[:-1], *mask.shape[-3:]).flatten(0, -4)
