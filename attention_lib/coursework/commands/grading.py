"""``grade``: a folder of submissions becomes a table."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from attention_lib.coursework.commands.cluster import DaskPool
from attention_lib.coursework.commands.common import (
    DONE,
    LOOK,
    assignment_in,
    command,
    dry,
    isolation,
    key,
    late,
    lateness_of,
    writable,
)
from attention_lib.coursework.model import Assignment
from attention_lib.coursework.origin import doubt
from attention_lib.coursework.submissions import collect, doubts, read_submission
from attention_lib.coursework.table import Lateness
from attention_lib.errors import OptionError


def _grade(commands: Any) -> None:
    parser = command(
        commands,
        "grade",
        _run_grade,
        "grade a folder of submissions",
        "One row for each student: score, every check, status, reason, isolation. The newest file of a "
        "student counts.\nA journal beside the table keeps every grade as it is known: after a crash, or "
        "when more was handed in, the\nsame command grades only what is new.",
    )
    parser.add_argument("folder", type=Path, help="notebooks side by side, or a folder for each student")
    parser.add_argument("--assignment", required=True, metavar="NAME")
    key(parser)
    parser.add_argument("-o", "--output", type=Path, default=Path("grades.csv"), help="the table (default: grades.csv)")
    parser.add_argument(
        "--workers", type=int, default=min(os.cpu_count() or 1, 8), help="sandboxes at once (default: %(default)s)"
    )
    parser.add_argument(
        "--dask", metavar="ADDRESS", help="scheduler of a Dask cluster; 'local' starts one on this machine"
    )
    late(parser)
    parser.add_argument(
        "--seconds", type=float, default=40.0, help="wall time of one submission (default: %(default)s)"
    )
    parser.add_argument("--megabytes", type=int, default=1024, help="memory of one submission (default: %(default)s)")
    parser.add_argument(
        "--anyway",
        action="store_true",
        help="grade although most notebooks name another assignment or other conventions",
    )
    parser.add_argument("--fresh", action="store_true", help="forget earlier grades")
    isolation(parser)
    dry(parser)


def _run_grade(given: argparse.Namespace) -> int:
    from attention_lib.coursework.batch import grade_folder
    from attention_lib.coursework.isolation import choose_isolation
    from attention_lib.coursework.session import Limits

    folder, assignment = assignment_in(given, given.assignment)
    _refuse(given, assignment)
    lateness = lateness_of(given)
    if given.dry_run:
        return _tell(given.folder, assignment, given.key, lateness)
    writable(given.output, table=True)
    isolation = choose_isolation(given.isolation, unsafe=given.unsafe)
    if isolation == "none":
        print("grade: WITHOUT isolation; strangers' code runs with your rights", file=sys.stderr)
    limits = Limits(int(given.seconds / 2) + 1, min(5.0, given.seconds), given.seconds, given.megabytes)
    with DaskPool(given.dask, given.workers) as executor, _Bar() as bar:
        batch = grade_folder(
            given.folder, folder, given.key, given.output, isolation=isolation, executor=executor,
            workers=given.workers, limits=limits, lateness=lateness, fresh=given.fresh, anyway=given.anyway,
            progress=bar,
        )  # fmt: skip
    states = Counter(row["status"] for row in batch.rows)
    counts = ", ".join(f"{number} {state}" for state, number in sorted(states.items()))
    print(f"{len(batch.rows)} rows in {given.output}: {counts}")
    unsure = doubts(collect(given.folder, assignment.id))
    for text in unsure:
        print(f"grade: {text}", file=sys.stderr)
    return LOOK if batch.ungraded or states["unreadable"] or unsure else DONE


def _refuse(given: argparse.Namespace, assignment: Assignment) -> None:
    """What cannot be graded, and numbers that make no sense."""
    if not given.folder.is_dir():
        raise OptionError(f"{given.folder} is not a folder; give the folder with the students' notebooks")
    if not assignment.checks:
        raise OptionError(f"{assignment.id} has written answers only; use the command `written`")
    if given.workers < 1 or given.seconds <= 0 or given.megabytes < 64:
        raise OptionError("--workers, --seconds and --megabytes (64 at least) must be positive")


def _tell(folder: Path, assignment: Assignment, course_key: str, lateness: Lateness) -> int:
    """What ``--dry-run`` says: whose file is graded, and what can be seen to be wrong with it without running it."""
    variant = assignment.variant(course_key)
    found = collect(folder, assignment.id)
    for listed in found:
        one = read_submission(listed, folder)
        days = lateness.days(one.moment)
        told = [one.problem, doubt(one.cells, assignment.id, variant), one.note, f"late, day {days}" if days else ""]
        print(
            f"{one.student}: {one.file}"
            + (f" (not {', '.join(one.others)})" if one.others else "")
            + "".join(f"; {text}" for text in told if text)
        )
    for text in doubts(found):
        print(text, file=sys.stderr)
    print(f"would grade {len(found)} submissions of {assignment.id}")
    return DONE


class _Bar:
    """A progress bar, or a plain count where tqdm is not installed."""

    def __init__(self) -> None:
        self._bar: Any = None

    def __enter__(self) -> _Bar:
        return self

    def __call__(self, done: int, of: int) -> None:
        if self._bar is None:
            try:
                self._bar = importlib.import_module("tqdm").tqdm(total=of, unit="submission", disable=None)
            except ImportError:
                self._bar = False
        if self._bar:
            self._bar.update(done - self._bar.n)

    def __exit__(self, *_: object) -> None:
        if self._bar:
            self._bar.close()


COMMANDS = (_grade,)
