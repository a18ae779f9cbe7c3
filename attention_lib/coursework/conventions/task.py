"""What one function of an assignment is: how it is asked, what should come out, which mistakes have a name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

__all__ = [
    "Answer",
    "Candidate",
    "Task",
    "Variant",
    "listed",
    "normal",
    "one_rank",
    "some",
    "spoken",
    "told_by",
    "with_empty_row",
    "with_logs_read",
    "with_zeros_named",
]

Variant = Mapping[str, Any]
Answer = list[Tensor]
Candidate = Callable[..., Any]


@dataclass(frozen=True)
class Task:
    """One function of one assignment.

    Args:
        inputs: Makes book inputs from a generator.
        ask: Calls the candidate with book inputs under a variant; the answer in the book's order.
        truth: What the answer should be.
        kind: What the doctor is asked about the candidate in the book's conventions; "" for nothing.
        subject: Makes what the doctor examines; None where the doctor has no such convention.
        options: Further options for the doctor.
        mistakes: What an answer does wrong, after "code|" where it has one -> the answer that shows it.
        follows: The switches that this function can show.
        plain: How many of the inputs show a convention; 0 for all.
        labels: When each of the inputs occurs, in words that follow "right" and "but not".
        values: What each value of an answer is called, where there are several.
        unasked: Codes of the doctor for what this function is not asked for.
        by_hand: Whether it is asked to do without autograd.
    """

    inputs: Callable[[torch.Generator], list[tuple[Any, ...]]]
    ask: Callable[..., Answer]
    truth: Callable[..., Answer]
    kind: str = ""
    subject: Callable[[Candidate, Variant], Any] = field(default=lambda candidate, variant: candidate)
    options: Callable[[Variant], dict[str, Any]] = field(default=lambda variant: {})
    mistakes: Mapping[str, Callable[..., Answer]] = field(default_factory=dict)
    follows: Sequence[str] = ()
    plain: int = 0
    labels: Sequence[str] = ()
    values: Sequence[str] = ()
    unasked: Sequence[str] = ()
    by_hand: bool = False


def normal(generator: torch.Generator, *shape: int) -> Tensor:
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def some(generator: torch.Generator, *shape: int) -> Tensor:
    mask = torch.rand(shape, generator=generator) < 0.6
    mask[..., 0], mask[..., -1] = True, False
    return mask


def with_empty_row(mask: Tensor) -> Tensor:
    mask[..., 1, :] = False
    return mask


def listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (tuple, list)) else [value]


def told_by(ask: Callable[..., Answer], wrong: Callable[..., Any]) -> Callable[..., Answer]:
    """What a wrong answer, written as a student would under the variant, gives in the book's order."""

    def made(variant: Variant, *inputs: Any) -> Answer:
        return ask(lambda *given: wrong(variant, *given), variant, *inputs)

    return made


def with_logs_read(answer: Answer, variant: Variant) -> Answer:
    """Logarithms as weights, and where they were -inf: next to 0 is not 0."""
    if variant["gives"] == "output_log_weights" and len(answer) == 2:
        return [answer[0], answer[1].exp(), answer[1].isneginf()]
    return answer


def with_zeros_named(right: Answer, variant: Variant) -> Answer:
    """Output and weights as ``with_logs_read`` would give them."""
    return [*right, right[1] == 0] if variant["gives"] == "output_log_weights" else right[:1]


def spoken(variant: Variant) -> dict[str, Any]:
    return {"mask": variant.get("mask", "allowed")}


def one_rank(query: Tensor, axes: int) -> None:
    """Tell the doctor not to try other ranks: they show nothing more, and its search takes half as long.

    Raises:
        ValueError: ``query`` has another number of axes.
    """
    if query.ndim != axes:
        raise ValueError(f"query must have {axes} axes, not {query.ndim}")
