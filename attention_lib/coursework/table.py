"""The table of grades: a row for each student, written whole or not at all."""

from __future__ import annotations

import csv
import io
import os
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from attention_lib.coursework.marking import Mark
from attention_lib.coursework.submissions import Submission
from attention_lib.errors import OptionError

__all__ = ["FIXED", "Lateness", "as_csv", "harmless", "name_key", "read_rows", "read_table", "row_of", "write_whole"]

FIXED = ("student", "id", "file", "assignment", "score", "out_of", "status", "reason")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
_LAST = ("late_days", "handed_in", "older_files", "isolation", "sha256")


@dataclass(frozen=True)
class Lateness:
    """When it was due, and what a day late costs.

    Args:
        due: Moment in seconds; None when nothing is late.
        percent: Part of the points lost for each day begun.
    """

    due: float | None = None
    percent: float = 0.0

    def days(self, moment: float) -> int:
        """Days begun after the moment it was due."""
        if self.due is None or moment <= self.due:
            return 0
        return int(-(-(moment - self.due) // 86400))


def row_of(one: Submission, mark: Mark, assignment: str, points: float, lateness: Lateness) -> dict[str, str]:
    """The row of one student; texts are made harmless for a spreadsheet."""
    days = lateness.days(one.moment)
    kept = max(0.0, 1 - days * lateness.percent / 100)
    open_ = mark.status == "ungraded"  # no grade at all, not even 0
    reason = "; ".join(text for text in (_deducted(days, kept), one.note, mark.reason) if text)
    texts = {
        "student": one.student, "id": one.id, "file": one.file, "assignment": assignment,
        "score": "" if open_ else _number(mark.score * kept), "out_of": _number(points), "status": mark.status,
        "reason": reason, **{check.name: "" if open_ else _number(check.points) for check in mark.checks},
        "late_days": str(days) if lateness.due is not None else "", "handed_in": _moment(one.moment),
        "older_files": "; ".join(one.others), "isolation": mark.layers, "sha256": one.digest[:16],
    }  # fmt: skip
    return {name: harmless(text) for name, text in texts.items()}


def _deducted(days: int, kept: float) -> str:
    """What lateness did to the score, as the reason says it."""
    if not days:
        return ""
    lost = f"{100 * (1 - kept):g} % of the points taken off" if kept < 1 else "nothing taken off"
    return f"{days} day{'s' * (days > 1)} late, {lost}"


def _moment(seconds: float) -> str:
    import datetime

    return datetime.datetime.fromtimestamp(int(seconds), datetime.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _number(value: float) -> str:
    """Short and exact enough: 12.5, not 12.500000000000002."""
    return f"{round(value, 2):g}"


def harmless(text: str) -> str:
    """A spreadsheet takes a text that begins with = + - @ for a formula; a space in front stops that."""
    return f" {text}" if text[:1] in tuple("=+-@\t\r") and not _NUMBER.fullmatch(text) else text


def as_csv(rows: Iterable[Mapping[str, str]], checks: Iterable[str]) -> str:
    """The table as text: commas, quotes where needed, and a byte order mark so that Excel reads Chinese names."""
    out = io.StringIO()
    writer = csv.DictWriter(out, [*FIXED, *checks, *_LAST], restval="", lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(rows)
    return "\ufeff" + out.getvalue()


def name_key(name: str) -> str:
    """The letters of a name in order of the alphabet: "Lovelace, Ada" is "ada lovelace" is "lovelaceada"."""
    return "".join(sorted("".join(re.findall(r"\w+", unicodedata.normalize("NFC", name).casefold()))))


def write_whole(path: Path, text: str | bytes) -> None:
    """Write beside the file first, then put it in its place: a full disk leaves the old one as it was."""
    content = text.encode("utf-8") if isinstance(text, str) else text
    fresh = path.with_name(path.name + ".new")
    try:
        with open(fresh, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, path)
    except OSError:
        fresh.unlink(missing_ok=True)
        raise


def read_rows(path: Path, what: str) -> tuple[list[str], list[dict[str, str]]]:
    """Header and rows of a CSV, also of one that a spreadsheet saved with semicolons or tabs.

    Args:
        path: The file.
        what: What it should be, for the message.

    Raises:
        OptionError: It cannot be read, or is not UTF-8.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
        first = text.partition("\n")[0]
        delimiter = max(",;\t", key=first.count)
        reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
        rows = [{name: value or "" for name, value in row.items() if name is not None} for row in reader]
    except UnicodeDecodeError:
        raise OptionError(f"{path} cannot be read as {what}: it is not UTF-8; save it again as 'CSV UTF-8'") from None
    except OSError as error:
        raise OptionError(f"{path} cannot be read as {what}: {error.strerror or error}") from None
    except csv.Error as error:
        raise OptionError(f"{path} cannot be read as {what}: {error}") from None
    return list(reader.fieldnames or []), rows


def read_table(path: Path) -> list[dict[str, str]]:
    """The rows of a table that ``grade`` wrote.

    Raises:
        OptionError: The file is not such a table.
    """
    _, rows = read_rows(path, "a table of grades")
    if not rows or not set(FIXED) <= set(rows[0]):
        raise OptionError(f"{path} is not a table of grades; the command `grade` writes one")
    return rows
