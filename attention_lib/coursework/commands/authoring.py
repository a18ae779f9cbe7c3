"""``new``, ``release`` and ``verify``: from an idea to a notebook that students get."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from attention_lib.coursework.commands.common import DONE, LOOK, assignment_in, command, dry, isolation, key
from attention_lib.errors import OptionError


def _new(commands: Any) -> None:
    parser = command(
        commands,
        "new",
        _run_new,
        "start a new assignment",
        "Writes source.md, checks.py and a first wrong answer; they already release, grade and verify.",
    )
    parser.add_argument("name", help="id of the assignment: lower-case letters, digits, _")
    dry(parser)


def _run_new(given: argparse.Namespace) -> int:
    from attention_lib.coursework.scaffold import scaffold

    for path in scaffold(given.course, given.name, dry_run=given.dry_run):
        print(f"{'would write' if given.dry_run else 'wrote'} {path}")
    return DONE


def _release(commands: Any) -> None:
    parser = command(
        commands,
        "release",
        _run_release,
        "write the student notebook of an assignment",
        "Draws the conventions from the course key, replaces answers by stubs, and refuses to write if "
        "anything of the solution is left in it.",
    )
    parser.add_argument("name", nargs="+", help="assignment, or several")
    key(parser)
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("handout"), metavar="FOLDER", help="where to (default: handout)"
    )
    parser.add_argument(
        "--unlike",
        action="append",
        default=[],
        metavar="KEY",
        help="key of an earlier term: refuse if it draws the same conventions, so that its answers would pass again",
    )
    dry(parser)


def _run_release(given: argparse.Namespace) -> int:
    from attention_lib.coursework.leaks import secrets_of
    from attention_lib.coursework.release import nowhere, release
    from attention_lib.coursework.table import write_whole

    status = DONE
    for name in given.name:
        folder, assignment = assignment_in(given, name)
        variant = assignment.variant(given.key)
        same = [old for old in given.unlike if assignment.variant(old) == variant]
        if same:
            raise OptionError(f"{name}: {given.key!r} draws the same conventions as {same[0]!r}; choose another key")
        made = release(folder, variant)
        leaks = secrets_of(folder).leaks(made.notebook, "notebook")
        print(f"{name}: " + ", ".join(f"{switch}={value}" for switch, value in variant.items()))
        if leaks:
            status = LOOK
            for leak in leaks:
                print(f"{name}: not written; {leak.where}: {leak.what}", file=sys.stderr)
        elif given.dry_run:
            print(f"would write {given.output / name}.ipynb")
        else:
            if given.output.exists() and not given.output.is_dir():
                raise OptionError(f"{given.output} is not a folder; give -o the folder for the notebooks")
            given.output.mkdir(parents=True, exist_ok=True)
            write_whole(given.output / f"{name}.ipynb", made.notebook)
            print(f"wrote {given.output / name}.ipynb")
    told = nowhere(folder)
    if told:
        print(f"release: {told}", file=sys.stderr)
    return status


def _verify(commands: Any) -> None:
    parser = command(
        commands,
        "verify",
        _run_verify,
        "check that an assignment is sound",
        "Grades right answers (all points wanted) and wrong ones (never all points) under several "
        "conventions, and looks for leaks.",
    )
    parser.add_argument("name", nargs="+", help="assignment, or several")
    key(parser, required=False)
    parser.add_argument("--seeds", type=int, default=3, help="secret seeds for each right answer (default: 3)")
    isolation(parser)


def _run_verify(given: argparse.Namespace) -> int:
    from attention_lib.coursework.isolation import choose_isolation
    from attention_lib.coursework.sandbox import Worker
    from attention_lib.coursework.verify import verify

    worker = Worker(choose_isolation(given.isolation, unsafe=given.unsafe), [str(given.course.resolve())])
    faults = []
    try:
        for name in given.name:
            folder, _ = assignment_in(given, name)
            faults += verify(folder, [given.key] if given.key else ["autumn", "spring"], worker, given.seeds)
    finally:
        worker.stop()
    for fault in faults:
        print(f"FAULT {fault}", file=sys.stderr)
    print("sound" if not faults else f"{len(faults)} faults")
    return LOOK if faults else DONE


COMMANDS = (_new, _release, _verify)
