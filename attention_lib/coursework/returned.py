"""Tells an answer of the wrong form, which the check stumbles over, from a function that raises by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

__all__ = ["described", "odd_result"]

_NAMED = 3


def odd_result(ask: Callable[[Callable[..., Any]], Any], candidate: Callable[..., Any]) -> str:
    """What the candidate last returned, in words, where it returned something and yet asking it raised.

    Args:
        ask: Asks a function everything.
        candidate: The function.

    Returns:
        Empty where the candidate raised by itself, or nothing raised.
    """
    came: list[Any] = []

    def heard(*arguments: Any, **options: Any) -> Any:
        came.clear()
        came.append(candidate(*arguments, **options))
        return came[0]

    try:
        ask(heard)
    except (Exception, SystemExit):  # a learner's code may raise anything
        return described(came[0]) if came else ""
    return ""


def described(value: Any) -> str:
    """A value in a few words.

    Example:
        >>> described((3, None))
        'a tuple of 2: 3 of type int; None'
    """
    if value is None:
        return "None"
    if isinstance(value, Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    if isinstance(value, (tuple, list)):
        inside = "; ".join(map(described, value[:_NAMED])) + "; ..." * (len(value) > _NAMED)
        return f"a {type(value).__name__} of {len(value)}" + (f": {inside}" if value else "")
    told = f"{str(value)[:40]} of type " if isinstance(value, (int, float, str)) else "something of type "
    return told + type(value).__name__
