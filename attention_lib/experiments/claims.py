"""What a chapter found out about a claim: asserted where it is measured, and recorded for the ledger."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path

import torch

from attention_lib.errors import OptionError

__all__ = ["VERDICTS", "claim", "record_name"]

VERDICTS = ("holds", "holds under conditions", "not at this scale", "does not hold")
FOLDER = "ATTENTION_CLAIMS"  # where the book's build wants the records; unset for readers


def claim(
    number: str,
    verdict: str,
    measured: str,
    values: float | Sequence[float] | torch.Tensor,
    *,
    within: tuple[float, float],
    condition: str = "",
) -> None:
    """Assert that what was measured lies where the text says, and record it for the ledger of claims.

    Args:
        number: The claim, "S1" to "S29".
        verdict: One of ``VERDICTS``.
        measured: What the values are, in a few words, with the unit.
        values: One number, or one for each seed or setting.
        within: Smallest and largest value with which the verdict stands.
        condition: When it holds; needed for "holds under conditions".

    Raises:
        OptionError: An unknown verdict, a number that is no claim's, no values, or a missing condition.
        AssertionError: A value outside ``within``: the text would no longer be true.

    Example:
        >>> claim("S10", "holds", "variance of a score / d_k", [0.99, 1.01], within=(0.97, 1.03))
        >>> claim("S10", "holds", "variance of a score / d_k", 1.2, within=(0.97, 1.03))
        Traceback (most recent call last):
        AssertionError: S10, variance of a score / d_k: 1.2 is outside 0.97 to 1.03
    """
    if not re.fullmatch(r"S([1-9]|1\d|2\d)", number) or verdict not in VERDICTS:
        raise OptionError(
            f"claim {number!r} with verdict {verdict!r}; claims are S1 to S29, verdicts {', '.join(VERDICTS)}"
        )
    if verdict == "holds under conditions" and not condition:
        raise OptionError(f"claim {number} holds under conditions; say which: condition=...")
    numbers = [float(value) for value in torch.as_tensor(values, dtype=torch.float64).flatten()]
    if not numbers:
        raise OptionError(f"claim {number}, {measured}: there are no values")
    for value in numbers:
        if not within[0] <= value <= within[1]:
            raise AssertionError(f"{number}, {measured}: {value:.4g} is outside {within[0]:g} to {within[1]:g}")
    _record(number, verdict, measured, numbers, condition)


def record_name(number: str, measured: str) -> str:
    """Name of the file that holds a record."""
    return f"{number}-{re.sub(r'[^a-z0-9]+', '-', measured.lower()).strip('-')}.json"


def _record(number: str, verdict: str, measured: str, numbers: list[float], condition: str) -> None:
    folder = os.environ.get(FOLDER)
    if not folder:
        return
    record = {
        "claim": number,
        "verdict": verdict,
        "measured": measured,
        "condition": condition,
        "count": len(numbers),
        "mean": sum(numbers) / len(numbers),
        "least": min(numbers),
        "most": max(numbers),
    }
    Path(folder).mkdir(parents=True, exist_ok=True)
    path = Path(folder) / record_name(number, measured)
    path.write_text(json.dumps(record, ensure_ascii=False, indent=1), "utf-8")
