"""Compare an answer with the right one and with the known wrong ones, and say what was found."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from attention_lib.exercises.exercise import Implement, Predict
from attention_lib.exercises.registry import find_exercise

__all__ = ["Verdict", "check"]

WIDTH = 88  # characters of a line, so that nothing has to be scrolled sideways
_OPEN = "Not answered yet. Replace the ... with your answer and run the cell again."


@dataclass(frozen=True, repr=False)
class Verdict:
    """What ``check`` found: ``ok``, and a ``message`` that is also how the verdict prints."""

    ok: bool
    message: str

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        return "\n".join(textwrap.fill(line, WIDTH) for line in self.message.splitlines())


def check(name: str, answer: Any) -> Verdict:
    """Check an answer to an exercise.

    Args:
        name: Number of the exercise, as it stands in its title: ``"4.1"``.
        answer: A number for "predict" exercises, a function for the others; ``...`` while there is none.

    Returns:
        A ``Verdict``: true when right; otherwise its message names the mistake, where it is a known one.

    Raises:
        OptionError: There is no exercise of that name.

    Example:
        >>> check("4.1", ...)
        Not answered yet. Replace the ... with your answer and run the cell again.
        >>> bool(check("4.1", 8))
        True
    """
    exercise = find_exercise(name)
    if answer is None or answer is ...:
        return Verdict(False, _OPEN)
    if isinstance(exercise, Predict):
        return _check_number(exercise, answer)
    return _check_function(exercise, answer)


def _check_number(exercise: Predict, answer: Any) -> Verdict:
    if hasattr(answer, "item") and getattr(answer, "shape", ()) in ((), (1,)):  # one number of torch or NumPy
        answer = answer.item()
    if isinstance(answer, bool) or not isinstance(answer, (int, float)) or not abs(answer) < 1e300:
        if callable(answer):
            return Verdict(False, "The answer is a number; yours is a function. Call it, and pass what it returns.")
        return Verdict(False, f"The answer is a number; yours is {answer!r}.")

    def near(number: float) -> bool:
        return math.isclose(answer, number, rel_tol=exercise.tolerance, abs_tol=1e-9)

    if near(exercise.truth):
        return Verdict(True, f"Right: {answer:g}. {exercise.praise}")
    for number, message in exercise.mistakes.items():
        if near(number):
            return Verdict(False, f"Not {answer:g}. {message}")
    return Verdict(False, f"Not {answer:g}. {exercise.hint}")


def _check_function(exercise: Implement, answer: Any) -> Verdict:
    if not callable(answer):
        kind = type(answer).__name__
        return Verdict(False, f"The answer is a function; yours is a {kind}. Pass it without calling it.")
    cases = exercise.cases()
    try:
        results = [answer(*_copies(case)) for case in cases]
    except (Exception, SystemExit) as error:  # a learner's code may raise anything; it must not end the notebook
        return Verdict(False, f"Your code raised {type(error).__name__}: {error}")
    if any(map(_is_open, results)):
        return Verdict(False, _OPEN)
    try:
        results = [exercise.reads(result) for result in results]
    except (TypeError, ValueError, RuntimeError) as error:
        return Verdict(False, f"Not yet. What your function returns cannot be read: {error}. {exercise.hint}")
    wanted = _results(exercise, exercise.truth, cases)
    if _equal(results, wanted, exercise.tolerance):
        found = _named_by_the_doctor(exercise, answer)
        if found:
            return Verdict(False, f"Not yet. The numbers asked for here are right, but:\n{found}")
        return Verdict(True, f"Right. {exercise.praise}")
    for message, wrong in exercise.mistakes.items():
        if _equal(results, _results(exercise, wrong, cases), exercise.tolerance):
            return Verdict(False, f"Not yet. {message}")
    told = (
        f"Not yet. {_first_difference(results, wanted, cases, exercise.tolerance)}",
        _named_by_the_doctor(exercise, answer),
        f"Hint: {exercise.hint}",
    )
    return Verdict(False, "\n".join(filter(None, told)))


def _named_by_the_doctor(exercise: Implement, answer: Callable[..., Any]) -> str:
    """The known mistakes that the attention doctor sees in an answer; empty when it sees none."""
    if exercise.examine is None:
        return ""
    diagnosis = exercise.examine(answer)
    if not diagnosis.examined:
        return ""
    named = [one for one in diagnosis.findings if one.severity == "mistake" and one.code != "differs"]
    return "\n".join(f"- {one.title}. {one.evidence} {one.fix}" for one in named)


def _is_open(result: Any) -> bool:
    """None, ``...``, or a row of them: what a stub returns."""
    parts = result if isinstance(result, (tuple, list)) and result else (result,)
    return all(part is None or part is ... for part in parts)


def _results(exercise: Implement, function: Callable[..., Any], cases: list[tuple[Any, ...]]) -> list[Any]:
    return [exercise.reads(function(*_copies(case))) for case in cases]


def _copies(case: tuple[Any, ...]) -> tuple[Any, ...]:
    """Fresh tensors, so that an answer that writes into its arguments spoils nothing."""
    return tuple(argument.clone() if isinstance(argument, Tensor) else argument for argument in case)


def _equal(results: list[Any], wanted: list[Any], tolerance: float) -> bool:
    return all(_close(result, right, tolerance) for result, right in zip(results, wanted, strict=True))


def _close(result: Any, right: Any, tolerance: float) -> bool:
    result, right = _tensor(result), _tensor(right)
    if result is None or result.shape != right.shape or (result.dtype == torch.bool) != (right.dtype == torch.bool):
        return False
    return bool(torch.allclose(result.double(), right.double(), rtol=tolerance, atol=tolerance, equal_nan=True))


def _tensor(value: Any) -> Tensor | None:
    try:
        return torch.as_tensor(value).detach().cpu()
    except (TypeError, ValueError, RuntimeError):
        return None


def _first_difference(results: list[Any], wanted: list[Any], cases: list[tuple[Any, ...]], tolerance: float) -> str:
    differing = (
        (result, right, case)
        for result, right, case in zip(results, wanted, cases, strict=True)
        if not _close(result, right, tolerance)
    )
    result, right, case = next(differing)
    got, want = _tensor(result), torch.as_tensor(right)
    if got is None:
        return f"Your function returned a {type(result).__name__}, not numbers."
    shapes = ", ".join(str(tuple(argument.shape)) for argument in case if isinstance(argument, Tensor))
    where = f"For inputs of shapes {shapes} " if shapes else ""
    if got.shape != want.shape:
        return f"{where}the result has shape {tuple(got.shape)}; it should be {tuple(want.shape)}."
    if (got.dtype == torch.bool) != (want.dtype == torch.bool):
        return f"{where}the result has dtype {got.dtype}; it should be {want.dtype}."
    return f"{where}your result is off by up to {(got.double() - want.double()).abs().max().item():.3g}."
