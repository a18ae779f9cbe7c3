"""Who may look at whom. Boolean masks, True = may attend, in everything the library builds and takes.

A float mask is an additive bias. Any other convention is translated by a named converter (``conventions``).
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from attention_lib.axes import check_window, is_whole
from attention_lib.errors import MaskError, OptionError
from attention_lib.shapes import Bool, Int

__all__ = [
    "allowed_by_position",
    "as_bias",
    "causal_mask",
    "check_lengths",
    "check_mask",
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
        OptionError: L or S is not a whole number, 0 or more.

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

    Example:
        >>> padding_mask([1, 3]).int().flatten(1)
        tensor([[1, 0, 0],
                [1, 1, 1]], dtype=torch.int32)
    """
    lengths = check_lengths(lengths, S)
    S = int(lengths.max()) if S is None and lengths.numel() else S or 0
    allowed = torch.arange(S, device=lengths.device) < lengths[:, None]  # (B, S)
    return allowed[:, None, None, :]


def check_lengths(lengths: Tensor | Sequence[int], longest: int | None, *, name: str = "lengths") -> Tensor:
    """Lengths as a tensor, checked: whole numbers, none below 0 or above ``longest``.

    Raises:
        MaskError: Anything else.
    """
    try:
        whole = torch.as_tensor(lengths)
    except (TypeError, ValueError, RuntimeError) as error:
        raise MaskError(f"{name}={lengths!r} is not a row of whole numbers, one for each sequence") from error
    if whole.ndim != 1 or (whole.numel() and (whole.is_floating_point() or whole.dtype == torch.bool)):
        raise MaskError(
            f"{name} has shape {tuple(whole.shape)} and dtype {whole.dtype}; it takes B whole numbers "
            "(for a (B, S) mask of 0 and 1 use masks.from_attention_mask_01)"
        )
    least, most = (int(whole.min()), int(whole.max())) if whole.numel() else (0, 0)
    padded = most if longest is None else longest
    if least < 0 or most > padded:
        raise MaskError(f"{name} run from {least} to {most}, but the padded length S is {padded}; use 0 <= length <= S")
    return whole


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
        if mask.dtype != torch.bool:
            raise MaskError(
                f"combine_masks takes boolean masks, one has dtype {mask.dtype}; "
                "additive masks are combined by adding them: masks.to_additive(mask) + bias"
            )
        combined = mask if combined is None else _both(combined, mask)
    return combined


def check_mask(mask: Tensor | None, scores_shape: Sequence[int], device: torch.device | None = None) -> None:
    """Check that a mask says, without doubt, which query may attend to which key.

    Args:
        mask: None, boolean (True = may attend) or float (added to the scores).
        scores_shape: ``(..., L, S)``, what the mask must broadcast to.
        device: Where the scores are; None is anywhere.

    Raises:
        MaskError: No tensor, integer or complex dtype, another device, more axes than the scores, a rank that could
            mean two things, or a shape that does not broadcast.
    """
    if mask is None:
        return
    if not isinstance(mask, Tensor):
        raise MaskError(f"mask is a {type(mask).__name__}, not a torch.Tensor; use torch.as_tensor(mask)")
    shape, wanted = tuple(mask.shape), tuple(scores_shape)
    if mask.dtype != torch.bool and not mask.is_floating_point():
        raise MaskError(
            f"mask of shape {shape} for scores {wanted} has dtype {mask.dtype}; use a boolean mask, True = may attend: "
            "mask.bool() for 1 = may attend, or masks.from_attention_mask_01(mask) for a (B, S) mask of 0 and 1"
        )
    if device is not None and mask.device != device:
        raise MaskError(f"mask is on {mask.device} but the scores are on {device}; move it: mask.to({str(device)!r})")
    if len(shape) > len(wanted):
        heads = len(shape) == 4 and shape[1] == 1
        way_out = "drop its axis of heads: mask[:, 0]" if heads else "drop the leading ones"
        raise MaskError(f"mask of shape {shape} has more axes than the scores {wanted}; {way_out}")
    if 2 < len(shape) < len(wanted):
        raise MaskError(
            f"mask of shape {shape} is ambiguous for scores {wanted}: its first axis could be batch or heads; "
            "write mask[:, None] for (B, 1, L, S), or mask[None] for (1, H, L, S)"
        )
    trailing = wanted[len(wanted) - len(shape) :]
    if any(size not in (1, other) for size, other in zip(shape, trailing, strict=True)):
        raise MaskError(_does_not_broadcast(shape, wanted))


def _does_not_broadcast(shape: tuple[int, ...], wanted: tuple[int, ...]) -> str:
    text = f"mask of shape {shape} does not broadcast to the scores (..., L, S) = {wanted}"
    if len(shape) == 2 and len(wanted) > 2 and shape == (wanted[0], wanted[-1]):
        between = ", ".join(["None"] * (len(wanted) - 2))
        return f"{text}; a (B, S) padding mask needs the axes between batch and keys: mask[:, {between}, :]"
    if shape and shape[-1] not in (1, wanted[-1]):
        return f"{text}: it covers {shape[-1]} keys, there are {wanted[-1]}"
    return f"{text}; allowed are (L, S), or the rank of the scores with 1 where it is shared"


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
    return torch.arange(S - L, S, device=device)


def _lengths(L: int, S: int | None) -> tuple[int, int]:
    S = L if S is None else S
    for name, size in (("L", L), ("S", S)):
        if not is_whole(size) or size < 0:
            raise OptionError(f"{name}={size!r} must be a whole number, 0 or more")
    return int(L), int(S)
