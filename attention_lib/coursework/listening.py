"""Listens to a student's function while ``check`` calls it: what it returns, and what it does to its inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from attention_lib.coursework.withheld import withheld

__all__ = ["Listener", "described"]

_NAMED = 3  # values of a tuple that a description goes into


class Listener:
    """A student's function, with an ear on each call.

    Args:
        function: The function.
        places: What it may not call in torch.

    Attributes:
        fault: The first fault in a call that makes its values useless: code and sentence; None without.
        dtype: The first result of another dtype than its inputs', as a sentence; "" without.
        shapes: Shapes of the last call's tensors.
        calls: How many there were.
        returned: What the last call returned, in a list; empty where it raised.
    """

    def __init__(self, function: Callable[..., Any], places: Sequence[str]) -> None:
        self._function, self._places = function, places
        self.fault: tuple[str, str] | None = None
        self.dtype = self.shapes = ""
        self.calls = 0
        self.returned: list[Any] = []

    def __call__(self, *given: Any, **options: Any) -> Any:
        self.calls += 1
        self.returned = []
        tensors = [one for one in given if isinstance(one, Tensor)]
        self.shapes = ", ".join(str(tuple(one.shape)) for one in tensors)
        before = [one.clone() if isinstance(one, Tensor) else None for one in given]
        with withheld(self._places):
            result = self._function(*given, **options)
        self.returned = [result]
        self.fault = self.fault or _returned(result) or _changed(given, before)
        self.dtype = self.dtype or _dtype(result, tensors)
        return result


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


def _values(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def _returned(result: Any) -> tuple[str, str] | None:
    if result is None:
        return "returns-nothing", "It returns nothing (None): is a `return` missing?"
    values = _values(result)
    for place, value in enumerate(values, start=1):
        if not isinstance(value, Tensor):
            what = "It returns" if len(values) == 1 else f"Value {place} is"
            return "wrong-type", f"{what} a {type(value).__name__}, not a tensor."
    return None


def _changed(given: Sequence[Any], before: Sequence[Tensor | None]) -> tuple[str, str] | None:
    for place, (now, then) in enumerate(zip(given, before, strict=True), start=1):
        if then is not None and not torch.equal(now.detach(), then.detach()):
            return "mutates-input", (
                f"It changes its argument {place} in place, and whoever called it loses the old values: "
                "write `x = x / 2`, not `x /= 2`, or work on `x.clone()`."
            )
    return None


def _dtype(result: Any, tensors: Sequence[Tensor]) -> str:
    wanted = next((one.dtype for one in tensors if one.is_floating_point()), torch.float32)
    for value in _values(result):
        if isinstance(value, Tensor) and value.is_floating_point() and value.dtype != wanted:
            return f"The numbers are right, but the result is {str(value.dtype)[6:]}; it should be {str(wanted)[6:]}."
    return ""
