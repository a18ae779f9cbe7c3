"""Written answers: taken out for a person to read, and the points put back into the table.

The sheet is a CSV with a row for each student and answer and a column for each line of the rubric; the reader fills
in points. Answers are shown as text; nothing in them is run.
"""

from __future__ import annotations

import ast
import csv
import html
import io
import json
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from attention_lib.coursework.extract import statements_of
from attention_lib.coursework.marking import CheckResult, Mark
from attention_lib.coursework.model import Assignment
from attention_lib.coursework.reading import WITHOUT_CODE, source_of
from attention_lib.coursework.submissions import MAX_BYTES, Submission, collect, read_submission
from attention_lib.coursework.table import Lateness, as_csv, harmless, read_rows, row_of
from attention_lib.errors import OptionError

__all__ = ["answers_in", "marked", "reading_page", "sheet"]

_LONGEST = 20_000
NOTHING = "(no answer)"


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
    found = collect(folder, assignment.id)
    if not found:
        raise OptionError(f"{folder} holds no submissions; give the folder with the students' notebooks")
    for listed in found:
        one = read_submission(listed, folder)
        answers = answers_in(one.cells, assignment.rubric)
        if one.problem == WITHOUT_CODE:  # answers may stand in Markdown
            one = replace(one, problem="", cells=("",))
        yield replace(one, cells=(*one.cells, *_markdown(folder / one.file))), answers


def _markdown(path: Path) -> list[str]:
    """The Markdown cells of a notebook, where an answer may stand that was turned into text by mistake."""
    try:
        cells = json.loads(path.read_bytes())["cells"] if path.stat().st_size <= MAX_BYTES else []
        return [source_of(cell) for cell in cells if cell.get("cell_type") == "markdown"]
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return []


def _told(one: Submission, name: str, text: str) -> str:
    """What the reader sees: the answer, or why there is none, or the cell that should hold it."""
    if one.problem or text:
        return one.problem or text
    raw = [cell.strip() for cell in one.cells if re.search(rf"{re.escape(name)}\b *=", cell)]
    raw = [cell for cell in raw if not re.fullmatch(rf"{re.escape(name)} *= *([\"']{{3}}|[\"'])\s*\1", cell)]
    return f"(not a text between quotes; the cell as it stands)\n{raw[-1][:_LONGEST]}" if raw else NOTHING


def sheet(folder: Path, assignment: Assignment, kept: Path | None = None) -> str:
    """The sheet to fill in: a row for each student and answer, an empty cell for each line of the rubric.

    Args:
        folder: The submissions.
        assignment: With the rubric.
        kept: An earlier sheet; its points and comments are taken over for answers that did not change.
    """
    if not assignment.rubric:
        raise OptionError(f"{assignment.id} has no written answers; `grade` grades it")
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    most = max(len(rows) for rows in assignment.rubric.values())
    writer.writerow(
        ["student", "id", "file", "answer", "words", *(f"line_{n + 1}" for n in range(most)), "comment", "text"]
    )
    earlier = _kept(kept, assignment)
    for one, answers in _handed_in(folder, assignment):
        for name, text in answers.items():
            told = harmless(_told(one, name, text))
            nothing = not text and told == NOTHING
            cells = ["0" if nothing else "" for _ in assignment.rubric[name]] + [""] * (
                most - len(assignment.rubric[name])
            )
            comment = ""
            old = earlier.get((one.student.strip(), name, *told.split()))
            if old is not None:
                cells, comment = [old.get(f"line_{n + 1}", "") for n in range(most)], old.get("comment", "")
            writer.writerow(
                [*map(harmless, (one.student, one.id, one.file)), name, len(text.split()), *cells, comment, told]
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
            told = html.escape(_told(one, name, answers[name]))
            parts.append(f"<h2>{html.escape(one.student)}</h2><pre>{told}</pre>")
    return "\n".join(parts)


def marked(path: Path, folder: Path, assignment: Assignment, lateness: Lateness | None = None) -> str:
    """The table of grades from a sheet that was filled in.

    Raises:
        OptionError: A cell is empty or outside the points of its line; the message names student, answer and line.
    """
    points: dict[tuple[str, str, str], CheckResult] = {}
    wrong: list[str] = []
    for row in _sheet_rows(path, assignment):
        try:
            points[row["student"].strip(), row["file"].strip(), row["answer"]] = _points(row, assignment)
        except OptionError as error:
            wrong.append(str(error))
    if wrong:
        more = f"; and {len(wrong) - 3} more answers" if len(wrong) > 3 else ""
        raise OptionError("; ".join(wrong[:3]) + more)
    rows = []
    for one, answers in _handed_in(folder, assignment):
        results = []
        for name in answers:
            result = points.get((one.student.strip(), one.file.strip(), name))
            if result is None:
                raise OptionError(
                    f"{path} has no row for {one.student}, {name} ({one.file}): handed in later? "
                    f"Make a new sheet with --keep {path}, which takes the points over"
                )
            results.append(result)
        reason = one.problem or "; ".join(f"{r.name}: {r.reason}" for r in results if r.reason) or "read by a person"
        mark = Mark(
            "unreadable" if one.problem and not any(r.points for r in results) else "graded",
            tuple(results),
            reason,
            "not run",
        )
        rows.append(row_of(one, mark, assignment.id, assignment.points, lateness or Lateness()))
    return as_csv(rows, assignment.rubric)


def _sheet_rows(path: Path, assignment: Assignment) -> list[dict[str, str]]:
    """The rows of a sheet, as the reader's spreadsheet saved it."""
    header, rows = read_rows(path, "a sheet of answers")
    if not {"student", "file", "answer"} <= set(header):
        raise OptionError(f"{path} is not a sheet of answers; `written` without --marked makes one")
    for row in rows:
        if row["answer"] not in assignment.rubric:
            raise OptionError(f"{path}: {row['answer']!r} is not an answer of {assignment.id}")
    return rows


def _kept(path: Path | None, assignment: Assignment) -> dict[tuple[str, ...], dict[str, str]]:
    """What stands in an earlier sheet, by student, answer and the words of the answer."""
    rows = _sheet_rows(path, assignment) if path else []
    return {(row["student"].strip(), row["answer"], *row.get("text", "").split()): row for row in rows}


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
