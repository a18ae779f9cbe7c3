"""``written``, ``export`` and ``report``: what is done with answers and grades."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from attention_lib.coursework.commands.common import (
    DONE,
    LOOK,
    assignment_in,
    command,
    dry,
    key,
    late,
    lateness_of,
    writable,
)
from attention_lib.coursework.model import load_assignment
from attention_lib.errors import OptionError


def _written(commands: Any) -> None:
    parser = command(
        commands,
        "written",
        _run_written,
        "written answers: a sheet to fill in, then a table of grades",
        "Without --marked: writes the sheet and, beside it, a page to read. With --marked SHEET: writes "
        "the table of grades.",
    )
    parser.add_argument("folder", type=Path, help="the submissions")
    parser.add_argument("--assignment", default="written", metavar="NAME")
    parser.add_argument("--marked", type=Path, metavar="SHEET", help="the sheet with points in it")
    parser.add_argument(
        "--keep", type=Path, metavar="SHEET", help="for a new sheet: take over the points of an earlier one"
    )
    late(parser)
    parser.add_argument(
        "-o", "--output", type=Path, default=None, help="default: to_read.csv, or written.csv with --marked"
    )
    dry(parser)


def _run_written(given: argparse.Namespace) -> int:
    from attention_lib.coursework.table import write_whole
    from attention_lib.coursework.written import marked, reading_page, sheet

    _, assignment = assignment_in(given, given.assignment)
    if not assignment.rubric:
        raise OptionError(f"{assignment.id} has no written answers; `grade` grades it")
    if not given.folder.is_dir():
        raise OptionError(f"{given.folder} is not a folder; give the folder with the students' notebooks")
    lateness = lateness_of(given)
    output = given.output or Path("written.csv" if given.marked else "to_read.csv")
    if not given.dry_run:
        writable(output, table=True)
    texts = {
        output: marked(given.marked, given.folder, assignment, lateness)
        if given.marked
        else sheet(given.folder, assignment, given.keep)
    }
    if not given.marked:
        texts[output.with_suffix(".html")] = reading_page(given.folder, assignment)
        if output.exists() and not given.dry_run:
            raise OptionError(f"{output} exists and may hold points already; give another -o")
    for path, text in texts.items():
        if not given.dry_run:
            write_whole(path, text)
        print(f"{'would write' if given.dry_run else 'wrote'} {path}")
    return DONE


def _export(commands: Any) -> None:
    parser = command(
        commands,
        "export",
        _run_export,
        "hand grades or an assignment on to another system",
        "From a table of grades: --canvas, --moodle, --nbgrader. From an assignment: --gradescope (a zip "
        "that grades in its containers),\n--nbgrader and --otter (sources for those tools, whose hidden "
        "tests run inside the student's own kernel: see teaching.md).",
    )
    parser.add_argument("what", help="table of grades (.csv), or name of an assignment")
    kind = parser.add_mutually_exclusive_group(required=True)
    for name, about in (
        ("gradescope", "autograder zip"),
        ("canvas", "gradebook csv to import"),
        ("moodle", "grading worksheet csv"),
        ("nbgrader", "source notebook, or csv for `nbgrader db`"),
        ("otter", "source notebook for `otter assign`"),
    ):
        kind.add_argument(f"--{name}", dest="kind", action="store_const", const=name, help=about)
    key(parser, required=False)
    parser.add_argument("--roster", type=Path, help="Canvas: the gradebook as exported; Moodle: the grading worksheet")
    parser.add_argument("--column", help="Canvas: the assignment's column in the roster, such as 'Attention (1234)'")
    parser.add_argument("-o", "--output", type=Path, required=True)
    dry(parser)


def _run_export(given: argparse.Namespace) -> int:
    from attention_lib.coursework import export
    from attention_lib.coursework.table import read_table, write_whole

    notes: list[str] = []
    content: bytes | str
    if given.what.endswith(".csv"):
        rows = read_table(Path(given.what))
        content, notes = export.grades(rows, given.kind, given.roster, given.column)
    else:
        folder, assignment = assignment_in(given, given.what)
        if not given.key:
            raise OptionError("--key is needed to know the conventions of the course")
        content = export.assignment(folder, assignment, given.key, given.kind)
    for note in notes:
        print(note, file=sys.stderr)
    if given.dry_run:
        print(f"would write {given.output}, {len(content):,} characters or bytes")
    else:
        writable(given.output)
        write_whole(given.output, content)
        print(f"wrote {given.output}")
    return LOOK if notes else DONE


def _report(commands: Any) -> None:
    parser = command(
        commands,
        "report",
        _run_report,
        "what one student may be told",
        "Every check with points and reason; nothing about other students, no expected values.",
    )
    parser.add_argument("student", help="name or id as in the table")
    parser.add_argument("--table", type=Path, default=Path("grades.csv"), help="default: grades.csv")


def _run_report(given: argparse.Namespace) -> int:
    from attention_lib.coursework.report import report

    known = [load_assignment(path.parent) for path in sorted(given.course.glob("*/checks.py"))]
    print(report(given.table, given.student, known))
    return DONE


COMMANDS = (_written, _export, _report)
