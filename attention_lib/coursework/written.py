"""Written answers: taken out for a person to read, and the points put back into the table.

The sheet is a CSV with a row for each student and answer and a column for each line of the rubric; the reader fills
in points. Answers are shown as text; nothing in them is run.
"""

from __future__ import annotations

import ast
import csv
import html
import io
from collections.abc import Iterable
from pathlib import Path

from attention_lib.coursework.extract import statements_of
from attention_lib.coursework.marking import CheckResult, Mark
from attention_lib.coursework.model import Assignment
from attention_lib.coursework.submissions import Submission, collect, read_submission
from attention_lib.coursework.table import Lateness, _harmless, as_csv, row_of
from attention_lib.errors import OptionError

__all__ = ["answers_in", "marked", "reading_page", "sheet"]

_LONGEST = 20_000


def answers_in(cells: Iterable[str], names: Iterable[str]) -> dict[str, str]:
    """The texts assigned to names at the top level of the cells; the last text that is not empty counts.

    Example:
        >>> answers_in(['answer = "why not"', 'answer = ""'], ["answer", "other"])
        {'answer': 'why not', 'other': ''}
    """
    found = dict.fromkeys(names, "")
    for statement in statements_of(list(cells))[0]:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant):
            text = statement.value.value
            for target in statement.targets:
                if isinstance(target, ast.Name) and target.id in found and isinstance(text, str) and text.strip():
                    found[target.id] = text.strip()[:_LONGEST]
    return found


def _handed_in(folder: Path, assignment: Assignment) -> Iterable[tuple[Submission, dict[str, str]]]:
    found = collect(folder)
    if not found:
        raise OptionError(f"{folder} holds no submissions; give the folder with the students' notebooks")
    for listed in found:
        one = read_submission(listed, folder)
        yield one, answers_in(one.cells, assignment.rubric)


def sheet(folder: Path, assignment: Assignment) -> str:
    """The sheet to fill in: a row for each student and answer, an empty cell for each line of the rubric."""
    if not assignment.rubric:
        raise OptionError(f"{assignment.id} has no written answers; `grade` grades it")
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    most = max(len(rows) for rows in assignment.rubric.values())
    writer.writerow(
        ["student", "id", "file", "answer", "words", *(f"line_{n + 1}" for n in range(most)), "comment", "text"]
    )
    for one, answers in _handed_in(folder, assignment):
        for name, text in answers.items():
            told = one.problem or text or "(no answer)"
            cells = ["" for _ in assignment.rubric[name]] if text else ["0" for _ in assignment.rubric[name]]
            cells += [""] * (most - len(cells))
            writer.writerow(
                [*map(_harmless, (one.student, one.id, one.file)), name, len(text.split()), *cells, "", _harmless(told)]
            )
    return "\ufeff" + out.getvalue()


def reading_page(folder: Path, assignment: Assignment) -> str:
    """The answers as one page to read, question by question, with the rubric above each."""
    parts = [
        f"<!doctype html><meta charset=utf-8><title>{html.escape(assignment.title)}</title>"
        "<style>body{max-width:46em;margin:2em auto;font:16px/1.5 serif}pre{white-space:pre-wrap;font:inherit}</style>"
    ]
    handed_in = list(_handed_in(folder, assignment))
    for name, rows in assignment.rubric.items():
        lines = "".join(f"<li>{points:g}: {html.escape(text)}</li>" for points, text in rows)
        parts.append(f"<h1>{html.escape(name)}</h1><ol>{lines}</ol>")
        for one, answers in handed_in:
            told = html.escape(one.problem or answers[name] or "(no answer)")
            parts.append(f"<h2>{html.escape(one.student)}</h2><pre>{told}</pre>")
    return "\n".join(parts)


def marked(path: Path, folder: Path, assignment: Assignment, lateness: Lateness | None = None) -> str:
    """The table of grades from a sheet that was filled in.

    Raises:
        OptionError: A cell is empty or outside the points of its line; the message names student, answer and line.
    """
    points: dict[tuple[str, str, str], CheckResult] = {}
    with open(path, encoding="utf-8-sig", newline="") as file:
        for row in csv.DictReader(file):
            if row.get("answer") not in assignment.rubric:
                raise OptionError(f"{path}: {row.get('answer')!r} is not an answer of {assignment.id}")
            points[row["student"].strip(), row["file"].strip(), row["answer"]] = _points(row, assignment)
    rows = []
    for one, answers in _handed_in(folder, assignment):
        results = []
        for name in answers:
            result = points.get((one.student.strip(), one.file.strip(), name))
            if result is None:
                raise OptionError(f"{path} has no row for {one.student}, {name}; make the sheet again")
            results.append(result)
        reason = one.problem or "; ".join(f"{r.name}: {r.reason}" for r in results if r.reason) or "read by a person"
        mark = Mark("unreadable" if one.problem else "graded", tuple(results), reason, "not run")
        rows.append(row_of(one, mark, assignment.id, assignment.points, lateness or Lateness()))
    return as_csv(rows, assignment.rubric)


def _points(row: dict[str, str], assignment: Assignment) -> CheckResult:
    total, lost = 0.0, []
    for number, (possible, text) in enumerate(assignment.rubric[row["answer"]], start=1):
        cell = (row.get(f"line_{number}") or "").strip().replace(",", ".")
        where = f"{row['student'].strip()}, {row['answer']}, line_{number}"
        try:
            given = float(cell)
        except ValueError:
            raise OptionError(
                f"{where}: {cell!r} is not a number of points; the line is worth up to {possible:g}"
            ) from None
        if not 0 <= given <= possible:
            raise OptionError(f"{where}: {given:g} points, but the line is worth 0 to {possible:g}")
        total += given
        if given < possible:
            lost.append(f"-{possible - given:g} {text}")
    comment = (row.get("comment") or "").strip()
    return CheckResult(
        row["answer"],
        total,
        sum(p for p, _ in assignment.rubric[row["answer"]]),
        "; ".join([*lost, comment]).strip("; "),
    )
