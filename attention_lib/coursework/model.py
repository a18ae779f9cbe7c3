"""What an assignment is to the grader: functions to define, checks worth points, and cases drawn from a secret seed."""

from __future__ import annotations

import hashlib
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from attention_lib.coursework.variants import draw_variant
from attention_lib.coursework.withheld import TORCH_ATTENTION, TORCH_GRADIENTS
from attention_lib.errors import OptionError

__all__ = [
    "ANYTHING",
    "TORCH_ATTENTION",
    "TORCH_GRADIENTS",
    "Assignment",
    "Case",
    "Check",
    "Draw",
    "assignment_from_source",
    "load_assignment",
    "same",
]

_PRIMES = (2, 3, 5, 7, 11)
ANYTHING = object()  # expected in a place that this case does not compare


class Draw:
    """Inputs from a secret seed, under the conventions of a release.

    Args:
        seed: Any integer.
        variant: Switch -> value.
    """

    def __init__(self, seed: int, variant: Mapping[str, Any]) -> None:
        self.variant = dict(variant)
        self.generator = torch.Generator().manual_seed(seed % 2**63)

    def normal(self, *shape: int, dtype: torch.dtype = torch.float64, scale: float = 1.0) -> Tensor:
        """Standard normal numbers, times ``scale``."""
        return (scale * torch.randn(shape, generator=self.generator, dtype=torch.float64)).to(dtype)

    def sizes(self, count: int) -> list[int]:
        """Different small primes, so that no two axes can be mistaken for each other."""
        order = torch.randperm(len(_PRIMES), generator=self.generator)[:count]
        return [_PRIMES[int(place)] for place in order]

    def integer(self, low: int, high: int) -> int:
        """A whole number from ``low`` to ``high``, both included."""
        return int(torch.randint(low, high + 1, (), generator=self.generator))

    def allowed(self, *shape: int, share: float = 0.6) -> Tensor:
        """Random True = may attend; every row of the last axis allows something and, where it can, blocks something."""
        mask = torch.rand(shape, generator=self.generator) < share
        where = torch.randint(shape[-1], shape[:-1], generator=self.generator)[..., None]
        mask = mask.scatter(-1, where, torch.ones_like(where, dtype=torch.bool))
        if shape[-1] > 1:
            mask = mask.scatter(-1, (where + 1) % shape[-1], torch.zeros_like(where, dtype=torch.bool))
        return mask


@dataclass(frozen=True)
class Case:
    """One call of the student's function, and what must come back.

    Args:
        function: Its name.
        arguments: Its arguments.
        expected: A tensor, or a list of them.
        gradient: Places of the arguments whose gradients are compared; the last argument is then the arriving one.
        tolerance: Largest difference, relative to the largest expected number.
    """

    function: str
    arguments: tuple[Any, ...]
    expected: Any
    gradient: tuple[int, ...] | None = None
    tolerance: float = 1e-5


@dataclass(frozen=True)
class Check:
    """Points for a property.

    Args:
        name: Short name, the column of the table of grades.
        points: What it is worth.
        title: What the student is told about it.
        make: Makes its cases.
    """

    name: str
    points: float
    title: str
    make: Callable[[Draw], list[Case]]


@dataclass(frozen=True)
class Assignment:
    """One assignment.

    Args:
        id: Name of its folder.
        title: Its title.
        chapter: Stem of the chapter it belongs to.
        minutes: About how long it takes.
        goals: What a student can do afterwards.
        functions: Names that must be defined -> signature.
        switches: Which conventions a course key draws.
        checks: What is checked for points.
        withheld: Places in torch that the student is asked to write, and may not call.
        rubric: For written answers: name of the answer -> [(points, what earns them), ...].
    """

    id: str
    title: str
    chapter: str
    minutes: int
    goals: tuple[str, ...]
    functions: Mapping[str, str]
    switches: tuple[str, ...]
    checks: tuple[Check, ...] = ()
    withheld: tuple[str, ...] = TORCH_ATTENTION
    rubric: Mapping[str, Sequence[tuple[float, str]]] = field(default_factory=dict)

    @property
    def points(self) -> float:
        """All points that can be had."""
        written = sum(points for rows in self.rubric.values() for points, _ in rows)
        return sum(check.points for check in self.checks) + written

    def variant(self, key: str) -> dict[str, Any]:
        """The conventions that a course key draws."""
        return draw_variant(key, self.id, self.switches)


def load_assignment(folder: Path) -> Assignment:
    """Read ``checks.py`` of an assignment's folder.

    Raises:
        OptionError: There is none, or it defines no ``ASSIGNMENT``.
    """
    path = folder / "checks.py"
    if not path.is_file():
        raise OptionError(f"{folder} holds no checks.py; an assignment's folder has source.md and checks.py")
    return assignment_from_source(path.read_text(encoding="utf-8"), folder.name)


@lru_cache(maxsize=64)
def assignment_from_source(source: str, name: str) -> Assignment:
    """The assignment that the teacher's ``checks.py`` defines; cached, so that a job may carry the text."""
    module = types.ModuleType(f"checks_{hashlib.sha256(source.encode()).hexdigest()[:12]}")
    exec(compile(source, f"{name}/checks.py", "exec"), vars(module))
    found = getattr(module, "ASSIGNMENT", None)
    if not isinstance(found, Assignment):
        raise OptionError(f"{name}/checks.py defines no ASSIGNMENT")
    return found


def same(got: Any, expected: Any, tolerance: float) -> str:
    """Empty when ``got`` is what was expected, else what differs, without giving the expected numbers away."""
    if isinstance(expected, (list, tuple)):
        if not isinstance(got, (list, tuple)):
            return f"one value came back, not {len(expected)}"
        if len(got) != len(expected):
            return f"{len(got)} values came back, not {len(expected)}"
        told = [same(one, other, tolerance) for one, other in zip(got, expected, strict=True)]
        return next((f"value {n + 1}: {text}" for n, text in enumerate(told) if text), "")
    if expected is ANYTHING:
        return ""
    if not isinstance(got, Tensor):
        return f"what came back is of type {type(got).__name__}, not a tensor"
    if got.shape != expected.shape:
        return f"the result has shape {tuple(got.shape)}, not {tuple(expected.shape)}"
    if got.dtype != expected.dtype:
        return f"the result is {str(got.dtype)[6:]}, not {str(expected.dtype)[6:]}"
    return _same_numbers(got, expected, tolerance)


def _same_numbers(got: Tensor, expected: Tensor, tolerance: float) -> str:
    if got.dtype == torch.bool or not got.is_floating_point():
        wrong = int((got != expected).sum())
        return f"{wrong} of {got.numel()} entries are wrong" if wrong else ""
    got, expected = got.double(), expected.double()
    finite = torch.isfinite(expected)
    if not torch.equal(got[~finite], expected[~finite]):
        return "entries that should be -inf are not"
    if not bool(torch.isfinite(got[finite]).all()):
        return "entries that should be finite are not"
    if not bool(finite.any()):
        return ""
    off = float((got[finite] - expected[finite]).abs().max())
    allowed = tolerance * max(float(expected[finite].abs().max()), 1e-3)
    return "" if off <= allowed else f"numbers are off by up to {off:.2g}"
