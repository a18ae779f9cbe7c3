"""Named-axis checks, called at the few public entry points.

Every message names the axis as the text does, both values, and both shapes.
"""

from __future__ import annotations

import numbers

from torch import Tensor

from attention_lib.errors import OptionError, ShapeError

__all__ = [
    "check_attention",
    "check_dropout",
    "check_query_key",
    "check_scale",
    "check_seed",
    "check_tensor",
    "check_window",
    "is_real",
    "is_whole",
    "shape_of",
]


def shape_of(tensor: Tensor) -> tuple[int, ...]:
    """The shape as a plain tuple, which is how messages print it: ``(2, 7, 8)``."""
    return tuple(tensor.shape)


def check_attention(query: Tensor, key: Tensor, value: Tensor) -> None:
    """Check that query ``(..., L, d_k)``, key ``(..., S, d_k)`` and value ``(..., S, d_v)`` fit together.

    Raises:
        ShapeError: Names the first axis, dtype or device that does not fit.
    """
    if _alike(query, key, value):  # the most common call needs no more questions
        return
    check_query_key(query, key)
    _check_kind("query", query, "value", value)
    if key.shape[-2] != value.shape[-2]:
        raise _differ("S", "key", key, "value", value, axis=-2)
    _check_leading("query", query, "value", value, grouped=True)
    if key.ndim >= 4 and key.shape[-3] != value.shape[-3]:
        raise _differ("H_kv", "key", key, "value", value, axis=-3)
    _check_leading("key", key, "value", value, grouped=False)


def _alike(query: object, key: object, value: object) -> bool:
    """Whether all three are floating point tensors of one shape, dtype and device, with a width to multiply."""
    if not (isinstance(query, Tensor) and isinstance(key, Tensor) and isinstance(value, Tensor)):
        return False
    same = query.shape == key.shape == value.shape and query.dtype == key.dtype == value.dtype
    fit = query.is_floating_point() and query.ndim >= 2 and query.shape[-1] > 0
    return fit and same and query.device == key.device == value.device


def check_query_key(query: Tensor, key: Tensor, *, grouped: bool = True) -> None:
    """Check that query ``(..., L, d_k)`` and key ``(..., S, d_k)`` fit together.

    Args:
        query: ``(..., L, d_k)``.
        key: ``(..., S, d_k)``.
        grouped: Whether the query may have a multiple of the key's heads.

    Raises:
        ShapeError: Names the first axis, dtype or device that does not fit.
    """
    _check_kind("query", query, "key", key)
    if query.shape[-1] != key.shape[-1]:
        raise _differ("d_k", "query", query, "key", key, axis=-1)
    if query.shape[-1] == 0:
        raise ShapeError(f"axis d_k is 0 in query and key; shape {shape_of(query)}; a dot product needs d_k >= 1")
    _check_leading("query", query, "key", key, grouped=grouped)


def check_window(window: int | None) -> int | None:
    """``window``, checked to be None or a whole number of keys, at least 1.

    Raises:
        OptionError: Anything else.
    """
    if window is None:
        return None
    if not is_whole(window) or window < 1:
        raise OptionError(
            f"window={window!r} must be a whole number of keys, 1 or more (a query counts itself); "
            "window=None turns it off"
        )
    return int(window)


def check_dropout(dropout_p: float, *, what: str = "a weight") -> None:
    """Check that a probability of dropping ``what`` is a number in [0, 1).

    Raises:
        OptionError: Anything else.
    """
    if not is_real(dropout_p) or not 0.0 <= dropout_p < 1.0:
        raise OptionError(f"dropout_p={dropout_p!r} must be in [0, 1): the probability of dropping {what}")


def check_scale(scale: float | Tensor | None) -> None:
    """Check that a factor on the dot products is None, a number, or one number in a tensor.

    Raises:
        OptionError: Anything else.
    """
    if scale is None or is_real(scale) or (isinstance(scale, Tensor) and scale.numel() == 1):
        return
    raise OptionError(f"scale={scale!r} must be a number, the factor on the dot products; None is 1 / sqrt(d_k)")


def check_seed(seed: int) -> int:
    """The seed, checked to be a whole number that torch and NumPy take.

    Raises:
        OptionError: Anything else.
    """
    if not is_whole(seed) or not 0 <= seed < 2**32:
        raise OptionError(f"seed={seed!r} must be a whole number from 0 to {2**32 - 1}")
    return int(seed)


def is_whole(number: object) -> bool:
    """Whether it is a whole number, NumPy's included; True and False are not.

    Example:
        >>> import numpy
        >>> is_whole(3), is_whole(numpy.int64(3)), is_whole(True), is_whole(3.0)
        (True, True, False, False)
    """
    return type(number) is int or (isinstance(number, numbers.Integral) and not isinstance(number, bool))


def is_real(number: object) -> bool:
    """Whether it is a number with an order, NumPy's included; True and False are not.

    Example:
        >>> is_real(0.5), is_real(2), is_real(True), is_real("0.5")
        (True, True, False, False)
    """
    return type(number) is float or (isinstance(number, numbers.Real) and not isinstance(number, bool))


def check_tensor(name: str, candidate: object) -> None:
    """Check that an argument is a tensor.

    Raises:
        ShapeError: It is not; the message names ``torch.as_tensor``.
    """
    if not isinstance(candidate, Tensor):
        raise ShapeError(f"{name} is a {type(candidate).__name__}, not a torch.Tensor; use torch.as_tensor({name})")


def _check_kind(name: str, tensor: Tensor, other_name: str, other: Tensor) -> None:
    for label, candidate in ((name, tensor), (other_name, other)):
        check_tensor(label, candidate)
        if candidate.ndim < 2:
            raise ShapeError(
                f"{label} has shape {shape_of(candidate)}; it needs at least two axes, (length, width): "
                f"add the missing one with {label}.unsqueeze(0)"
            )
        if not candidate.is_floating_point():
            raise ShapeError(f"{label} has dtype {candidate.dtype}; attention needs floating point: {label}.float()")
    if tensor.dtype != other.dtype:
        raise ShapeError(
            f"dtype is {tensor.dtype} in {name} but {other.dtype} in {other_name}; "
            f"convert one: {other_name}.to({name}.dtype)"
        )
    if tensor.device != other.device:
        raise ShapeError(
            f"device is {tensor.device} for {name} but {other.device} for {other_name}; "
            f"move one: {other_name}.to({name}.device)"
        )


def _check_leading(name: str, tensor: Tensor, other_name: str, other: Tensor, *, grouped: bool) -> None:
    """Leading axes are equal or 1; with ``grouped`` the head axis of the first may be a multiple."""
    if tensor.ndim != other.ndim:
        raise ShapeError(
            f"{name} has {tensor.ndim} axes but {other_name} has {other.ndim}; "
            f"shapes {shape_of(tensor)} and {shape_of(other)}; give both the same leading axes"
        )
    for axis in range(-tensor.ndim, -2):
        size, other_size = tensor.shape[axis], other.shape[axis]
        if size == other_size or 1 in (size, other_size):
            continue
        on_heads = axis == -3 and tensor.ndim >= 4
        if not (on_heads and grouped):
            raise _differ("H" if on_heads else "B", name, tensor, other_name, other, axis=axis)
        if other_size == 0 or size % other_size:
            raise ShapeError(
                f"axis H is {size} in {name}, not a multiple of H_kv = {other_size} in {other_name}; "
                f"shapes {shape_of(tensor)} and {shape_of(other)}; each key head must serve equally many query heads"
            )


_WAYS_OUT = {
    "d_k": "a dot product needs equal widths: project both to the same d_k",
    "S": "every key needs a value of its own",
    "H_kv": "key and value need the same heads",
    "H": "give both the same number of heads, or one of them a single head",
    "B": "leading axes must be equal, or 1 where one is shared",
}


def _differ(letter: str, name: str, tensor: Tensor, other_name: str, other: Tensor, *, axis: int) -> ShapeError:
    return ShapeError(
        f"axis {letter} is {tensor.shape[axis]} in {name} but {other.shape[axis]} in {other_name}; "
        f"shapes {shape_of(tensor)} and {shape_of(other)}; {_WAYS_OUT[letter]}"
    )
