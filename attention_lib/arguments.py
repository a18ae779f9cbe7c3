"""Checks of single arguments, shared by layers, models, tasks and training: what came, what is taken, the way out."""

from __future__ import annotations

import numbers

import torch
from torch import Tensor

from attention_lib.axes import check_tensor, is_whole
from attention_lib.errors import OptionError, ShapeError

__all__ = ["check_device", "check_generator", "check_instance", "check_number", "check_weights_fit", "check_whole"]


def check_whole(least: int = 1, /, **counts: int | None) -> None:
    """Check that every named count is a whole number, ``least`` or more.

    Raises:
        OptionError: Names the first one that is not.

    Example:
        >>> check_whole(batch=3, length=5)
        >>> check_whole(2, symbols=1)
        Traceback (most recent call last):
        attention_lib.errors.OptionError: symbols=1 must be a whole number, 2 or more
    """
    for name, count in counts.items():
        if not is_whole(count) or count < least:  # type: ignore[operator]
            raise OptionError(f"{name}={count!r} must be a whole number, {least} or more")


def check_number(least: float | None = None, /, **candidates: object) -> None:
    """Check that every named argument is a number, ``least`` or more; NaN is none.

    Raises:
        OptionError: Names the first one that is not.

    Example:
        >>> check_number(0, noise="0.2")
        Traceback (most recent call last):
        attention_lib.errors.OptionError: noise='0.2' must be a number, 0 or more
    """
    for name, number in candidates.items():
        real = isinstance(number, (int, float, numbers.Real)) and not isinstance(number, bool)
        if not real or number != number or (least is not None and number < least):  # type: ignore[operator]
            raise OptionError(f"{name}={number!r} must be a number" + ("" if least is None else f", {least} or more"))


def check_instance(name: str, candidate: object, kind: type, example: str) -> None:
    """Check that an argument is of its class; ``example`` is a call that makes one.

    Raises:
        OptionError: It is of another class.

    Example:
        >>> check_instance("cache", 3, dict, "dict()")
        Traceback (most recent call last):
        attention_lib.errors.OptionError: cache is of class int, not dict; pass one: cache=dict()
    """
    if not isinstance(candidate, kind):
        raise OptionError(
            f"{name} is of class {type(candidate).__name__}, not {kind.__name__}; pass one: {name}={example}"
        )


def check_generator(generator: torch.Generator | None) -> None:
    """Check that a generator is one, on the CPU, or None.

    Raises:
        OptionError: A seed, say, or a generator of another device.

    Example:
        >>> check_generator(torch.Generator().manual_seed(7))
    """
    if generator is None:
        return
    check_instance("generator", generator, torch.Generator, "torch.Generator().manual_seed(0)")
    if generator.device.type != "cpu":
        raise OptionError(
            f"generator is on {generator.device}, but numbers are drawn on the cpu, the same for every device; "
            "pass generator=torch.Generator().manual_seed(0) and move what was drawn"
        )


def check_device(device: torch.device | str | int | None) -> None:
    """Check that a tensor can be made on a device.

    Raises:
        OptionError: torch does not know it, or this machine lacks it.

    Example:
        >>> check_device("cpu")
    """
    if device is None or device == "cpu":
        return
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, ImportError, TypeError) as error:
        reason = str(error).partition("\n")[0][:120]
        raise OptionError(
            f"device={device!r} cannot be used here ({reason}); use device=attention_lib.default_device()"
        ) from error


def check_weights_fit(name: str, tensor: Tensor, weight: object) -> None:
    """Check that a layer's input has the device and dtype of the layer's weights, before torch multiplies them.

    Inside ``torch.autocast`` the dtypes may differ.

    Raises:
        ShapeError: No tensor, or another device or dtype.

    Example:
        >>> check_weights_fit("x", torch.zeros(2, 3), torch.zeros(5, 3))
        >>> check_weights_fit("x", torch.zeros(2, 3).long(), torch.zeros(5, 3))
        Traceback (most recent call last):
        attention_lib.errors.ShapeError: x has dtype torch.int64, this layer torch.float32; write x.to(torch.float32)
    """
    check_tensor(name, tensor)
    if not isinstance(weight, Tensor):  # a quantised layer keeps its weights in a form of its own
        return
    if tensor.device != weight.device:
        raise ShapeError(
            f"{name} is on {tensor.device} but this layer's weights are on {weight.device}; "
            f"move one: {name}.to({str(weight.device)!r}) or layer.to({str(tensor.device)!r})"
        )
    if tensor.dtype == weight.dtype:
        return
    floating = tensor.is_floating_point()
    if floating and torch.is_autocast_enabled(tensor.device.type):
        return
    other = f", or layer.to({tensor.dtype})" if floating else ""
    raise ShapeError(
        f"{name} has dtype {tensor.dtype}, this layer {weight.dtype}; write {name}.to({weight.dtype}){other}"
    )
