"""Named converters between mask conventions. The name says where a mask comes from, so polarity is never guessed.

Ours: boolean, True = may attend, ``(L, S)`` or with the rank of the scores. The others:
``scaled_dot_product_attention`` agrees with ours; ``nn.MultiheadAttention`` has True = blocked; Hugging Face
tokenisers give ``(B, S)`` integers, 1 = keep; additive masks hold 0 and -inf (or a large negative number).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from attention_lib.errors import MaskError
from attention_lib.shapes import Bool, Float, Num

__all__ = [
    "from_additive",
    "from_attention_mask_01",
    "from_key_padding_mask",
    "to_additive",
    "to_torch_mha",
]

# Additive masks in the wild block with -inf, finfo.min, -1e9 or -1e4 (the first BERT code); no score is that low.
_BLOCKED_BELOW = -1e4


def from_key_padding_mask(mask: Bool[Tensor, "B S"]) -> Bool[Tensor, "B 1 1 S"]:
    """From torch's ``key_padding_mask``, where True marks padding.

    ``result[b, 0, 0, j] = not mask[b, j]``

    Args:
        mask: ``(B, S)`` boolean, True = blocked.

    Returns:
        ``(B, 1, 1, S)`` boolean, True = may attend.

    Raises:
        MaskError: Not boolean, or not two axes.

    Example:
        >>> from_key_padding_mask(torch.tensor([[False, False, True]])).int()
        tensor([[[[1, 1, 0]]]], dtype=torch.int32)
    """
    if mask.dtype != torch.bool:
        raise MaskError(
            f"key_padding_mask has dtype {mask.dtype}, torch's is boolean with True = padding; "
            "for 1 = keep use masks.from_attention_mask_01, for 0 and -inf masks.from_additive"
        )
    if mask.ndim != 2:
        raise MaskError(f"key_padding_mask has shape {tuple(mask.shape)}; it has two axes, (B, S)")
    return ~mask[:, None, None, :]


def from_attention_mask_01(
    mask: Num[Tensor, "B S"] | Num[Tensor, "B L S"] | Bool[Tensor, "B S"] | Bool[Tensor, "B L S"],
) -> Bool[Tensor, "B 1 _ S"]:
    """From Hugging Face's ``attention_mask``, where 1 keeps a token and 0 drops it.

    Args:
        mask: ``(B, S)`` or ``(B, L, S)``, integer, float or boolean, holding only 0 and 1.

    Returns:
        ``(B, 1, 1, S)`` or ``(B, 1, L, S)`` boolean, True = may attend.

    Raises:
        MaskError: Any other number, or neither two nor three axes.

    Example:
        >>> from_attention_mask_01(torch.tensor([[1, 1, 0]])).int()
        tensor([[[[1, 1, 0]]]], dtype=torch.int32)

    Source:
        Hugging Face glossary, "attention mask".
    """
    if mask.ndim not in (2, 3):
        raise MaskError(f"attention_mask has shape {tuple(mask.shape)}; it has two axes, (B, S), or three, (B, L, S)")
    kept = mask == 1
    if not bool((kept | (mask == 0)).all()):
        other = mask[~(kept | (mask == 0))].flatten()[0].item()
        raise MaskError(
            f"attention_mask holds {other:g}, it must hold only 0 (drop) and 1 (keep); "
            "for 0 and -inf use masks.from_additive"
        )
    return kept[:, None, None, :] if mask.ndim == 2 else kept[:, None]


def from_additive(mask: Float[Tensor, "*axes"]) -> Bool[Tensor, "*axes"]:
    """From a mask that is added to the scores: 0 allows, -inf or a large negative number blocks.

    Args:
        mask: Float, of any shape; blocked means -1e4 or lower.

    Returns:
        Boolean of the same shape, True = may attend.

    Raises:
        MaskError: Not float, or an entry that is neither (a real bias cannot become a boolean: pass it as the
            float mask it is).

    Example:
        >>> from_additive(torch.tensor([[0.0, -torch.inf], [0.0, 0.0]])).int()
        tensor([[1, 0],
                [1, 1]], dtype=torch.int32)
    """
    if not mask.is_floating_point():
        raise MaskError(f"additive mask has dtype {mask.dtype}, it must be float; a boolean mask needs no conversion")
    allowed, blocked = mask == 0, mask <= _BLOCKED_BELOW
    if not bool((allowed | blocked).all()):
        other = mask[~(allowed | blocked)].flatten()[0].item()
        raise MaskError(
            f"additive mask holds {other:g}, which is neither 0 nor {_BLOCKED_BELOW:g} or lower; "
            "a bias keeps its values only as a float mask: attention(..., mask=bias)"
        )
    return allowed


def to_additive(mask: Bool[Tensor, "*axes"], dtype: torch.dtype = torch.float32) -> Float[Tensor, "*axes"]:
    """To a mask that is added to the scores: 0 where a query may attend, -inf elsewhere.

    Args:
        mask: Boolean, True = may attend.
        dtype: Floating dtype of the result; use the query's.

    Returns:
        Float of the same shape.

    Raises:
        MaskError: The mask is not boolean.

    Example:
        >>> to_additive(torch.tensor([True, False]))
        tensor([0., -inf])
    """
    _check_boolean(mask, "to_additive")
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(~mask, -math.inf)


def to_torch_mha(mask: Bool[Tensor, "..."] | None, num_heads: int | None = None) -> dict[str, Tensor]:
    """To the mask arguments of ``nn.MultiheadAttention``, where True = blocked.

    Args:
        mask: ``(L, S)``, ``(B, 1, 1, S)``, ``(B, 1, L, S)`` or ``(B, H, L, S)``, True = may attend; or None.
        num_heads: H; needed for the two shapes with a batch axis *and* a query axis.

    Returns:
        Keyword arguments: ``mha(q, k, v, **masks.to_torch_mha(mask, num_heads))``. A padding mask becomes
        ``key_padding_mask`` ``(B, S)``, the others ``attn_mask``: ``(L, S)`` or ``(B * H, L, S)``, batch-major.

    Raises:
        MaskError: Not boolean, another rank, or ``num_heads`` is missing or contradicts the mask.

    Example:
        >>> to_torch_mha(torch.tensor([[True, False]]))["attn_mask"]
        tensor([[False,  True]])

    Source:
        torch.nn.MultiheadAttention, ``attn_mask`` and ``key_padding_mask``.
    """
    if mask is None:
        return {}
    _check_boolean(mask, "to_torch_mha")
    if mask.ndim == 2:
        return {"attn_mask": ~mask}
    if mask.ndim != 4:
        raise MaskError(
            f"mask has shape {tuple(mask.shape)}; to_torch_mha takes (L, S), (B, 1, 1, S), (B, 1, L, S) or (B, H, L, S)"
        )
    if mask.shape[1:3] == (1, 1):
        return {"key_padding_mask": ~mask[:, 0, 0]}
    if num_heads is None or mask.shape[1] not in (1, num_heads):
        raise MaskError(
            f"mask of shape {tuple(mask.shape)} has {mask.shape[1]} on the head axis and num_heads={num_heads}; "
            "pass the module's num_heads: torch wants one (L, S) mask for each batch entry and head"
        )
    return {"attn_mask": (~mask).expand(-1, num_heads, -1, -1).flatten(0, 1)}


def _check_boolean(mask: Tensor, name: str) -> None:
    if mask.dtype != torch.bool:
        raise MaskError(
            f"{name} takes a boolean mask, this one has dtype {mask.dtype}; "
            "convert with masks.from_additive or masks.from_attention_mask_01"
        )
