"""What a row of the bench says: its variants, what they are compared by, and the targets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attention_lib.errors import AttentionError

__all__ = ["OURS", "Absent", "Built", "Case", "Setting", "Target"]

OURS = "attention_lib"  # the variant that targets speak of


class Absent(Exception):
    """A variant that cannot run here; the message is the reason."""


class Setting(NamedTuple):
    """Where a case runs, and whether it may take its smaller size."""

    device: torch.device
    quick: bool = False
    compile: bool = False  # flex_attention too, which is worth nothing uncompiled and slow to compile on a CPU


class Target(NamedTuple):
    """``measure`` of the peer is at least ``factor`` times that of ours.

    ``peer`` is a variant, the beginning of several variants' names (then the best of them counts), or one of the
    sizes that the case names.
    """

    measure: str  # "time", "memory" or "error"
    peer: str
    factor: float


@dataclass
class Built:
    """A case with its tensors made.

    Args:
        variants: name -> call. All of them compute the same, unless ``reference`` is None.
        absent: name -> why it cannot run here.
        reference: The true result in float64, or None where results are random.
        judged: What of a result is compared with the reference.
        error_peer: The variant whose error ours may not exceed twice.
        multiplications: In the matrix products of attention, counted where a query may attend.
        bytes: Read and written at least.
        weights: Numbers that go through softmax, counted as often as they must.
        sizes: name -> bytes that targets of memory may name.
        incomparable: Variants that compute something else, a part of the work, say.
    """

    variants: dict[str, Callable[[], Any]]
    absent: dict[str, str] = field(default_factory=dict)
    reference: Callable[[], Tensor] | None = None
    judged: Callable[[Any], Tensor] = lambda result: result
    error_peer: str = ""
    multiplications: int = 0
    bytes: int = 0
    weights: int = 0
    sizes: dict[str, int] = field(default_factory=dict)
    incomparable: set[str] = field(default_factory=set)
    _true: Tensor | None = None

    def true(self) -> Tensor:
        """The reference, computed when it is first asked for."""
        if self._true is None:
            if self.reference is None:
                raise ValueError("this case has no reference to compare with")
            self._true = self.reference().double()
        return self._true

    def offer(self, name: str, make: Callable[[], Callable[[], Any]]) -> None:
        """Add a variant, or the reason why it cannot run here."""
        try:
            self.variants[name] = make()
        except Absent as reason:
            self.absent[name] = str(reason)
        except (AttentionError, RuntimeError, TypeError) as error:  # a version of the peer that wants another call
            self.absent[name] = f"{type(error).__name__}: {str(error).partition(chr(10))[0][:120]}"


@dataclass(frozen=True)
class Case:
    """One line of the table: built when its turn comes, so that no case holds another's memory."""

    row: int
    title: str
    build: Callable[[Setting], Built]
    targets: tuple[Target, ...] = ()
    heavy: bool = False  # left out of --quick, since another case of the row is there

    def rounds(self, asked: int) -> int:
        """How many rounds of timing: those asked for, but three at most where no target is of time."""
        timed = any(target.measure == "time" for target in self.targets)
        return asked if timed else min(asked, 3)
