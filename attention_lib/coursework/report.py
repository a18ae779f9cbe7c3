"""What one student may be told: score, every check with its reason, and nothing about anybody else."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from pathlib import Path

from attention_lib.coursework.journal import _json
from attention_lib.coursework.model import Assignment
from attention_lib.coursework.table import FIXED, name_key, read_table
from attention_lib.errors import OptionError

__all__ = ["report"]

_OTHER = {*FIXED, "late_days", "handed_in", "older_files", "isolation", "sha256"}


def report(table: Path, student: str, assignments: Sequence[Assignment] = ()) -> str:
    """The report of one student from a table of grades.

    Args:
        table: What ``grade`` wrote.
        student: Name or id; capital letters and the form of accents do not matter.
        assignments: For the titles of the checks.

    Raises:
        OptionError: No such student, or several.
    """
    rows = read_table(table)
    wanted = _plain(student)
    found = [row for row in rows if wanted in (_plain(row["student"]), _plain(row["id"]))]
    found = found or [row for row in rows if wanted and name_key(row["student"]) == name_key(student)]
    if not found:
        near = [row["student"] for row in rows if wanted and wanted in _plain(row["student"])]
        hint = f"; did you mean {', '.join(near[:5])}?" if near else ""
        raise OptionError(f"{table} has no student {student!r}{hint}")
    if len(found) > 1:
        raise OptionError(
            f"{len(found)} students are called {student!r}; give the id: {', '.join(r['id'] for r in found)}"
        )
    return "\n".join(_lines(found[0], _journal_reasons(table, found[0]), _titles(found[0], assignments)))


def _plain(text: str) -> str:
    return unicodedata.normalize("NFC", text).strip().casefold()


def _titles(row: dict[str, str], assignments: Sequence[Assignment]) -> dict[str, tuple[float, str]]:
    checks = [c for one in assignments if one.id == row["assignment"] for c in one.checks]
    return {check.name: (check.points, check.title) for check in checks}


def _journal_reasons(table: Path, row: dict[str, str]) -> dict[str, str]:
    """The reason of every check, from the journal beside the table, if it is still there."""
    path = table.with_name(table.name + ".journal")
    if not path.exists() or not row["sha256"]:
        return {}
    for line in path.read_text(encoding="utf-8").split("\n")[1:]:
        told = _json(line)
        if told is not None and str(told.get("digest", "")).startswith(row["sha256"]):
            return {check["name"]: check["reason"] for check in told["checks"]}
    return {}


def _late(row: dict[str, str]) -> str:
    """How late it was, and what that took."""
    before = sum(float(points) for name, points in row.items() if name not in _OTHER and points)
    days = row["late_days"].strip()
    taken = before - float(row["score"] or 0)
    return f"late, day {days}: {before:g} points without that, {taken:g} taken off"


def _lines(row: dict[str, str], reasons: dict[str, str], titles: dict[str, tuple[float, str]]) -> list[str]:
    lines = [
        f"{row['student'].strip()}: {row['assignment']}, {row['score']} of {row['out_of']} points ({row['status']})",
        f"file: {row['file']}, handed in {row['handed_in']}",
    ]
    if row["late_days"].strip() not in ("", "0"):
        lines.append(_late(row))
    for name, points in row.items():
        if name in _OTHER or points == "":
            continue
        of, title = titles.get(name, (0.0, ""))
        worth = f"{points} of {of:g}" if of else points
        reason = reasons.get(name, "")
        lines.append(f"  {name:16} {worth:>9}  {title}" + (f": {reason}" if reason and reason != "passed" else ""))
    if not reasons or row["score"] != row["out_of"]:  # also what belongs to no check: a cell that cannot be read
        lines.append(f"why: {row['reason']}")
    if row["older_files"]:
        lines.append(f"older files that were not graded: {row['older_files']}")
    return lines
