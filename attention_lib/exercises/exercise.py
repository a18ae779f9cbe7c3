"""What an exercise is: a right answer, and the wrong answers people give, each with what it shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attention_lib.doctor.findings import Diagnosis

__all__ = ["Implement", "Predict"]


@dataclass(frozen=True)
class Predict:
    """A number to predict before it is measured.

    Args:
        truth: The right number.
        praise: What the right answer shows, in a sentence.
        mistakes: Wrong number -> what leads to it.
        hint: For every other number.
        tolerance: Relative distance at which a number still counts as this one.
    """

    truth: float
    praise: str
    mistakes: Mapping[float, str]
    hint: str
    tolerance: float = 0.01


@dataclass(frozen=True)
class Implement:
    """A function to write or to repair.

    Args:
        truth: The right function.
        cases: Makes the argument tuples on which an answer is compared with ``truth``.
        praise: What the right answer shows, in a sentence.
        mistakes: What an answer does wrong -> a function that does just that.
        hint: For an answer that is wrong in another way.
        tolerance: Largest difference, absolute plus relative, that still counts as equal.
        reads: Applied to every result before it is compared, for answers that are not one tensor.
        examine: Asks the attention doctor about an answer that is an attention, or a part of one. It is asked when
            the answer is wrong in a way not listed here, and also when the answer is right.
    """

    truth: Callable[..., Any]
    cases: Callable[[], list[tuple[Any, ...]]]
    praise: str
    mistakes: Mapping[str, Callable[..., Any]]
    hint: str
    tolerance: float = 1e-4
    reads: Callable[[Any], Any] = field(default=lambda result: result)
    examine: Callable[[Callable[..., Any]], Diagnosis] | None = None
