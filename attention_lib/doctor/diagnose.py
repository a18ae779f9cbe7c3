"""The front door: ``diagnose(candidate)``."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn

from attention_lib.doctor.attention_subject import AttentionSubject, attention_menu
from attention_lib.doctor.baked import bake
from attention_lib.doctor.build import CannotBuild, build, materialise
from attention_lib.doctor.examine import examine
from attention_lib.doctor.findings import Diagnosis
from attention_lib.doctor.guard import Runner, quiet, state_kept
from attention_lib.doctor.heads_subject import HeadsSubject, NoProjections
from attention_lib.doctor.modes import private_copy
from attention_lib.doctor.report import Report
from attention_lib.doctor.small_kinds import SMALL_KINDS, examine_small
from attention_lib.doctor.softmax_subject import SoftmaxSubject, softmax_menu
from attention_lib.doctor.subject import Declared
from attention_lib.errors import OptionError

__all__ = ["KINDS", "diagnose"]

KINDS = ("attention", "multi_head", "softmax", "causal_mask", "split_heads", "merge_heads")
_ORDER = {"mistake": 0, "variant": 1, "remark": 2}
_MASKS = ("allowed", "blocked", "additive")


def diagnose(
    candidate: Any,
    kind: str = "attention",
    *,
    projections: Mapping[str, str | None] | None = None,
    num_heads: int | None = None,
    causal: bool = False,
    mask: str = "allowed",
    window: int | None = None,
    scale: float | None = None,
    variants: Sequence[str] = (),
    strict: bool = False,
    time_limit: float = 10.0,
    seed: int = 0,
) -> Diagnosis:
    """Say which known mistakes a candidate makes, with evidence and fix.

    The candidate's outputs are compared with those of attention and of every known mistake, alone and combined,
    and its conduct is watched. It runs in silence and under a time limit; modules are examined on a private copy,
    and the global state (seeds, default dtype, grad mode, threads) is left as it was.

    Args:
        candidate: A function, a module, or a class (built with usual arguments). For kind ``attention``:
            ``f(query, key, value, mask=None)`` on (B, L, d) or (B, H, L, d), returning the output, alone or with
            the weights. For ``multi_head``: an ``nn.Module`` called as ``module(x)``, ``module(x, mask)`` or
            ``module(query, key, value, mask)``, or a module of convolutions called on (B, d, L) or
            (B, d, height, width). For ``softmax``: ``f(scores, mask=None)``; ``causal_mask``:
            ``f(L)`` or ``f(L, S)``; ``split_heads``: ``f(x, num_heads)``; ``merge_heads``: ``f(x)``.
        kind: What the candidate is meant to be. A module with projections is always taken for ``multi_head``.
        projections: Names of a module's projections where they are unusual, such as ``{"query": "lin1"}``;
            ``{"output": None}`` says that another layer holds the output projection.
        num_heads: H of a module that does not say so itself.
        causal: The candidate is meant to be causal without being given a mask.
        mask: What its mask means: ``"allowed"`` (True = may attend), ``"blocked"`` (True = blocked), or
            ``"additive"`` (0 and -inf, added to the scores).
        window: The candidate is meant to see this many keys, the query's own included.
        scale: The factor it is meant to put on the scores; None is 1/sqrt(d_k).
        variants: Legitimate variants that it is meant to be: ``alibi``, ``rotary``, ``softcap``, ``cosine``,
            ``sigmoid``, ``sink``, ``window``, ``causal``, ``residual``, ``distance``, ``linear``.
        strict: Remarks (empty rows, half precision) count as findings.
        time_limit: Seconds one call of the candidate may take.
        seed: Where the random inputs start.

    Returns:
        A ``Diagnosis``, true when the candidate is healthy.

    Raises:
        OptionError: ``kind`` or ``mask`` is not one of those above.

    Example:
        >>> from attention_lib.doctor import diagnose
        >>> def mine(query, key, value, mask=None):
        ...     return (query @ key.transpose(-2, -1)).softmax(-1) @ value
        >>> diagnose(mine).codes
        ('missing-scale', 'padding-ignored')
    """
    if kind not in KINDS:
        raise OptionError(f"kind={kind!r} is not known; choose one of {', '.join(KINDS)}")
    if mask not in _MASKS:
        raise OptionError(f"mask={mask!r} is not known; choose one of {', '.join(_MASKS)}")
    declared = Declared(
        causal,
        mask,
        window,
        scale,
        tuple(variants),
        dict(projections) if projections else None,
        num_heads,
        strict,
        seed,
    )
    runner = Runner(time_limit)
    try:
        with state_kept(), quiet(), torch.no_grad():
            report, kind = _examine(candidate, kind, declared, runner)
    finally:
        runner.close()
    return _diagnosis(report, candidate, kind, strict)


def _examine(candidate: Any, kind: str, declared: Declared, runner: Runner) -> tuple[Report, str]:
    report = Report()
    try:
        return _examine_kind(candidate, kind, declared, runner)
    except (CannotBuild, NoProjections) as error:
        report.add("not-callable", str(error))
    except Exception as error:  # whatever a candidate brings about, the doctor answers
        report.add("doctor-failed", "".join(traceback.format_exception(error)[-3:])[:900])
    report.examined = False
    return report, kind


def _examine_kind(candidate: Any, kind: str, declared: Declared, runner: Runner) -> tuple[Report, str]:
    if inspect.isclass(candidate):
        candidate = build(candidate, runner, declared)
    if not callable(candidate):
        raise CannotBuild(f"it is a {type(candidate).__name__}, which cannot be called")
    if kind in SMALL_KINDS:
        return examine_small(candidate, kind, declared, runner), kind
    if _has_matrices(candidate):
        return _examine_module(candidate, declared, runner), "multi_head"
    if kind == "multi_head":
        raise CannotBuild("a candidate of kind multi_head is an nn.Module with projections")
    function = private_copy(candidate)
    if kind == "softmax":
        return examine(SoftmaxSubject(function, runner, declared, kind, menu=softmax_menu())), kind
    return examine(AttentionSubject(function, runner, declared, kind, menu=attention_menu(declared))), kind


def _examine_module(candidate: nn.Module, declared: Declared, runner: Runner) -> Report:
    copy = private_copy(candidate)
    if any(isinstance(p, nn.parameter.UninitializedParameter) for p in candidate.parameters()):
        materialise(copy, runner)
    if copy is not candidate:
        bake(copy, runner)
        return examine(HeadsSubject(copy, runner, declared, "multi_head"))
    return examine(HeadsSubject(candidate, runner, declared, "multi_head", own=False))


def _has_matrices(candidate: Any) -> bool:
    return isinstance(candidate, nn.Module) and any(_is_matrix(parameter) for parameter in candidate.parameters())


def _is_matrix(parameter: nn.Parameter) -> bool:
    return isinstance(parameter, nn.parameter.UninitializedParameter) or parameter.ndim >= 2


def _diagnosis(report: Report, candidate: Any, kind: str, strict: bool) -> Diagnosis:
    findings = tuple(sorted(report.findings.values(), key=lambda finding: _ORDER[finding.severity]))
    healthy = not findings if strict else all(finding.severity == "remark" for finding in findings)
    name = getattr(candidate, "__name__", type(candidate).__name__)
    notes = tuple(dict.fromkeys(report.notes))
    variants = tuple(dict.fromkeys(report.variants))
    return Diagnosis(report.examined and healthy, findings, report.examined, name, kind, variants, notes)
