"""Checks that several models share."""

from __future__ import annotations

import torch
from torch import Tensor

from attention_lib.arguments import check_whole
from attention_lib.axes import check_tensor
from attention_lib.errors import OptionError, ShapeError

__all__ = ["check_count", "check_lengths", "check_tokens"]


check_count = check_whole


def check_tokens(name: str, tokens: Tensor, symbols: int) -> None:
    """Check that tokens are ``(B, L)`` whole numbers from 0 to ``symbols - 1``.

    Raises:
        ShapeError: Another dtype or number of axes.
        OptionError: A number that has no embedding.

    Example:
        >>> import torch
        >>> check_tokens("tokens", torch.tensor([[0, 2]]), symbols=3)
    """
    check_tensor(name, tokens)
    if tokens.ndim != 2 or tokens.dtype not in (torch.int64, torch.int32):
        raise ShapeError(
            f"{name} has shape {tuple(tokens.shape)} and dtype {tokens.dtype}; a model reads whole numbers (B, L): "
            f"{name}[None] for one sequence, {name}.long() for another dtype"
        )
    if tokens.numel() and not 0 <= int(tokens.min()) <= int(tokens.max()) < symbols:
        raise OptionError(
            f"{name} holds numbers from {int(tokens.min())} to {int(tokens.max())}, but the model has symbols "
            f"0 ... {symbols - 1}; build it with symbols={max(int(tokens.max()) + 1, 1)} or more"
        )


def check_lengths(lengths: Tensor | None, tokens: Tensor) -> None:
    """Check that there is one length a sequence, 1 to L.

    Raises:
        ShapeError: Another number of lengths.
        OptionError: A length outside 1 ... L.

    Example:
        >>> import torch
        >>> check_lengths(torch.tensor([2, 1]), torch.zeros(2, 3))
    """
    if lengths is None:
        return
    check_tensor("lengths", lengths)
    if tuple(lengths.shape) != (tokens.shape[0],):
        raise ShapeError(
            f"lengths has shape {tuple(lengths.shape)} but the tokens have shape {tuple(tokens.shape)}; "
            f"give one length a sequence, shape ({tokens.shape[0]},)"
        )
    if lengths.numel() and not 1 <= int(lengths.min()) <= int(lengths.max()) <= tokens.shape[1]:
        raise OptionError(
            f"lengths run from {int(lengths.min())} to {int(lengths.max())}; with tokens of shape "
            f"{tuple(tokens.shape)} they lie in 1 ... {tokens.shape[1]}"
        )
