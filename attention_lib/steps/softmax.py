"""Step 3: scores become weights, and each row of weights sums to 1."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from attention_lib.axes import check_tensor
from attention_lib.errors import ShapeError
from attention_lib.shapes import Bool, Float
from attention_lib.steps.mask_checks import check_mask
from attention_lib.steps.precision import widen

__all__ = ["mask_scores", "masked_softmax", "softmax_or_zero"]


def masked_softmax(
    scores: Float[Tensor, "... L S"], mask: Bool[Tensor, "..."] | Float[Tensor, "..."] | None = None
) -> Float[Tensor, "... L S"]:
    """Softmax over the keys, with masked keys at exactly 0.

    ``weights[i, j] = exp(scores[i, j]) / sum over allowed m of exp(scores[i, m])`` where j is allowed, else 0.

    Args:
        scores: ``(..., L, S)``.
        mask: Boolean, True = may attend, or float, added to the scores; broadcasts to ``(..., L, S)``.

    Returns:
        ``(..., L, S)`` in the dtype of ``scores``, computed in at least float32. Each row sums to 1, or is all
        0 when no key is allowed. Gradients are finite either way.

    Raises:
        MaskError: The mask is of integers, does not broadcast, or has an ambiguous rank.
        ShapeError: ``scores`` is not a floating point tensor with a query and a key axis.

    Example:
        >>> scores = torch.tensor([[0.0, math.log(3.0), 9.0]])
        >>> masked_softmax(scores, torch.tensor([True, True, False]))
        tensor([[0.2500, 0.7500, 0.0000]])

    Source:
        Vaswani et al. (2017), Attention Is All You Need, sections 3.2.1 and 3.2.3.
    """
    check_tensor("scores", scores)
    if scores.ndim < 2 or not scores.is_floating_point():
        raise ShapeError(
            f"scores has shape {tuple(scores.shape)} and dtype {scores.dtype}; "
            "it must be floating point with at least two axes, (L, S)"
        )
    check_mask(mask, scores.shape, scores.device)
    return softmax_or_zero(mask_scores(widen(scores), mask)).to(scores.dtype)


def mask_scores(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Boolean: blocked scores become -inf. Float: added, in the dtype of the scores."""
    if mask is None:
        return scores
    if mask.dtype == torch.bool:
        return scores.masked_fill(~mask, -math.inf)
    return scores + mask.to(scores.dtype)


def softmax_or_zero(scores: Tensor) -> Tensor:
    """Softmax over the last axis; a row of only -inf becomes zeros where plain softmax gives NaN.

    Such a row is made harmless *before* the softmax: repaired afterwards, the NaN would stay in the gradient.
    """
    empty = (scores == -math.inf).all(dim=-1, keepdim=True)  # (..., L, 1)
    return torch.softmax(scores.masked_fill(empty, 0.0), dim=-1).masked_fill(empty, 0.0)
