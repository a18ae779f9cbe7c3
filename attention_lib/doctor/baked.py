"""Turns a module's unusual projections into ordinary linear layers, on the doctor's private copy."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from attention_lib.doctor.guard import Runner
from attention_lib.doctor.linears import role_of

__all__ = ["bake"]


def bake(module: nn.Module, runner: Runner) -> None:
    """Make weights plain parameters, and chains of linear maps one linear layer each.

    Weight and spectral norms and other parametrizations are evaluated once. A projection made of several layers
    (low rank, adapters) is replaced by the affine map that it computes, if it is one.
    """
    with torch.enable_grad():  # else what was a parameter comes back as a buffer
        for part in list(module.modules()):
            _plain_weights(part)
    for path, part in list(module.named_modules()):
        if path and _is_a_chain(path, part):
            _replace(module, path, part, runner)


def _plain_weights(part: nn.Module) -> None:
    if parametrize.is_parametrized(part):
        _own_class(part)
        for name in list(part.parametrizations):  # type: ignore[arg-type]
            parametrize.remove_parametrizations(part, name, leave_parametrized=True)
    for key, hook in list(part._forward_pre_hooks.items()):
        if type(hook).__name__ in ("WeightNorm", "SpectralNorm"):
            hook.remove(part)  # type: ignore[attr-defined]
            del part._forward_pre_hooks[key]


def _own_class(part: nn.Module) -> None:
    """Give a parametrised copy a class of its own: torch keeps the weight's property there, and a copy shares it."""
    shared = type(part)
    own = {name: value for name, value in vars(shared).items() if name not in ("__dict__", "__weakref__")}
    part.__class__ = type(shared.__name__, shared.__bases__, own)


def _is_a_chain(path: str, part: nn.Module) -> bool:
    """Whether a part is named like a projection and holds more than one linear layer."""
    linears = [p for p in part.modules() if isinstance(p, nn.Linear)]
    return len(linears) > 1 and not isinstance(part, nn.ModuleList) and role_of(path) is not None


def _replace(module: nn.Module, path: str, part: nn.Module, runner: Runner) -> None:
    found = _affine(part, runner)
    if found is None:
        return
    weight, bias = found
    linear = nn.Linear(weight.shape[1], weight.shape[0], device=weight.device, dtype=weight.dtype)
    linear.weight.data.copy_(weight)
    linear.bias.data.copy_(bias)
    parent, _, name = path.rpartition(".")
    setattr(module.get_submodule(parent), name, linear)


def _affine(part: nn.Module, runner: Runner) -> tuple[Tensor, Tensor] | None:
    """Weight and bias of a part that computes x W^T + b, or None when it computes something else."""
    first = next(p for p in part.modules() if isinstance(p, nn.Linear))
    width, like = first.in_features, first.weight
    training, rows = part.training, torch.eye(width, dtype=like.dtype, device=like.device)
    part.eval()
    try:
        bias, images = runner.call(part, torch.zeros_like(rows[:1])), runner.call(part, rows)
        probe = torch.linspace(-1.0, 2.0, 3 * width, dtype=like.dtype, device=like.device).sin().view(3, width)
        answer = runner.call(part, probe)
    finally:
        part.train(training)
    tensors = (bias, images, answer)
    if not all(isinstance(t, Tensor) and t.ndim == 2 for t in tensors) or images.shape[0] != width:
        return None
    weight = (images - bias).T.detach()
    if answer.shape != (3, weight.shape[0]) or not torch.allclose(answer, probe @ weight.T + bias, atol=1e-4):
        return None
    return weight, bias[0].detach()
