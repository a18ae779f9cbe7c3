"""A decoder's cache: a token that comes after cached ones must get what it gets in the whole sequence."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from attention_lib.doctor.evidence import numbers
from attention_lib.doctor.guard import Failure
from attention_lib.doctor.modes import training_kept
from attention_lib.doctor.report import Report
from attention_lib.doctor.subject import Layout, Subject

__all__ = ["check_cache"]

_PAST = 4  # tokens in the cache


def check_cache(subject: Subject, layout: Layout, report: Report) -> None:
    """Continue a causal module that takes and returns a cache, where its signature says how."""
    names = subject.binding.cache
    if not names or not subject.declared.causal or layout.cross or layout.places or report.mistakes:
        return
    tensors = subject.draw(layout, 0, subject.generator(18), L=_PAST + 1, S=_PAST + 1)
    whole = subject.run(tensors, layout).output
    if whole is None or "x" not in tensors:
        return
    whole = whole.detach()
    kept = _kept(_call(subject, layout, tensors["x"][:, :_PAST], None))
    if kept is None:
        return
    step = _output(_call(subject, layout, tensors["x"][:, _PAST:], kept), subject, layout, whole[:, _PAST:])
    if step is None:
        return
    moved = float((step - whole[:, _PAST:]).abs().nan_to_num(torch.inf).max())
    if moved > 20 * layout.tolerance * (1.0 + float(whole.abs().max())):
        report.add(
            "cache-differs",
            f"Token {_PAST} alone, with the cache of the {_PAST} tokens before it, gives {numbers(step[0, 0])}; in the "
            f"whole sequence it gives {numbers(whole[0, _PAST])}. They differ by up to {moved:.2f}.",
        )


def _call(subject: Subject, layout: Layout, x: Tensor, kept: Any) -> Any:
    """The module's own answer for some tokens, after what it kept of those before."""
    handed = subject.prepare({"x": subject.outward(x, layout).to(subject.device, layout.dtype).contiguous()})
    args, kwargs = subject.binding.arguments(handed, subject.sizes({"x": x}, layout))
    for role, name in subject.binding.cache.items():
        value = {"cache": kept, "use": True, "position": 0 if kept is None else _PAST}[role]
        kwargs |= {} if value is None else {name: value}
    with training_kept(subject.module, False):
        return subject.runner.call(subject.function, *args, **kwargs)


def _kept(value: Any) -> Any:
    """What was returned beside the output and the weights: a collection or an object, not a single tensor."""
    parts = list(value.values()) if isinstance(value, dict) else value
    if isinstance(value, Failure) or not isinstance(parts, (list, tuple)):
        return None
    return next((p for p in reversed(parts) if p is not None and not isinstance(p, (Tensor, int, float, str))), None)


def _output(value: Any, subject: Subject, layout: Layout, like: Tensor) -> Tensor | None:
    if isinstance(value, Failure):
        return None
    parts = list(value.values()) if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else [value]
    turned = (subject.inward(part, layout) for part in parts if isinstance(part, Tensor) and part.ndim == like.ndim)
    return next((part.detach() for part in turned if part.shape == like.shape), None)
