"""What every figure checks before it draws: words, finite numbers, shapes, sizes."""

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attention_lib.axes import is_whole
from attention_lib.errors import AttentionError, OptionError, ShapeError


def words(tokens: Any, argument: str, *, least: int = 1, most: int = 128) -> list[str]:
    """A list of texts of a length that can be shown.

    Args:
        tokens: a sequence of texts, of any script.
        argument: the caller's name for it.
        least: smallest number allowed.
        most: greatest number allowed.

    Returns:
        The list.

    Raises:
        OptionError: one text instead of several, something that is no text, or too few or too many.

    Example:
        >>> words("animal", "tokens")
        Traceback (most recent call last):
        attention_lib.errors.OptionError: tokens='animal' is one text; give a list of tokens: tokens=['animal', ...]
    """
    if isinstance(tokens, str):
        raise OptionError(
            f"{argument}={tokens[:20]!r} is one text; give a list of tokens: {argument}=['{tokens[:20]}', ...]"
        )
    if not isinstance(tokens, Sequence) or not all(isinstance(token, str) for token in tokens):
        raise OptionError(
            f"{argument} must be a list of texts, got {type(tokens).__name__}; write [str(t) for t in ...]"
        )
    if not least <= len(tokens) <= most:
        out = f"pass a slice: {argument}[:{most}]" if len(tokens) > most else "give more"
        raise OptionError(f"{argument} has length {len(tokens)}, but this figure shows {least} to {most}; {out}")
    return list(tokens)


def whole(number: Any, argument: str, least: int, most: int) -> int:
    """The whole number, if it lies in a range.

    Raises:
        OptionError: it is none, or outside.

    Example:
        >>> whole(3, "row", 0, 2)
        Traceback (most recent call last):
        attention_lib.errors.OptionError: row=3 must be a whole number from 0 to 2
    """
    if not is_whole(number) or not least <= number <= most:
        raise OptionError(f"{argument}={number!r} must be a whole number from {least} to {most}")
    return int(number)


def numbers(tensor: Any, argument: str) -> Tensor:
    """The tensor on the CPU, detached, in its own dtype.

    Raises:
        ShapeError: it is neither a tensor nor nested lists of numbers, all of one length.

    Example:
        >>> numbers("abc", "key")
        Traceback (most recent call last):
        attention_lib.errors.ShapeError: key must be a tensor or nested lists of numbers, got str
    """
    try:
        return torch.as_tensor(tensor).detach().cpu()
    except (TypeError, ValueError, RuntimeError):
        raise ShapeError(
            f"{argument} must be a tensor or nested lists of numbers, got {type(tensor).__name__}"
        ) from None


def finite(tensor: Any, argument: str, shape: tuple[int | None, ...]) -> Tensor:
    """The tensor on the CPU, float32, if it has this shape and only finite numbers.

    Args:
        tensor: a tensor on any device, or nested lists of numbers.
        argument: the caller's name for it.
        shape: sizes; None is any size, 1 or more.

    Returns:
        A detached float32 tensor.

    Raises:
        ShapeError: no numbers at all, another number of axes, or another size.
        AttentionError: NaN or infinity, with its first place.

    Example:
        >>> finite([[1.0, float("nan")]], "key", (None, 2))
        Traceback (most recent call last):
        attention_lib.errors.AttentionError: key holds nan at index (0, 1); a figure needs finite numbers
    """
    found = numbers(tensor, argument).to(torch.float32)
    sizes = zip(shape, found.shape, strict=False)
    if found.ndim != len(shape) or any(want not in (None, size) or not size for want, size in sizes):
        wanted = ", ".join("any" if size is None else str(size) for size in shape)
        raise ShapeError(f"{argument} has shape {tuple(found.shape)}, but this figure needs ({wanted})")
    bad = (~torch.isfinite(found)).nonzero()
    if len(bad):
        index = tuple(bad[0].tolist())
        raise AttentionError(f"{argument} holds {found[index].item()} at index {index}; a figure needs finite numbers")
    return found


def pack(tensor: Tensor) -> str:
    """Numbers as base64 of little-endian float32, which the page reads back without a loss.

    Example:
        >>> pack(torch.tensor([1.0]))
        'AACAPw=='
    """
    return base64.b64encode(tensor.contiguous().numpy().astype(np.dtype("<f4")).tobytes()).decode()


def texts(question: str | None, observe: str | None) -> dict[str, str]:
    """The question above a figure and the observation below it, as the element reads them.

    Example:
        >>> texts("Which word?", None)
        {'question': 'Which word?'}
    """
    return {key: value for key, value in (("question", question), ("observe", observe)) if value}
