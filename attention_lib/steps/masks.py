"""Who may look at whom. Boolean masks, True = may attend, in everything the library builds and takes.

A float mask is an additive bias. Any other convention is translated by a named converter (``conventions``).
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from attention_lib.arguments import check_device
from attention_lib.axes import check_window, is_whole
from attention_lib.errors import MaskError, OptionError
from attention_lib.shapes import Bool, Int
from attention_lib.steps.mask_checks import check_lengths

__all__ = [
    "allowed_by_position",
    "as_bias",
    "causal_mask",
    "combine_masks",
    "padding_mask",
    "reach_of",
    "restrict",
    "window_mask",
]

_ALL = 2**40  # more keys than any tensor has


def causal_mask(L: int, S: int | None = None, *, device: torch.device | str | None = None) -> Bool[Tensor, "L S"]:
    """Each query sees its own position and those before it.

    ``mask[i, j] = j <= S - L + i``: the L queries are the *last* L of the S positions (bottom-right
    alignment), which is what decoding with a cache needs.

    Args:
        L: Number of queries.
        S: Number of keys; None is L.
        device: Where to build it.

    Returns:
        ``(L, S)`` boolean, True = may attend.

    Raises:
        OptionError: L or S is not a whole number, 0 or more, or this machine lacks ``device``.

    Example:
        >>> causal_mask(2, 3).int()
        tensor([[1, 1, 0],
                [1, 1, 1]], dtype=torch.int32)

    Source:
        Vaswani et al. (2017), Attention Is All You Need, section 3.2.3.
    """
    L, S = _lengths(L, S)
    return allowed_by_position(_last_positions(L, S, device), S, causal=True, window=None)


def window_mask(
    L: int,
    S: int | None = None,
    *,
    window: int,
    causal: bool = True,
    device: torch.device | str | None = None,
) -> Bool[Tensor, "L S"]:
    """Each query sees exactly ``window`` keys, itself included (fewer only at the ends of the sequence).

    With ``p = S - L + i`` the position of query i: causal, ``mask[i, j] = p - window < j <= p``; otherwise
    ``window // 2`` keys before p and ``(window - 1) // 2`` after it.

    Args:
        L: Number of queries, the last L of the S positions.
        S: Number of keys; None is L.
        window: Number of keys, 1 or more.
        causal: Whether the window lies behind the query or around it.
        device: Where to build it.

    Returns:
        ``(L, S)`` boolean, True = may attend.

    Raises:
        OptionError: ``window``, L or S is out of range.

    Example:
        >>> window_mask(3, window=2).int()
        tensor([[1, 0, 0],
                [1, 1, 0],
                [0, 1, 1]], dtype=torch.int32)

    Source:
        Beltagy et al. (2020), Longformer, section 3.1.
    """
    L, S = _lengths(L, S)
    return allowed_by_position(_last_positions(L, S, device), S, causal=causal, window=check_window(window))


def allowed_by_position(positions: Tensor, S: int, *, causal: bool, window: int | None) -> Tensor:
    """The rows of a causal or window mask for queries at the given positions: ``(len(positions), S)``."""
    behind = positions[:, None] - torch.arange(S, device=positions.device)  # (L, S): how far the key lies behind
    before, after = reach_of(causal=causal, window=window)
    allowed = behind <= before
    return allowed & (behind >= -after)


def reach_of(*, causal: bool, window: int | None) -> tuple[int, int]:
    """How many keys a query may see before its own position, and how many after it."""
    if window is None:
        return _ALL, 0 if causal else _ALL
    return (window - 1, 0) if causal else (window // 2, (window - 1) // 2)


def restrict(mask: Tensor | None, allowed: Tensor) -> Tensor:
    """Fold what positions allow, ``(L, S)``, into the caller's mask."""
    if mask is None:
        return allowed
    return mask & allowed if mask.dtype == torch.bool else mask.masked_fill(~allowed, -torch.inf)


def as_bias(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """A mask as what is added to the scores: 0 and -inf, or the float mask itself."""
    if mask.dtype != torch.bool:
        return mask.to(dtype)
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(~mask, -torch.inf)


def padding_mask(lengths: Int[Tensor, "B"] | Sequence[int], S: int | None = None) -> Bool[Tensor, "B 1 1 S"]:
    """Every query may look at the first ``lengths[b]`` keys of its sequence; the rest is padding.

    ``mask[b, 0, 0, j] = j < lengths[b]``

    Args:
        lengths: B whole numbers, tensor or sequence.
        S: Padded length; None is the longest of ``lengths``.

    Returns:
        ``(B, 1, 1, S)`` boolean, True = may attend, on the device of ``lengths``.

    Raises:
        MaskError: ``lengths`` is not a row of whole numbers between 0 and S.
        OptionError: S is not a whole number, 0 or more.

    Example:
        >>> padding_mask([1, 3]).int().flatten(1)
        tensor([[1, 0, 0],
                [1, 1, 1]], dtype=torch.int32)
    """
    if S is not None:
        S = _whole("S", S)
    lengths = check_lengths(lengths, S)
    if S is None:
        S = int(lengths.max()) if lengths.numel() else 0
    allowed = torch.arange(S, device=lengths.device) < lengths[:, None]  # (B, S)
    return allowed[:, None, None, :]


def combine_masks(*masks: Tensor | None) -> Tensor | None:
    """A key may be attended to when every mask allows it.

    Args:
        masks: Boolean masks that broadcast against each other; None stands for "everything allowed".

    Returns:
        Their logical and, or None when all are None.

    Raises:
        MaskError: A mask is not boolean, or two shapes do not broadcast.

    Example:
        >>> combine_masks(causal_mask(2), None, padding_mask([1, 2])).int()[0, 0]
        tensor([[1, 0],
                [1, 0]], dtype=torch.int32)
    """
    combined = None
    for mask in masks:
        if mask is None:
            continue
        if not isinstance(mask, Tensor):
            raise MaskError(f"mask is a {type(mask).__name__}, not a torch.Tensor; use torch.as_tensor(mask)")
        if mask.dtype != torch.bool:
            raise MaskError(
                f"combine_masks takes boolean masks, one has dtype {mask.dtype}; "
                "additive masks are combined by adding them: masks.to_additive(mask) + bias"
            )
        combined = mask if combined is None else _both(combined, mask)
    return combined


def _both(mask: Tensor, other: Tensor) -> Tensor:
    if mask.device != other.device:
        raise MaskError(f"masks are on {mask.device} and {other.device}; move one: mask.to({str(mask.device)!r})")
    try:
        return mask & other
    except RuntimeError as error:
        raise MaskError(
            f"masks of shapes {tuple(mask.shape)} and {tuple(other.shape)} do not broadcast; "
            "every axis must be equal or 1"
        ) from error


def _last_positions(L: int, S: int, device: torch.device | str | None) -> Tensor:
    check_device(device)
    return torch.arange(S - L, S, device=device)


def _lengths(L: int, S: int | None) -> tuple[int, int]:
    L = _whole("L", L)
    return L, L if S is None else _whole("S", S)


def _whole(name: str, size: int) -> int:
    if not is_whole(size) or size < 0:
        raise OptionError(f"{name}={size!r} must be a whole number, 0 or more")
    return int(size)
