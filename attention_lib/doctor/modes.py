"""Modes a candidate is run in: training or not, dropout or not; and the backward pass."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attention_lib.doctor.guard import Failure, Runner

__all__ = ["backward", "dropout_silenced", "drops", "private_copy", "training_kept", "weighting"]


@contextmanager
def dropout_silenced(silent: bool) -> Iterator[None]:
    """Let torch's dropout functions do nothing, to see what a candidate computes that drops out always."""
    if not silent:
        yield
        return
    dropout, fused = F.dropout, F.scaled_dot_product_attention

    def without(*args: Any, **kwargs: Any) -> Tensor:
        kwargs.pop("dropout_p", None)
        args = (*args[:4], 0.0, *args[5:]) if len(args) > 4 else args
        return fused(*args, **kwargs)

    F.dropout, F.scaled_dot_product_attention = lambda x, *args, **kwargs: x, without  # type: ignore[assignment]
    try:
        yield
    finally:
        F.dropout, F.scaled_dot_product_attention = dropout, fused  # type: ignore[assignment]


def drops(part: nn.Module) -> bool:
    """Whether a part is a dropout layer in use: its ``p`` is between 0 and 1."""
    p = getattr(part, "p", None)
    return isinstance(p, float) and 0.0 < p < 1.0


def weighting(output: Tensor) -> Tensor:
    """Fixed weights for a sum of outputs whose gradient says something about each of them."""
    return torch.linspace(0.5, 1.5, output.numel(), dtype=output.dtype, device=output.device).sin().view(output.shape)


def backward(runner: Runner, output: Tensor, given: dict[str, Tensor]) -> tuple[dict[str, Tensor], str]:
    """Gradients with respect to the given tensors as float64 on the CPU, or the reason why there are none."""

    def work() -> tuple[Tensor | None, ...]:
        total = (output * weighting(output)).sum()
        return torch.autograd.grad(total, list(given.values()), allow_unused=True)

    found = runner.call(work, grad=True)
    if isinstance(found, Failure):
        return {}, f"The backward pass fails: {found.message}"
    pairs = zip(given, found, strict=True)
    return {name: grad.detach().to("cpu", torch.float64) for name, grad in pairs if grad is not None}, ""


@contextmanager
def training_kept(module: nn.Module | None, train: bool) -> Iterator[None]:
    """Put a module into training or evaluation for one call, and back."""
    if module is None:
        yield
        return
    before = {part: part.training for part in module.modules()}
    module.train(train)
    try:
        yield
    finally:
        for part, training in before.items():
            part.training = training


def _parts(candidate: Any) -> list[Any]:
    if isinstance(candidate, nn.Module):
        return list(candidate.modules())
    return [candidate] if hasattr(candidate, "__dict__") else []


def private_copy(candidate: Any) -> Any:
    """A deep copy of a module, or the module itself where it cannot be copied.

    Results of an earlier call that it keeps, such as ``self.attn``, hang on to a graph; they are copied without it.
    """
    kept = [t for part in _parts(candidate) for t in vars(part).values() if isinstance(t, Tensor) and not t.is_leaf]
    try:
        return copy.deepcopy(candidate, {id(tensor): tensor.detach().clone() for tensor in kept})
    except Exception:
        return candidate
