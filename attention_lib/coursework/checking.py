"""What a student asks: ``assignment`` says which conventions hold, ``check`` judges one function by them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from attention_lib.coursework.conventions import TASKS, Task
from attention_lib.coursework.returned import odd_result
from attention_lib.coursework.variants import SWITCHES, check_variant
from attention_lib.doctor import Diagnosis, Finding, diagnose
from attention_lib.errors import OptionError

__all__ = ["Answer", "assignment", "check", "current", "tasks_of"]

_OPEN = "Not answered yet. Write your function, run its cell, and ask again."
_UNNAMED = ("differs", "not-callable", "doctor-failed", "raises", "time-limit")
_NOW: dict[str, Any] = {"id": "", "variant": {}}


@dataclass(frozen=True, repr=False)
class Answer:
    """What ``check`` says: ``ok``, a ``message`` that is also how it prints, and the ``codes`` of what was found."""

    ok: bool
    message: str
    codes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        return self.message


def assignment(name: str, **variant: Any) -> None:
    """Say which assignment the next checks are about, and under which conventions.

    Args:
        name: Its id.
        variant: Its conventions, as the notebook's second cell has them.

    Raises:
        OptionError: A convention does not exist.
    """
    check_variant(variant)
    _NOW.update(id=name, variant=dict(variant))
    _first_gradient()


def _first_gradient() -> None:
    """What torch loads at the first gradient (0.4 s) is loaded here, so that no answer waits for it."""
    with torch.enable_grad():
        number = torch.ones((), requires_grad=True)
        torch.autograd.grad(number.square(), number, torch.ones(()))


def current() -> tuple[str, dict[str, Any]]:
    """The assignment and the conventions that hold now.

    Raises:
        OptionError: No assignment was named yet.
    """
    if not _NOW["id"]:
        raise OptionError("no assignment is open; run the notebook's cell with assignment(...) first")
    return _NOW["id"], dict(_NOW["variant"])


def tasks_of(name: str) -> list[str]:
    """The functions of an assignment that ``check`` knows."""
    return [function for owner, function in TASKS if owner == name]


def check(name: str, candidate: Any) -> Answer:
    """Judge one function of the open assignment, under its own conventions.

    Args:
        name: Name of the function, as the notebook has it.
        candidate: Your function.

    Returns:
        An ``Answer``: true when nothing is wrong with it; otherwise its message names the mistake.

    Raises:
        OptionError: The assignment asks for no such function.
    """
    owner, variant = current()
    task = TASKS.get((owner, name))
    if task is None:
        raise OptionError(f"assignment {owner!r} has no function {name!r}; it asks for {', '.join(tasks_of(owner))}")
    if candidate is None or candidate is ...:
        return Answer(False, _OPEN, ("open",))
    if not callable(candidate):
        return Answer(False, f"{name} is a {type(candidate).__name__}; pass the function itself.", ("not-callable",))
    with torch.random.fork_rng(devices=[]):
        return _judged(task, name, candidate, variant)


def _judged(task: Task, name: str, candidate: Any, variant: dict[str, Any]) -> Answer:
    cases = task.inputs(torch.Generator().manual_seed(2026))
    got: list[list[Any]] | BaseException
    try:
        got = _answers(task, candidate, variant, cases)
    except NotImplementedError:
        return Answer(False, _OPEN, ("open",))
    except (Exception, SystemExit) as error:  # a learner's code may raise anything; it must not end the notebook
        got = error
    if not isinstance(got, BaseException) and _equal(got, _truths(task, variant, cases)):
        return _thorough(task, name, candidate, variant)
    other = _other_convention(task, candidate, variant, cases)
    if other is not None:
        return other
    if isinstance(got, BaseException):
        told = _by_the_doctor(task, name, candidate, variant)
        if told is not None:
            return told
        odd = odd_result(lambda heard: _answers(task, heard, variant, cases), candidate)
        if odd:
            return Answer(False, f"{name}: not yet. It returned {odd}; that is not the form asked for.", ("form",))
        return Answer(False, f"{name} raised {type(got).__name__}: {got}", ("raised",))
    return _named(task, name, candidate, variant, cases, got)


def _answers(task: Task, candidate: Any, variant: Mapping[str, Any], cases: list[tuple[Any, ...]]) -> list[list[Any]]:
    return [task.ask(candidate, variant, *_copies(case)) for case in cases]


def _copies(case: tuple[Any, ...]) -> Iterator[Any]:
    return (one.clone() if isinstance(one, Tensor) else one for one in case)


def _truths(task: Task, variant: Mapping[str, Any], cases: list[tuple[Any, ...]]) -> list[list[Tensor]]:
    return [task.truth(variant, *case) for case in cases]


def _equal(got: list[list[Any]], wanted: list[list[Tensor]]) -> bool:
    return all(len(one) == len(other) and all(map(_close, one, other)) for one, other in zip(got, wanted, strict=True))


def _close(got: Any, wanted: Tensor) -> bool:
    if not isinstance(got, Tensor) or got.shape != wanted.shape:
        return False
    if (got.dtype == torch.bool) != (wanted.dtype == torch.bool):
        return False
    return torch.allclose(got.detach().double(), wanted.detach().double(), rtol=1e-5, atol=1e-8)


def _thorough(task: Task, name: str, candidate: Any, variant: dict[str, Any]) -> Answer:
    """Right on the plain inputs: the doctor looks for what they cannot show (large scores, empty rows, gradients)."""
    told = _by_the_doctor(task, name, candidate, variant)
    if told is not None:
        return told
    return Answer(True, f"{name}: right, under the conventions of your course.")


def _by_the_doctor(task: Task, name: str, candidate: Any, variant: dict[str, Any]) -> Answer | None:
    """What the doctor names in the candidate, brought to the book's conventions; None when it names nothing."""
    subject = task.subject(candidate, variant) if task.kind else None
    if subject is None:
        return None
    findings = _telling(diagnose(subject, task.kind, time_limit=5.0, **task.options(variant)))
    return _from_doctor(name, findings) if findings and findings[0].code not in _UNNAMED else None


def _from_doctor(name: str, findings: list[Finding]) -> Answer:
    text = "\n".join(map(str, findings))
    return Answer(False, f"{name}: not yet.\n{text}", tuple(finding.code for finding in findings))


def _telling(told: Diagnosis) -> list[Finding]:
    """Mistakes, and where there are none the remarks on empty rows: an assignment asks for zeros there."""
    mistakes = [finding for finding in told.findings if finding.severity != "remark"]
    return mistakes or [finding for finding in told.findings if finding.code.endswith("empty-row")]


def _other_convention(
    task: Task, candidate: Any, variant: dict[str, Any], cases: list[tuple[Any, ...]]
) -> Answer | None:
    """Whether it is right under another convention, in one switch."""
    cases = cases[: task.plain or None]
    for name, value in variant.items():
        if task.follows and name not in task.follows:
            continue
        for other in SWITCHES[name].values:
            if other == value:
                continue
            flipped = {**variant, name: other}
            try:
                fits = _equal(_answers(task, candidate, flipped, cases), _truths(task, flipped, cases))
            except (Exception, SystemExit):
                continue
            if fits:
                switch = SWITCHES[name]
                yours, wanted = switch.values[other], switch.values[value]
                text = (
                    f"Your function follows another convention ({switch.title}).\n"
                    f"    yours:   {yours}\n    wanted:  {wanted}"
                )
                return Answer(False, text, (f"convention-{name}",))
    return None


def _named(
    task: Task, name: str, candidate: Any, variant: dict[str, Any], cases: list[tuple[Any, ...]], got: list[list[Any]]
) -> Answer:
    for text, mistake in task.mistakes.items():
        if _equal(got, [mistake(variant, *case) for case in cases]):
            code, _, sentence = text.rpartition("|")
            return Answer(False, f"{name}: not yet. {sentence}", (code or "named",))
    told = _by_the_doctor(task, name, candidate, variant)
    if told is not None:
        return told
    code, sentence = _difference(got, _truths(task, variant, cases))
    return Answer(False, f"{name}: not yet. {sentence}", (code,))


def _difference(got: list[list[Any]], wanted: list[list[Tensor]]) -> tuple[str, str]:
    for one, other in zip(got, wanted, strict=True):
        if len(one) != len(other):
            return "wrong-count", f"It returns {len(one)} value{'s' * (len(one) != 1)}; it should return {len(other)}."
        for place, (mine, right) in enumerate(zip(one, other, strict=True), start=1):
            told = _one_difference(mine, right)
            if told is not None:
                return told[0], (f"Value {place}" if len(other) > 1 else "The result") + told[1]
    return "differs", "It differs."


def _one_difference(mine: Any, right: Tensor) -> tuple[str, str] | None:
    if not isinstance(mine, Tensor):
        return "wrong-type", f" is a {type(mine).__name__}, not a tensor."
    if mine.shape != right.shape:
        mine_text, right_text = tuple(mine.shape), tuple(right.shape)
        return "wrong-shape", f" has shape {mine_text} in the book's order of axes; it should have {right_text}."
    if (mine.dtype == torch.bool) != (right.dtype == torch.bool):
        return "wrong-dtype", f" has dtype {str(mine.dtype)[6:]}, which is not what the convention asks for."
    if _close(mine, right):
        return None
    if mine.dtype == torch.bool:
        return "differs", f" is wrong in {int((mine != right).sum())} of {right.numel()} entries."
    off = (mine.detach().double() - right.double()).abs()
    if not bool(off.isfinite().all()):
        return "differs", " has entries that are not finite where they should be, or finite where they should not."
    return "differs", f" is off by up to {off.max().item():.3g}."
