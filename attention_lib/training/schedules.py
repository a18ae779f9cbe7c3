"""The learning rate as a function of the step, counted from 1: nothing remembered, so anything can be drawn.

All but ``vaswani`` give a factor between 0 and 1 for the optimizer's own learning rate.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR

from attention_lib.arguments import check_number
from attention_lib.errors import OptionError

__all__ = ["lambda_lr", "vaswani", "warmup_constant", "warmup_cosine", "warmup_inverse_sqrt"]


def warmup_constant(step: int, *, warmup_steps: int) -> float:
    r"""Up in a straight line, then level.

    .. math:: \min(1, step / warmup\_steps)

    Args:
        step: 1 is the first.
        warmup_steps: 0 is no warm-up.

    Returns:
        A factor in (0, 1].

    Raises:
        OptionError: ``step`` is below 1, or ``warmup_steps`` below 0.

    Example:
        >>> [warmup_constant(step, warmup_steps=4) for step in (1, 2, 4, 100)]
        [0.25, 0.5, 1.0, 1.0]
    """
    _check(step, warmup_steps)
    return min(1.0, step / warmup_steps) if warmup_steps else 1.0


def warmup_inverse_sqrt(step: int, *, warmup_steps: int) -> float:
    r"""Up in a straight line, then down with the square root of the step: Vaswani's shape with its peak at 1.

    .. math:: \min(step / warmup\_steps, \sqrt{warmup\_steps / step})

    Args:
        step: 1 is the first.
        warmup_steps: Where the peak is; with 0 it is at step 1.

    Returns:
        A factor in (0, 1].

    Raises:
        OptionError: ``step`` is below 1, or ``warmup_steps`` below 0.

    Example:
        >>> [warmup_inverse_sqrt(step, warmup_steps=4) for step in (1, 4, 16, 400)]
        [0.25, 1.0, 0.5, 0.1]
    """
    _check(step, warmup_steps)
    peak = max(1, warmup_steps)
    return min(step / peak, math.sqrt(peak / step))


def warmup_cosine(step: int, *, warmup_steps: int, total_steps: int, floor: float = 0.0) -> float:
    r"""Up in a straight line, then down along half a cosine, then level at the floor.

    .. math:: floor + (1 - floor) \cdot (1 + \cos(\pi \cdot progress)) / 2

    Args:
        step: 1 is the first.
        warmup_steps: 0 is no warm-up.
        total_steps: Where the floor is reached.
        floor: In [0, 1].

    Returns:
        A factor in [0, 1].

    Raises:
        OptionError: ``step`` is below 1, ``warmup_steps`` below 0, or ``total_steps`` not above ``warmup_steps``.

    Example:
        >>> [round(warmup_cosine(step, warmup_steps=2, total_steps=6), 3) for step in (1, 2, 4, 6, 9)]
        [0.5, 1.0, 0.5, 0.0, 0.0]

    Source: Loshchilov and Hutter (2016), SGDR, equation 5, without restarts.
    """
    _check(step, warmup_steps)
    check_number(total_steps=total_steps, floor=floor)
    if total_steps <= warmup_steps:
        raise OptionError(f"total_steps={total_steps} must be more than warmup_steps={warmup_steps}")
    if step < warmup_steps:
        return step / warmup_steps
    progress = min(1.0, (step - warmup_steps) / (total_steps - warmup_steps))
    return floor + (1 - floor) * (1 + math.cos(math.pi * progress)) / 2


def vaswani(step: int, *, d_model: int, warmup_steps: int = 4000) -> float:
    r"""The paper's learning rate itself; use it with an optimizer whose own rate is 1.

    .. math:: d_{model}^{-1/2} \cdot \min(step^{-1/2}, \; step \cdot warmup\_steps^{-3/2})

    Args:
        step: 1 is the first.
        d_model: Width of the model.
        warmup_steps: Where the peak is, 1 or more.

    Returns:
        The learning rate, at most ``(d_model * warmup_steps) ** -0.5``.

    Raises:
        OptionError: ``step``, ``d_model`` or ``warmup_steps`` is below 1.

    Example:
        >>> round(vaswani(4000, d_model=512), 7)  # 1 / sqrt(512 * 4000)
        0.0006988

    Source: Vaswani et al. (2017), equation 3.
    """
    _check(step, warmup_steps)
    check_number(d_model=d_model)
    for name, number in (("d_model", d_model), ("warmup_steps", warmup_steps)):
        if number < 1:
            raise OptionError(f"{name}={number!r} must be 1 or more")
    return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)


def lambda_lr(optimizer: Optimizer, schedule: Callable[[int], float]) -> LambdaLR:
    """Give a schedule that counts from 1 to torch's scheduler, which counts from 0.

    Call its ``step()`` after each ``optimizer.step()``.

    Example:
        >>> import torch
        >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.5)
        >>> scheduler = lambda_lr(optimizer, lambda step: warmup_constant(step, warmup_steps=2))
        >>> scheduler.get_last_lr()
        [0.25]
    """
    return LambdaLR(optimizer, lambda done: schedule(done + 1))


def _check(step: int, warmup_steps: int) -> None:
    check_number(step=step, warmup_steps=warmup_steps)
    if step < 1:
        raise OptionError(f"step={step!r} must be 1 or more; the first step is 1")
    if warmup_steps < 0:
        raise OptionError(f"warmup_steps={warmup_steps!r} must be 0 or more")
