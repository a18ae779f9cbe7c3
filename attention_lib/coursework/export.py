"""Hands grades on to learning management systems, and assignments to other graders."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from attention_lib.coursework.export_notebooks import gradescope_zip, nbgrader_notebook, otter_notebook
from attention_lib.coursework.model import Assignment
from attention_lib.coursework.table import name_key as _key
from attention_lib.coursework.table import read_rows
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


_NUMBERED = re.compile(r" \(\d+\)$")  # how Canvas ends the name of an assignment's column


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
    if kind not in ("canvas", "moodle", "nbgrader"):
        raise OptionError(f"--{kind} takes an assignment, not a table of grades; give its name")
    open_ = [
        f"{row['student'].strip()} was not graded and gets no points here; run `grade` again"
        for row in rows
        if row["status"] == "ungraded"
    ]
    if kind == "nbgrader":
        return _nbgrader_csv(rows), open_
    text, notes = (_canvas if kind == "canvas" else _moodle)(rows, roster, column)
    return text, open_ + notes


def _csv(header: Sequence[str], rows: Sequence[Mapping[str, str]]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, header, restval="", extrasaction="ignore", lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _read(path: Path, needed: Sequence[str], what: str) -> tuple[list[str], list[dict[str, str]]]:
    header, rows = read_rows(path, what)
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


def _unmatched(rows: Sequence[Mapping[str, str]], names: _Names) -> list[str]:
    return [
        f"{row['student'].strip()} ({row['file'].strip()}) is not in the roster; enter {row['score']} by hand"
        for row in rows
        if id(row) not in names.used and row["score"].strip()
    ]


def _canvas(rows: Sequence[Mapping[str, str]], roster: Path | None, column: str | None) -> tuple[str, list[str]]:
    """Canvas' gradebook import: five columns that say who, one for the assignment, and a row of points possible."""
    column = column or rows[0]["assignment"]
    top = rows[0]["out_of"]
    possible = {"Student": "    Points Possible", column: top}
    if roster is None:
        made = [{"Student": row["student"].strip(), "ID": row["id"].strip(), column: row["score"]} for row in rows]
        note = "without --roster Canvas finds students by ID only; export its gradebook and give it as --roster"
        return _csv([*CANVAS, column], [possible, *made]), [] if all(row["id"].strip() for row in rows) else [note]
    header, people = _read(roster, CANVAS, "a gradebook of Canvas")
    _known_column(column, header, roster)
    names, made = _Names(rows), []
    for person in people:
        if person["Student"].strip() == "Points Possible" and _points(person.get(column, "")):
            possible[column] = person[column].strip()
        if not person["ID"].strip() or person["Student"].strip() == "Points Possible":
            continue
        found = names.find(person["ID"], person["Student"])
        score = _scaled(found, possible[column]) if found else ""
        made.append({**{name: person[name] for name in CANVAS}, column: score})
    return _csv([*CANVAS, column], [possible, *made]), _unmatched(rows, names)


def _known_column(column: str, header: Sequence[str], roster: Path) -> None:
    """A column with Canvas' number in it is one of the gradebook's; a misspelled one would make a new assignment."""
    theirs = [name for name in header if _NUMBERED.search(name)]
    if _NUMBERED.search(column) and column not in theirs:
        raise OptionError(f"{roster} has no column {column!r}; its assignments are {', '.join(theirs) or 'none'}")


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
        without = [row["student"].strip() for row in rows if not row["id"].strip()]
        note = "without --roster Moodle finds students by number only; download the worksheet and give it as --roster"
        return _csv(MOODLE, made), [f"{note}: {', '.join(without)}"] if without else []
    header, people = _read(roster, ("Identifier", "Grade"), "a grading worksheet of Moodle")
    names = _Names(rows)
    header += [name for name in ("Feedback comments",) if name not in header]
    for person in people:
        found = names.find(person["Identifier"].removeprefix("Participant"), person.get("Full name", ""))
        if found is not None:
            top = person.get("Maximum Grade", "")
            person["Grade"], person["Feedback comments"] = _scaled(found, top, 2), _feedback(found)
    return _csv(header, people), _unmatched(rows, names)


def _points(text: str) -> float:
    """A number of points as a learning system writes it: 100, 100.00 or 100,00; 0 where it is none."""
    try:
        return float(text.strip().replace(",", "."))
    except ValueError:
        return 0.0


def _scaled(row: Mapping[str, str], top: str, digits: int | None = None) -> str:
    """The score on the system's own scale, where that differs; nothing where there is no grade."""
    score, out_of, highest = row["score"].strip(), _points(row["out_of"]), _points(top)
    if not score or not out_of or not highest:
        return score
    if digits is None:
        return score if highest == out_of else f"{_points(score) / out_of * highest:.4g}"
    return f"{_points(score) / out_of * highest:.{digits}f}"


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
