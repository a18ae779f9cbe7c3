"""Plain arrays out of whatever the caller holds, checked where they come in."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def to_numpy(values: Any) -> np.ndarray:
    """Float64 numpy array from a number, list, numpy array or tensor on any device, with or without gradient.

    Args:
        values: numbers of any shape. Tensors are known by their `detach` method, so torch is not imported.

    Returns:
        An array of the same shape, float64.

    Example:
        >>> to_numpy([1, 2]).tolist()
        [1.0, 2.0]
    """
    if hasattr(values, "detach"):
        return np.array(values.detach().cpu().double().numpy())
    if isinstance(values, list | tuple) and any(hasattr(v, "detach") for v in values):
        return np.array([to_numpy(v) for v in values])
    return np.array(values, dtype=np.float64)


def checked(values: Any, argument: str, *, ndim: int | tuple[int, ...], infinite: bool = False) -> np.ndarray:
    """`to_numpy`, refusing what cannot be drawn.

    Args:
        values: numbers of any shape.
        argument: the caller's name for them, for the message.
        ndim: the number of axes allowed, or several.
        infinite: whether minus infinity (a blocked score) may pass.

    Returns:
        The array.

    Raises:
        ValueError: wrong number of axes, an empty array, NaN, or an infinity that is not allowed.

    Example:
        >>> checked([1.0, float("nan")], "values", ndim=1)
        Traceback (most recent call last):
        ValueError: values holds NaN at index (1,); drop or replace it before drawing
    """
    array = to_numpy(values)
    allowed = (ndim,) if isinstance(ndim, int) else ndim
    if array.ndim not in allowed:
        wanted = " or ".join(str(n) for n in allowed)
        raise ValueError(f"{argument} needs {wanted} axes, not {array.ndim}; its shape is {array.shape}")
    if array.size == 0:
        raise ValueError(f"{argument} is empty; its shape is {array.shape}")
    _refuse(np.asarray(np.isnan(array)), argument, "NaN")
    _refuse(np.asarray(np.isposinf(array)), argument, "+inf")
    if not infinite:
        _refuse(np.asarray(np.isneginf(array)), argument, "-inf")
    return array


def _refuse(bad: np.ndarray, argument: str, what: str) -> None:
    if bad.any():
        index = tuple(int(i) for i in np.argwhere(bad)[0])
        raise ValueError(f"{argument} holds {what} at index {index}; drop or replace it before drawing")


def same_length(first: Sequence | np.ndarray, second: Sequence | np.ndarray, names: tuple[str, str]) -> None:
    """Raise ValueError naming both arguments and both lengths when they differ.

    Example:
        >>> same_length([1, 2], ["a"], ("values", "labels"))
        Traceback (most recent call last):
        ValueError: values has length 2 but labels has length 1
    """
    if len(first) != len(second):
        raise ValueError(f"{names[0]} has length {len(first)} but {names[1]} has length {len(second)}")


def named(values: Any, argument: str, *, at_most: int | None = None) -> dict[str, Any]:
    """The mapping as a dict of str names.

    Raises:
        ValueError: not a mapping, empty, or more entries than can be told apart.

    Example:
        >>> named([1], "series")
        Traceback (most recent call last):
        ValueError: series must map names to numbers, got list; write {"name": ...}
    """
    if not isinstance(values, Mapping):
        kind = type(values).__name__
        raise ValueError(f'{argument} must map names to numbers, got {kind}; write {{"name": ...}}')
    if not values:
        raise ValueError(f"{argument} is empty; give at least one entry")
    if at_most is not None and len(values) > at_most:
        raise ValueError(f"{argument} has {len(values)} entries but at most {at_most} can be told apart; draw two")
    return {str(name): value for name, value in values.items()}
