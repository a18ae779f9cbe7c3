"""Marks one submission: draws the cases here, has the sandbox compute, and compares here."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from attention_lib.coursework.model import Assignment, Case, Check, Draw, same
from attention_lib.coursework.sandbox import Worker
from attention_lib.coursework.session import Fault, Limits, Session

__all__ = ["CheckResult", "Mark", "draw_cases", "mark", "mark_session"]


_STUB = "raised NotImplementedError: your code here"


@dataclass(frozen=True)
class CheckResult:
    """One check: points gained of points possible, and why."""

    name: str
    points: float
    of: float
    reason: str


@dataclass(frozen=True)
class Mark:
    """What a submission got.

    Attributes:
        status: ``graded``, ``partly`` (a name is missing or failed), ``nothing`` (none is defined), or ``ungraded``.
        checks: The result of each check.
        reason: Why the score is what it is.
        layers: Active layers of isolation.
    """

    status: str
    checks: tuple[CheckResult, ...] = ()
    reason: str = ""
    layers: str = ""
    texts: Mapping[str, str] = field(default_factory=dict)

    @property
    def score(self) -> float:
        """Points gained."""
        return round(sum(result.points for result in self.checks), 4)


def mark(
    assignment: Assignment,
    variant: Mapping[str, Any],
    cells: Sequence[str],
    worker: Worker,
    *,
    seed: int,
    limits: Limits | None = None,
) -> Mark:
    """Mark the code of one submission.

    Args:
        assignment: What was asked.
        variant: Its conventions.
        cells: Sources of the code cells.
        worker: A sandbox.
        seed: Secret seed of the inputs.
        limits: What the code may use.
    """
    job = {
        "cells": list(cells),
        "names": [*assignment.functions, *assignment.rubric],
        "withheld": list(assignment.withheld),
        "seed": seed % 2**31,
    }
    try:
        with worker.open(job, limits or Limits()) as session:
            return mark_session(assignment, session, draw_cases(assignment, variant, seed), worker.layers)
    except Fault as fault:
        return Mark("ungraded", _none(assignment, str(fault)), str(fault), worker.layers)


def _none(assignment: Assignment, reason: str) -> tuple[CheckResult, ...]:
    return tuple(CheckResult(check.name, 0.0, check.points, reason) for check in assignment.checks)


def draw_cases(assignment: Assignment, variant: Mapping[str, Any], seed: int) -> list[list[Case]]:
    """The cases of every check, from a secret seed."""
    made = []
    for check in assignment.checks:
        own = int.from_bytes(hashlib.sha256(f"{seed}\n{check.name}".encode()).digest()[:7], "big")
        made.append(check.make(Draw(own, variant)))
    return made


def mark_session(assignment: Assignment, session: Session, cases: Sequence[list[Case]], layers: str = "") -> Mark:
    """Mark what an open session holds; more than once, with other cases, if need be."""
    results = tuple(_run(check, own, session) for check, own in zip(assignment.checks, cases, strict=True))
    missing = [
        f"{name} {_reads(status)}"
        for name, status in session.status.items()
        if status != "defined" and name in assignment.functions
    ]
    failed: dict[str, list[str]] = {}
    for result in results:
        if result.points < result.of:
            failed.setdefault(result.reason, []).append(result.name)
    status = "graded" if not missing else "nothing" if len(missing) == len(assignment.functions) else "partly"
    told = [f"{', '.join(names)}: {reason}" for reason, names in failed.items()]
    reason = "; ".join([*missing, *told, *session.troubles]) or "all checks passed"
    return Mark(status, results, reason[:2000], layers)


def _reads(status: str) -> str:
    return status if status.startswith(("not ", "ended", "took", "used", "was", "sent")) else f"failed: {status}"


def _run(check: Check, cases: list[Case], session: Session) -> CheckResult:
    """Full points when there are cases and every one of them holds; otherwise none, with the first reason."""
    reason = "" if cases else "the check has no cases"
    for case in cases:
        reason = reason or _one(case, session)
    return CheckResult(check.name, 0.0 if reason else check.points, check.points, reason or "passed")


def _one(case: Case, session: Session) -> str:
    status = session.status.get(case.function, "not defined")
    if status != "defined":
        return f"{case.function} {_reads(status)}"
    order = {} if case.gradient is None else {"gradient": list(case.gradient)}
    try:
        got = session.call(case.function, case.arguments, **order)
    except Fault as fault:
        still = _STUB in str(fault)
        return f"{case.function} is still the stub of the notebook" if still else f"{case.function} {fault}"
    told = same(got, case.expected, case.tolerance)
    return f"{case.function}: {told}" if told else ""
