"""What a student asks: ``assignment`` says which conventions hold, ``check`` judges one function by them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from attention_lib.coursework.comparing import difference, equal
from attention_lib.coursework.conventions import TASKS, Task
from attention_lib.coursework.listening import Listener, described
from attention_lib.coursework.variants import SWITCHES, check_variant
from attention_lib.coursework.withheld import TORCH_ATTENTION, TORCH_GRADIENTS, Withheld
from attention_lib.doctor import Diagnosis, Finding, diagnose
from attention_lib.errors import OptionError

__all__ = ["Answer", "assignment", "check", "current", "tasks_of"]

_OPEN = "Not answered yet. Write your function, run its cell, and ask again."
_STATE = "Asked the same again, it answers otherwise: does it keep something in a global variable?"
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
    listener = Listener(candidate, (*TORCH_ATTENTION, *(TORCH_GRADIENTS if task.by_hand else ())))
    got: list[list[Any]] | BaseException
    try:
        got = _answers(task, listener, variant, cases)
    except NotImplementedError:
        return Answer(False, _OPEN, ("open",))
    except Withheld as error:
        return Answer(False, f"{name}: not yet. {error}.", ("withheld",))
    except (Exception, SystemExit) as error:  # a learner's code may raise anything; it must not end the notebook
        got = error
    if listener.fault:
        return Answer(False, f"{name}: not yet. {listener.fault[1]}", (listener.fault[0],))
    truths = _truths(task, variant, cases)
    if not isinstance(got, BaseException):
        if equal(got, truths) or (listener.dtype and equal(got, truths, 1e-3)):
            return _thorough(task, name, candidate, variant, listener)
        mistake = _known_mistake(task, name, variant, cases, got)
        if mistake is not None:
            return mistake
    other = _other_convention(task, candidate, variant, cases)
    if other is not None:
        return other
    if isinstance(got, BaseException):
        told = _by_the_doctor(task, name, candidate, variant)
        if told is not None:
            return told
        return _raised(task, name, got, listener)
    told = _by_the_doctor(task, name, candidate, variant)
    if told is not None:
        return told
    code, sentence = difference(got, truths, task.labels, task.values)
    return Answer(False, f"{name}: not yet. {sentence}", (code,))


def _raised(task: Task, name: str, error: BaseException, listener: Listener) -> Answer:
    if listener.returned:  # not the student's function raised, but what looked at its result
        text = f"It returned {described(listener.returned[0])}; that is not the form asked for."
        return Answer(False, f"{name}: not yet. {text}", ("form",))
    label = task.labels[listener.calls - 1] if 0 < listener.calls <= len(task.labels) else ""
    where = f" {label}" if label else ""
    return Answer(
        False, f"{name} raised {type(error).__name__}{where}: {error} (called with {listener.shapes})", ("raised",)
    )


def _answers(task: Task, candidate: Any, variant: Mapping[str, Any], cases: list[tuple[Any, ...]]) -> list[list[Any]]:
    return [task.ask(candidate, variant, *_copies(case)) for case in cases]


def _copies(case: tuple[Any, ...]) -> Iterator[Any]:
    return (one.clone() if isinstance(one, Tensor) else one for one in case)


def _truths(task: Task, variant: Mapping[str, Any], cases: list[tuple[Any, ...]]) -> list[list[Tensor]]:
    return [task.truth(variant, *case) for case in cases]


def _thorough(task: Task, name: str, candidate: Any, variant: dict[str, Any], listener: Listener) -> Answer:
    """Right on the plain inputs: the doctor looks for what they cannot show (large scores, empty rows, gradients)."""
    if not listener.dtype:
        try:
            _in_float32(task, listener, variant)
        except (Exception, SystemExit) as error:
            text = f"{name} raised {type(error).__name__} for float32 inputs: {error}"
            return Answer(False, text, ("wrong-dtype",))
    if listener.dtype:
        return Answer(False, f"{name}: not yet. {listener.dtype}", ("wrong-dtype",))
    cases = task.inputs(torch.Generator().manual_seed(2026))[:1]
    if not equal(_answers(task, candidate, variant, cases), _truths(task, variant, cases)):
        return Answer(False, f"{name}: not yet. {_STATE}", ("state-kept",))
    told = _by_the_doctor(task, name, candidate, variant)
    if told is not None:
        return told
    return Answer(True, f"{name}: right, under the conventions of your course.")


def _in_float32(task: Task, listener: Listener, variant: dict[str, Any]) -> None:
    """Call it with the first inputs in float32, only to listen to the dtype of the result."""
    first = task.inputs(torch.Generator().manual_seed(2027))[0]
    given = [one.float() if isinstance(one, Tensor) and one.is_floating_point() else one for one in first]
    task.ask(listener, variant, *given)


def _by_the_doctor(task: Task, name: str, candidate: Any, variant: dict[str, Any]) -> Answer | None:
    """What the doctor names in the candidate, brought to the book's conventions; None when it names nothing."""
    subject = task.subject(candidate, variant) if task.kind else None
    if subject is None:
        return None
    told = _telling(diagnose(subject, task.kind, time_limit=5.0, **task.options(variant)))
    findings = [finding for finding in told if finding.code not in task.unasked]
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
                fits = equal(_answers(task, candidate, flipped, cases), _truths(task, flipped, cases))
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


def _known_mistake(
    task: Task, name: str, variant: dict[str, Any], cases: list[tuple[Any, ...]], got: list[list[Any]]
) -> Answer | None:
    """The mistake of the task's list that gives just these values."""
    for text, mistake in task.mistakes.items():
        if equal(got, [mistake(variant, *case) for case in cases]):
            code, _, sentence = text.rpartition("|")
            return Answer(False, f"{name}: not yet. {sentence}", (code or "named",))
    return None
