"""Candidates that build a causal mask, split heads, or merge them: compared with every way to get it wrong."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attention_lib.doctor.evidence import shape_text
from attention_lib.doctor.guard import Failure, Runner
from attention_lib.doctor.patterns import patterns
from attention_lib.doctor.replies import read_any
from attention_lib.doctor.report import Report, could_not
from attention_lib.doctor.subject import Declared

__all__ = ["SMALL_KINDS", "examine_small"]

_OPTIONS = ("device", "dtype", "window", "window_size", "batch", "B", "diagonal")
SMALL_KINDS = ("causal_mask", "split_heads", "merge_heads")


def examine_small(candidate: Callable[..., Any], kind: str, declared: Declared, runner: Runner) -> Report:
    """What is to be said of a candidate of one of the small kinds."""
    report = Report()
    examiner = {"causal_mask": _causal_mask, "split_heads": _split_heads, "merge_heads": _merge_heads}[kind]
    examiner(candidate, declared, runner, report)
    return report


def _ask(runner: Runner, candidate: Callable[..., Any], *arguments: Any, report: Report) -> Tensor | None:
    """The tensor the candidate answers with, or None after saying why there is none."""
    before = [a.clone() if isinstance(a, Tensor) else a for a in arguments]
    value = runner.call(candidate, *arguments)
    if isinstance(value, Failure):
        could_not(value, report)
        return None
    tensor = read_any(value)
    if tensor is None:
        report.add("wrong-shape", f"It returned {type(value).__name__}, which holds no tensor.")
        return None
    for old, new in zip(before, arguments, strict=True):
        if isinstance(old, Tensor) and not torch.equal(old, new):
            report.add("mutates-input", "After the call the caller's tensor no longer holds the same numbers.")
    return tensor


# causal_mask: f(L) or f(L, S).


def _causal_mask(candidate: Callable[..., Any], declared: Declared, runner: Runner, report: Report) -> None:
    calls: list[tuple[int, ...]] = [(5, 5), (7, 7), (4, 7), (1, 5)] if _takes_two(candidate) else [(5,), (7,), (1,)]
    if _takes_two(candidate, optional=True):
        calls.append((5,))
    convention = declared.mask
    for arguments in calls:
        L, S = arguments[0], arguments[-1]
        answer = _ask(runner, candidate, *arguments, report=report)
        if answer is None:
            return
        if answer.dtype != torch.bool and bool((answer < -1e3).any()):
            convention = "additive"  # from now on a 0 means allowed
        _judge_causal(answer, L, S, convention, declared.window, report)
        if any(finding.severity == "mistake" for finding in report.findings.values()):
            return


def _takes_two(candidate: Callable[..., Any], *, optional: bool = False) -> bool:
    """Whether there is a second parameter, for S or the number of heads; with ``optional``, one with a default."""
    try:
        parameters = list(inspect.signature(candidate).parameters.values())
    except (TypeError, ValueError):
        return False
    tensors = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    two = len(tensors) >= 2 and tensors[1].name not in _OPTIONS
    return two and (not optional or tensors[1].default is not inspect.Parameter.empty)


def _judge_causal(answer: Tensor, L: int, S: int, convention: str, window: int | None, report: Report) -> None:
    squeezed = answer.reshape(answer.shape[-2:]) if answer.ndim > 2 and answer.numel() == L * S else answer
    if tuple(squeezed.shape) != (L, S):
        report.add("wrong-shape", f"For L = {L} and S = {S} it returned {shape_text(answer.shape)}.")
        return
    allowed = _as_allowed(squeezed, convention)
    if allowed is None:
        report.add(
            "differs", f"Its entries are {sorted(set(squeezed.flatten().tolist()))[:4]}: neither a mask nor 0 and -inf."
        )
        return
    options = patterns(True, window)
    right = options[0].apply(L, S)
    if torch.equal(allowed, right):
        if squeezed.dtype != torch.bool and not bool(torch.isinf(squeezed).any()) and _zero_one(squeezed):
            report.add("wrong-dtype", f"It holds 0 and 1 of {squeezed.dtype}.", severity="remark",
                       title="The mask is not boolean", fix="Numbers get added to scores: `mask.bool()`.")  # fmt: skip
        return
    code = next(
        (o.code for o in options[1:] if o.code and torch.equal(allowed, _filled(o.apply(L, S), L, S))), "differs"
    )
    if torch.equal(allowed, ~right):
        code = "mask-inverted"
    report.add(code, _rows_text(allowed, right))


def _filled(pattern: Tensor | None, L: int, S: int) -> Tensor:
    return torch.ones(L, S, dtype=torch.bool) if pattern is None else pattern


def _zero_one(mask: Tensor) -> bool:
    return bool(((mask == 0) | (mask == 1)).all())


def _as_allowed(mask: Tensor, convention: str) -> Tensor | None:
    """True = may attend, from booleans, 0 and 1, or 0 and a very low number."""
    mask = mask.detach().cpu()
    if mask.dtype == torch.bool or (_zero_one(mask) and convention != "additive"):
        allowed = mask.bool()
        return ~allowed if convention == "blocked" else allowed
    blocked = mask < -1e3
    return ~blocked if bool((mask[~blocked] == 0).all()) else None


def _rows_text(allowed: Tensor, right: Tensor) -> str:
    found, wanted = ("/".join("".join(str(int(e)) for e in row) for row in mask) for mask in (allowed, right))
    return f"For L = {len(right)} and S = {right.shape[1]} it allows {found}; right is {wanted} (1 = may attend)."


# split_heads: f(x, num_heads); merge_heads: f(x).


def _split_heads(candidate: Callable[..., Any], declared: Declared, runner: Runner, report: Report) -> None:
    for B, L, H, d in ((2, 5, 3, 7), (3, 4, 2, 5)):
        x = torch.arange(float(B * L * H * d)).view(B, L, H * d)
        answer = _ask(runner, candidate, x, H, report=report)
        if answer is None:
            return
        right = x.view(B, L, H, d).transpose(1, 2)
        if answer.shape == (B * H, L, d):
            answer = answer.unflatten(0, (B, H))
        _judge_layout(answer, right, _wrong_splits(x, H), report)


def _wrong_splits(x: Tensor, H: int) -> list[tuple[str, Tensor]]:
    B, L, D = x.shape
    found = [("split-without-transpose", x.reshape(B, H, L, D // H)), ("wrong-heads", x.view(B, L, H, D // H))]
    found.append(("heads-interleaved", x.view(B, L, D // H, H).permute(0, 3, 1, 2)))
    found.append(("split-without-transpose", x.reshape(B, H, D // H, L).transpose(-2, -1)))
    found.append(("wrong-heads", x.view(B, L, H, D // H).transpose(1, 2).transpose(-2, -1)))
    found.append(("wrong-heads", x.view(B, L, H, D // H).permute(2, 0, 1, 3)))
    found.append(("split-without-transpose", x.reshape(H, B, L, D // H).transpose(0, 1)))
    return found


def _merge_heads(candidate: Callable[..., Any], declared: Declared, runner: Runner, report: Report) -> None:
    takes_count = _takes_two(candidate)
    for B, H, L, d in ((2, 3, 5, 7), (3, 2, 4, 5)):
        x = torch.arange(float(B * L * H * d)).view(B, H, L, d)
        answer = _ask(runner, candidate, *((x, H) if takes_count else (x,)), report=report)
        if answer is None:
            return
        _judge_layout(answer, x.transpose(1, 2).reshape(B, L, H * d), _wrong_merges(x), report)


def _wrong_merges(x: Tensor) -> list[tuple[str, Tensor]]:
    B, H, L, d = x.shape
    found = []
    for order in permutations((1, 2, 3)):
        merged = x.permute(0, *order).reshape(B, L, H * d)
        found.append(("heads-interleaved" if order == (2, 3, 1) else "merge-without-transpose", merged))
    return [*found, ("heads-averaged", x.mean(1)), ("heads-averaged", x.sum(1))]


def _judge_layout(answer: Tensor, right: Tensor, wrong: list[tuple[str, Tensor]], report: Report) -> None:
    if answer.shape == right.shape and torch.equal(answer.to(right.dtype), right):
        return
    for code, candidate in wrong:
        if answer.shape == candidate.shape and torch.allclose(answer.to(right.dtype), candidate):
            report.add(code, _layout_text(answer, right))
            return
    if answer.shape != right.shape:
        report.add("wrong-shape", f"It returned {shape_text(answer.shape)}; expected {shape_text(right.shape)}.")
        return
    report.add("differs", _layout_text(answer, right))


def _layout_text(answer: Tensor, right: Tensor) -> str:
    if answer.shape != right.shape:
        return f"The result has shape {shape_text(answer.shape)}; expected {shape_text(right.shape)}."
    place = int((answer != right).flatten().nonzero()[0])
    index = tuple(int(i) for i in np.unravel_index(place, tuple(right.shape)))
    return (
        f"With x counting 0, 1, 2, ... entry {index} of the result is {float(answer[index]):.0f} and should be "
        f"{float(right[index]):.0f}; {float((answer != right).double().mean()):.0%} of the entries are misplaced."
    )
