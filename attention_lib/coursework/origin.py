"""Which assignment and conventions a notebook says it is of: a hint for the teacher, read as text, never trusted.

The set-up cell of every release names them. A wrong key at grading, or a student who took another notebook than the
one handed out, shows there before anybody gets 0 points for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attention_lib.errors import OptionError

__all__ = ["claim", "doubt", "refuse_another_key"]

_CALL = re.compile(
    r"^assignment\(\s*(['\"])(\w{1,40})\1((?:\s*,\s*\w{1,30}\s*=\s*['\"]?[\w.]{1,30}['\"]?){0,12})\s*,?\s*\)", re.M
)
_PAIR = re.compile(r"(\w+)\s*=\s*['\"]?([\w.]+)")


def claim(cells: Iterable[str]) -> tuple[str, dict[str, str]] | None:
    """The assignment and the conventions that the set-up cell names; None where there is no such cell.

    Example:
        >>> claim(["import torch", "assignment('scores', keys='rows', temperature=0.5)"])
        ('scores', {'keys': 'rows', 'temperature': '0.5'})
    """
    found = [match for cell in cells for match in _CALL.finditer(cell)]
    return (found[-1][2], dict(_PAIR.findall(found[-1][3]))) if found else None


def doubt(cells: Iterable[str], assignment: str, variant: Mapping[str, Any]) -> str:
    """Empty where the notebook fits what is graded, or says nothing; else a sentence.

    Args:
        cells: Sources of its code cells.
        assignment: Id of what is graded.
        variant: The conventions asked for.
    """
    told = claim(cells)
    if told is None:
        return ""
    if told[0] != assignment:
        return f"the notebook is of the assignment {told[0]!r}, not of {assignment!r}"
    wanted = {name: str(value) for name, value in variant.items()}
    other = [
        f"{name}={told[1].get(name, '?')}, not {wanted[name]}" for name in wanted if told[1].get(name) != wanted[name]
    ]
    return f"the notebook has other conventions than the key ({'; '.join(other)})" if other else ""


def refuse_another_key(notebooks: Sequence[Sequence[str]], assignment: str, variant: Mapping[str, Any]) -> None:
    """Stop where most notebooks are of something else: then the key or the assignment is wrong, not the class.

    Args:
        notebooks: The code cells of some submissions.
        assignment: Id of what is graded.
        variant: The conventions asked for.

    Raises:
        OptionError: More than half of those that name an assignment name another one, or other conventions.
    """
    telling = [cells for cells in notebooks if claim(cells) is not None]
    doubts = [text for text in (doubt(cells, assignment, variant) for cells in telling) if text]
    if 2 * len(doubts) > len(telling):
        common = max(set(doubts), key=lambda text: (doubts.count(text), text))
        raise OptionError(
            f"{len(doubts)} of {len(telling)} notebooks looked at are not what this command grades: {common}; "
            "give the --assignment and the --key of the release, or add --anyway"
        )
