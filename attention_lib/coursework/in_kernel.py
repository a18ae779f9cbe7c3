"""Runs one check in this very process: for tools that test inside the student's kernel (nbgrader, otter).

It is as fair as those tools can be, and no safer: code in the same process can patch whatever compares it.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

import torch

from attention_lib.coursework.model import Assignment, Case, Draw, same

__all__ = ["run_check"]


def run_check(
    assignment: Assignment, name: str, variant: Mapping[str, Any], namespace: Mapping[str, Any], seed: int | None = None
) -> None:
    """Raise ``AssertionError`` with the reason if a check fails.

    Args:
        assignment: The assignment.
        name: Name of the check.
        variant: Its conventions.
        namespace: Where the student's functions are: ``globals()``.
        seed: Seed of the inputs; None draws a secret one.
    """
    check = next(one for one in assignment.checks if one.name == name)
    cases = check.make(Draw(secrets.randbits(60) if seed is None else seed, variant))
    if not cases:
        raise AssertionError(f"{name}: no cases")
    for case in cases:
        told = same(_answer(case, namespace[case.function]), case.expected, case.tolerance)
        if told:
            raise AssertionError(f"{case.function}: {told}")


def _answer(case: Case, function: Any) -> Any:
    arguments = [one.detach().clone() if isinstance(one, torch.Tensor) else one for one in case.arguments]
    if case.gradient is None:
        return function(*arguments)
    *arguments, arriving = arguments
    for place in case.gradient:
        arguments[place].requires_grad_()
    result = function(*arguments)
    return list(torch.autograd.grad(result, [arguments[place] for place in case.gradient], arriving, allow_unused=True))
