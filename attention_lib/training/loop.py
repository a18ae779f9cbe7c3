"""One training loop for all small models: it returns what happened and keeps nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor, nn

from attention_lib.arguments import check_number
from attention_lib.errors import OptionError, ShapeError
from attention_lib.training.schedules import lambda_lr

__all__ = ["History", "train"]

Batch = TypeVar("Batch")


class History(NamedTuple):
    """One number a step: the loss before the step, the learning rate of the step, the gradient's length."""

    losses: list[float]
    learning_rates: list[float]
    gradient_norms: list[float]


def train(
    model: nn.Module,
    batches: Iterable[Batch],
    loss: Callable[[nn.Module, Batch], Tensor],
    optimizer: torch.optim.Optimizer,
    *,
    schedule: Callable[[int], float] | None = None,
    clip_norm: float | None = 1.0,
    progress: str | None = None,
) -> History:
    """Take one step for each batch.

    Args:
        model: Put in training mode, and back in the mode it had.
        batches: Anything that gives batches, as often as there shall be steps.
        loss: ``loss(model, batch)``, one number to make small.
        optimizer: Of the model's parameters.
        schedule: Step (from 1) -> factor on the optimizer's learning rate; None is 1.
        clip_norm: Gradients longer than this are shortened to it; None leaves them.
        progress: A name for a bar, shown when tqdm is installed; None shows none.

    Returns:
        A :class:`History`.

    Raises:
        ShapeError: What ``loss`` returns is not one number in a tensor with a gradient.
        OptionError: ``clip_norm`` is not above 0, or the loss became infinite or NaN; the message names the step.

    Example:
        >>> weight = nn.Linear(1, 1, bias=False)
        >>> _ = nn.init.constant_(weight.weight, 3.0)
        >>> square = lambda model, batch: (model.weight**2).sum()
        >>> history = train(weight, range(2), square, torch.optim.SGD(weight.parameters(), lr=0.25), clip_norm=None)
        >>> history.losses  # 3, then 3 - 0.25 * 6 = 1.5
        [9.0, 2.25]
    """
    if clip_norm is not None:
        check_number(clip_norm=clip_norm)
    if clip_norm is not None and not clip_norm > 0:
        raise OptionError(f"clip_norm={clip_norm!r} must be above 0; None leaves the gradients as they are")
    scheduler = None if schedule is None else lambda_lr(optimizer, schedule)
    history, was_training = History([], [], []), model.training
    model.train()
    for step, batch in enumerate(_with_bar(batches, progress), start=1):
        value = loss(model, batch)
        _check_loss(value, step)
        if not torch.isfinite(value):
            raise OptionError(
                f"the loss is {value.item()} at step {step}, the learning rate {optimizer.param_groups[0]['lr']:g}; "
                "make the learning rate smaller or warm up"
            )
        optimizer.zero_grad()
        value.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), torch.inf if clip_norm is None else clip_norm)
        for record, number in zip(history, (value.item(), optimizer.param_groups[0]["lr"], norm.item()), strict=True):
            record.append(number)
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
    model.train(was_training)
    return history


def _check_loss(value: Tensor, step: int) -> None:
    if not isinstance(value, Tensor):
        raise ShapeError(
            f"loss returned a {type(value).__name__} at step {step}; return the tensor itself, without .item()"
        )
    if value.numel() != 1:
        raise ShapeError(
            f"loss returned a tensor of shape {tuple(value.shape)} at step {step}, not one number; end with .mean()"
        )
    if not value.requires_grad:
        raise ShapeError(
            f"loss returned {value.item():g} without a gradient at step {step}; compute it from the model's output, "
            "without detach() or no_grad()"
        )


def _with_bar(batches: Iterable[Batch], name: str | None) -> Iterable[Batch]:
    if name is None:
        return batches
    try:
        from tqdm import tqdm  # type: ignore[import-untyped]
    except ModuleNotFoundError:
        return batches
    return tqdm(batches, desc=name)
