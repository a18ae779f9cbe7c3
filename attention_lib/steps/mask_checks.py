"""What a mask, or the lengths that make one, must be before it is used. Each refusal names shape, dtype and way out."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from attention_lib.errors import MaskError

__all__ = ["check_lengths", "check_mask"]


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


def check_lengths(lengths: Tensor | Sequence[int], longest: int | None, *, name: str = "lengths") -> Tensor:
    """Lengths as a tensor, checked.

    Args:
        lengths: B whole numbers.
        longest: The padded length, which none may exceed; None allows any.
        name: The caller's name for them.

    Returns:
        ``(B,)``, on the device of ``lengths``.

    Raises:
        MaskError: Not a row of whole numbers, or one below 0 or above ``longest``.
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
        raise MaskError(
            f"{name} run from {least} to {most}, but the padded length is {padded}; use 0 <= length <= {padded}"
        )
    return whole
