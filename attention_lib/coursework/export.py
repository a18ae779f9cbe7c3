"""Hands grades on to learning management systems, and assignments to other graders."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from attention_lib.coursework.export_notebooks import gradescope_zip, nbgrader_notebook, otter_notebook
from attention_lib.coursework.model import Assignment
from attention_lib.errors import OptionError

__all__ = ["assignment", "grades"]

CANVAS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
MOODLE = (
    "Identifier",
    "Full name",
    "Email address",
    "Status",
    "Grade",
    "Maximum Grade",
    "Grade can be changed",
    "Last modified (submission)",
    "Last modified (grade)",
    "Feedback comments",
)
NBGRADER = (
    "assignment",
    "duedate",
    "timestamp",
    "student_id",
    "last_name",
    "first_name",
    "email",
    "raw_score",
    "late_submission_penalty",
    "score",
    "max_score",
)


def assignment(folder: Path, about: Assignment, key: str, kind: str) -> bytes | str:
    """An assignment for another grader.

    Args:
        folder: The assignment's folder.
        about: The assignment.
        key: Course key.
        kind: ``gradescope``, ``nbgrader`` or ``otter``.

    Raises:
        OptionError: That system takes grades, not assignments.
    """
    makers: dict[str, Callable[..., bytes | str]] = {
        "gradescope": gradescope_zip,
        "nbgrader": nbgrader_notebook,
        "otter": otter_notebook,
    }
    if kind not in makers:
        raise OptionError(f"--{kind} takes a table of grades; give the csv that `grade` wrote")
    if not about.checks:
        raise OptionError(f"{about.id} has written answers only; another grader has nothing to run")
    return makers[kind](folder, about, about.variant(key))


def grades(
    rows: Sequence[Mapping[str, str]], kind: str, roster: Path | None = None, column: str | None = None
) -> tuple[str, list[str]]:
    """A table of grades in the form of another system.

    Args:
        rows: Rows of the table that ``grade`` wrote.
        kind: ``canvas``, ``moodle`` or ``nbgrader``.
        roster: Canvas' gradebook or Moodle's worksheet, as downloaded: it says who is who.
        column: Canvas' name of the assignment, such as ``Attention (1234)``.

    Returns:
        The text, and a note for each student who could not be matched.

    Raises:
        OptionError: That system takes assignments, or the roster is something else.
    """
    if kind == "nbgrader":
        return _nbgrader_csv(rows), []
    if kind not in ("canvas", "moodle"):
        raise OptionError(f"--{kind} takes an assignment, not a table of grades; give its name")
    return (_canvas if kind == "canvas" else _moodle)(rows, roster, column)


def _csv(header: Sequence[str], rows: Sequence[Mapping[str, str]]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, header, restval="", extrasaction="ignore", lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _read(path: Path, needed: Sequence[str], what: str) -> tuple[list[str], list[dict[str, str]]]:
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            rows = [{name: value or "" for name, value in row.items() if name is not None} for row in reader]
            header = list(reader.fieldnames or [])
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise OptionError(f"{path} cannot be read: {error}") from None
    missing = [name for name in needed if name not in header]
    if missing:
        raise OptionError(f"{path} is not {what}: it has no column {', '.join(map(repr, missing))}")
    return header, rows


class _Names:
    """Finds the row of a student by number, or by name in either order; a name that two bear finds none."""

    def __init__(self, rows: Sequence[Mapping[str, str]]) -> None:
        self._by_id = {row["id"].strip(): row for row in rows if row["id"].strip()}
        self._by_name: dict[str, list[Mapping[str, str]]] = {}
        for row in rows:
            self._by_name.setdefault(_key(row["student"]), []).append(row)
        self.used: set[int] = set()

    def find(self, number: str, name: str) -> Mapping[str, str] | None:
        found = self._by_id.get(number.strip())
        if found is None:
            same = self._by_name.get(_key(name), [])
            found = same[0] if len(same) == 1 else None
        if found is not None:
            self.used.add(id(found))
        return found


def _key(name: str) -> str:
    """The letters of a name, its words in order of the alphabet: "Lovelace, Ada" is "ada lovelace" is "lovelaceada"."""
    words = re.findall(r"\w+", unicodedata.normalize("NFC", name).casefold())
    return "".join(sorted("".join(words)))


def _unmatched(rows: Sequence[Mapping[str, str]], names: _Names) -> list[str]:
    return [
        f"{row['student'].strip()} ({row['file'].strip()}) is not in the roster; enter {row['score']} by hand"
        for row in rows
        if id(row) not in names.used
    ]


def _canvas(rows: Sequence[Mapping[str, str]], roster: Path | None, column: str | None) -> tuple[str, list[str]]:
    """Canvas' gradebook import: five columns that say who, one for the assignment, and a row of points possible."""
    column = column or rows[0]["assignment"]
    possible = {"Student": "    Points Possible", column: rows[0]["out_of"]}
    if roster is None:
        made = [{"Student": row["student"].strip(), "ID": row["id"].strip(), column: row["score"]} for row in rows]
        note = "without --roster Canvas finds students by ID only; export its gradebook and give it as --roster"
        return _csv([*CANVAS, column], [possible, *made]), [] if all(row["id"].strip() for row in rows) else [note]
    _, people = _read(roster, CANVAS, "a gradebook of Canvas")
    names, made = _Names(rows), []
    for person in people:
        if not person["ID"].strip() or person["Student"].strip() == "Points Possible":
            continue
        found = names.find(person["ID"], person["Student"])
        made.append({**{name: person[name] for name in CANVAS}, column: found["score"] if found else ""})
    return _csv([*CANVAS, column], [possible, *made]), _unmatched(rows, names)


def _moodle(rows: Sequence[Mapping[str, str]], roster: Path | None, column: str | None) -> tuple[str, list[str]]:
    """Moodle's grading worksheet: the same rows back, with grade and feedback in them."""
    if roster is None:
        made = [
            {
                "Identifier": f"Participant {row['id'].strip()}",
                "Full name": row["student"].strip(),
                "Grade": row["score"],
                "Maximum Grade": row["out_of"],
                "Grade can be changed": "Yes",
                "Feedback comments": _feedback(row),
            }
            for row in rows
        ]
        missing = [
            f"{row['student'].strip()} has no number; download the worksheet and give it as --roster"
            for row in rows
            if not row["id"].strip()
        ]
        return _csv(MOODLE, made), missing
    header, people = _read(roster, ("Identifier", "Grade"), "a grading worksheet of Moodle")
    names = _Names(rows)
    header += [name for name in ("Feedback comments",) if name not in header]
    for person in people:
        found = names.find(person["Identifier"].removeprefix("Participant"), person.get("Full name", ""))
        if found is not None:
            person["Grade"], person["Feedback comments"] = _scaled(found, person), _feedback(found)
    return _csv(header, people), _unmatched(rows, names)


def _scaled(row: Mapping[str, str], person: Mapping[str, str]) -> str:
    """The score on Moodle's own scale, where that differs."""
    try:
        top = float(person.get("Maximum Grade", "").replace(",", "."))
        return f"{float(row['score']) / float(row['out_of']) * top:.2f}"
    except (ValueError, ZeroDivisionError):
        return row["score"]


def _feedback(row: Mapping[str, str]) -> str:
    return f"{row['score']} of {row['out_of']}: {row['reason'].strip()}"[:500]


def _nbgrader_csv(rows: Sequence[Mapping[str, str]]) -> str:
    """The columns that nbgrader's own exporter writes."""
    made = [
        {
            "assignment": row["assignment"],
            "timestamp": row["handed_in"],
            "student_id": row["id"].strip() or row["student"].strip(),
            "raw_score": row["score"],
            "late_submission_penalty": "0.0",
            "score": row["score"],
            "max_score": row["out_of"],
        }
        for row in rows
    ]
    return _csv(NBGRADER, made)
