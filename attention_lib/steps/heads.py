"""One wide tensor to many narrow heads, and back."""

from __future__ import annotations

from torch import Tensor

from attention_lib.axes import check_tensor, is_whole
from attention_lib.errors import OptionError, ShapeError
from attention_lib.shapes import Float

__all__ = ["check_num_heads", "merge_heads", "split_heads"]


def split_heads(x: Float[Tensor, "B L d_model"], num_heads: int) -> Float[Tensor, "B H L d_head"]:
    """Cut the width into ``num_heads`` equal slices and give each head its own.

    ``heads[b, h, i] = x[b, i, h * d_head : (h + 1) * d_head]``, with ``d_head = d_model / num_heads``.

    Args:
        x: ``(B, L, d_model)``.
        num_heads: H, a divisor of d_model.

    Returns:
        ``(B, H, L, d_head)``, a view of ``x``.

    Raises:
        ShapeError: ``x`` does not have three axes.
        OptionError: d_model is not divisible by ``num_heads``.

    Example:
        >>> import torch
        >>> split_heads(torch.arange(8.0).reshape(1, 2, 4), 2)[0, 1]  # the second half of both rows
        tensor([[2., 3.],
                [6., 7.]])

    Source:
        Vaswani et al. (2017), Attention Is All You Need, section 3.2.2.
    """
    check_tensor("x", x)
    if x.ndim != 3:
        raise ShapeError(f"x has shape {tuple(x.shape)}; split_heads takes three axes, (B, L, d_model)")
    check_num_heads(x.shape[-1], num_heads)
    return x.unflatten(-1, (num_heads, x.shape[-1] // num_heads)).transpose(1, 2)  # (B, H, L, d_head)


def merge_heads(x: Float[Tensor, "B H L d_head"]) -> Float[Tensor, "B L d_model"]:
    """Put the heads of each position side by side again: the inverse of ``split_heads``.

    Args:
        x: ``(B, H, L, d_head)``.

    Returns:
        ``(B, L, H * d_head)``.

    Raises:
        ShapeError: ``x`` does not have four axes.

    Example:
        >>> import torch
        >>> x = torch.arange(8.0).reshape(1, 2, 4)
        >>> bool((merge_heads(split_heads(x, 2)) == x).all())
        True

    Source:
        Vaswani et al. (2017), Attention Is All You Need, section 3.2.2.
    """
    check_tensor("x", x)
    if x.ndim != 4:
        raise ShapeError(f"x has shape {tuple(x.shape)}; merge_heads takes four axes, (B, H, L, d_head)")
    return x.transpose(1, 2).flatten(2)  # (B, L, d_model)


def check_num_heads(d_model: int, num_heads: int) -> None:
    """Raise OptionError, naming the nearest widths that work, unless ``num_heads`` divides ``d_model``."""
    for name, number in (("num_heads", num_heads), ("d_model", d_model)):
        if not is_whole(number) or number < 1:
            raise OptionError(f"{name}={number!r} must be a whole number, 1 or more")
    if d_model % num_heads:
        below = d_model - d_model % num_heads
        nearest = f"{below} or {below + num_heads}" if below else f"{num_heads}"
        raise OptionError(f"d_model={d_model} is not divisible by num_heads={num_heads}; choose d_model={nearest}")
