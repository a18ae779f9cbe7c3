"""The teacher's command line: what can be asked, and how every command answers.

Exit status: 0 done; 1 done, but something needs a person (a fault, a submission that could not be graded); 2 wrong use,
nothing was done; 3 stopped on the way (full disk, interrupted): the same command goes on where it was.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import os
import sys
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from attention_lib.coursework.model import Assignment, load_assignment
from attention_lib.errors import AttentionError, OptionError

__all__ = ["DONE", "LOOK", "STOPPED", "WRONG", "main"]

DONE, LOOK, WRONG, STOPPED = 0, 1, 2, 3
_EPILOG = """exit status:
  0  done
  1  done, but something needs a person: a fault in an assignment, a submission that could not be graded
  2  wrong use; nothing was done
  3  stopped on the way (full disk, interrupted); the same command goes on where it was

a term, from nothing to a table of grades:
  python -m attention_lib.coursework verify attention
  python -m attention_lib.coursework release attention --key autumn-2026 -o handout/
  ... students hand in; their notebooks lie in submissions/ ...
  python -m attention_lib.coursework grade submissions/ --assignment attention --key autumn-2026 -o grades.csv
  python -m attention_lib.coursework export grades.csv --canvas -o canvas.csv --roster gradebook.csv
"""


def main(arguments: list[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: The command line; None is ``sys.argv[1:]``.

    Returns:
        The exit status.
    """
    given = _parser().parse_args(arguments)
    try:
        return given.run(given)
    except AttentionError as error:
        print(f"{given.command}: {error}", file=sys.stderr)
        return WRONG
    except KeyboardInterrupt:
        print(f"\n{given.command}: interrupted; the same command goes on where it was", file=sys.stderr)
        return STOPPED
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        print(
            f"{given.command}: {error.strerror or error}{where}; what was done is kept, and the same command goes on "
            "where it was",
            file=sys.stderr,
        )
        return STOPPED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m attention_lib.coursework",
        description="Assign, grade, and hand grades on.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for add in (_new, _release, _verify, _grade, _written, _export, _report):
        add(commands)
    return parser


def _command(commands: Any, name: str, run: Any, about: str, more: str = "") -> argparse.ArgumentParser:
    text = f"{about[0].upper()}{about[1:]}. {more}".strip()
    parser = commands.add_parser(
        name, help=about, description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.set_defaults(run=run)
    parser.add_argument(
        "--course",
        type=Path,
        default=_default_course(),
        metavar="FOLDER",
        help="folder with a folder for each assignment (default: %(default)s)",
    )
    return parser


def _default_course() -> Path:
    here = Path(os.environ.get("ATTENTION_COURSE", "tests/coursework"))
    beside = Path(__file__).parents[2] / "tests" / "coursework"
    return here if here.is_dir() or not beside.is_dir() else beside


def _key(parser: argparse.ArgumentParser, required: bool = True) -> None:
    parser.add_argument(
        "--key", required=required, help="course key: any text; another one each term gives other conventions"
    )


def _dry(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")


def _folder(given: argparse.Namespace, name: str) -> tuple[Path, Assignment]:
    folder = given.course / name
    if not folder.is_dir():
        known = sorted(path.parent.name for path in given.course.glob("*/checks.py"))
        raise OptionError(f"{given.course} has no assignment {name!r}; it has {', '.join(known) or 'none'}")
    return folder, load_assignment(folder)


# new, release, verify.


def _new(commands: Any) -> None:
    parser = _command(
        commands,
        "new",
        _run_new,
        "start a new assignment",
        "Writes source.md, checks.py and a first wrong answer; they already release, grade and verify.",
    )
    parser.add_argument("name", help="id of the assignment: lower-case letters, digits, _")
    _dry(parser)


def _run_new(given: argparse.Namespace) -> int:
    from attention_lib.coursework.scaffold import scaffold

    for path in scaffold(given.course, given.name, dry_run=given.dry_run):
        print(f"{'would write' if given.dry_run else 'wrote'} {path}")
    return DONE


def _release(commands: Any) -> None:
    parser = _command(
        commands,
        "release",
        _run_release,
        "write the student notebook of an assignment",
        "Draws the conventions from the course key, replaces answers by stubs, and refuses to write if "
        "anything of the solution is left in it.",
    )
    parser.add_argument("name", nargs="+", help="assignment, or several")
    _key(parser)
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("handout"), metavar="FOLDER", help="where to (default: handout)"
    )
    _dry(parser)


def _run_release(given: argparse.Namespace) -> int:
    from attention_lib.coursework.leaks import secrets_of
    from attention_lib.coursework.release import release
    from attention_lib.coursework.table import write_whole

    status = DONE
    for name in given.name:
        folder, assignment = _folder(given, name)
        variant = assignment.variant(given.key)
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
            given.output.mkdir(parents=True, exist_ok=True)
            write_whole(given.output / f"{name}.ipynb", made.notebook)
            print(f"wrote {given.output / name}.ipynb")
    return status


def _verify(commands: Any) -> None:
    parser = _command(
        commands,
        "verify",
        _run_verify,
        "check that an assignment is sound",
        "Grades right answers (all points wanted) and wrong ones (never all points) under several "
        "conventions, and looks for leaks.",
    )
    parser.add_argument("name", nargs="+", help="assignment, or several")
    _key(parser, required=False)
    parser.add_argument("--seeds", type=int, default=3, help="secret seeds for each right answer (default: 3)")
    _isolation(parser)


def _run_verify(given: argparse.Namespace) -> int:
    from attention_lib.coursework.sandbox import Worker, choose_isolation
    from attention_lib.coursework.verify import verify

    worker = Worker(choose_isolation(given.isolation, unsafe=given.unsafe), [str(given.course.resolve())])
    faults = []
    try:
        for name in given.name:
            folder, _ = _folder(given, name)
            faults += verify(folder, [given.key] if given.key else ["autumn", "spring"], worker, given.seeds)
    finally:
        worker.close()
    for fault in faults:
        print(f"FAULT {fault}", file=sys.stderr)
    print("sound" if not faults else f"{len(faults)} faults")
    return LOOK if faults else DONE


def _isolation(parser: argparse.ArgumentParser) -> None:
    from attention_lib.coursework.sandbox import ISOLATIONS

    parser.add_argument(
        "--isolation", choices=ISOLATIONS, help="default: bubblewrap, or account inside the container image"
    )
    parser.add_argument(
        "--unsafe", action="store_true", help="run strangers' code with your own rights if there is no isolation"
    )


# grade.


def _grade(commands: Any) -> None:
    parser = _command(
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
    _key(parser)
    parser.add_argument("-o", "--output", type=Path, default=Path("grades.csv"), help="the table (default: grades.csv)")
    parser.add_argument(
        "--workers", type=int, default=min(os.cpu_count() or 1, 8), help="sandboxes at once (default: %(default)s)"
    )
    parser.add_argument(
        "--dask", metavar="ADDRESS", help="scheduler of a Dask cluster; 'local' starts one on this machine"
    )
    parser.add_argument("--due", metavar="TIME", help="when it was due: 2026-11-30T23:59, in this machine's time zone")
    parser.add_argument(
        "--late", type=float, default=0.0, metavar="PERCENT", help="what each day begun after that costs"
    )
    parser.add_argument(
        "--seconds", type=float, default=40.0, help="wall time of one submission (default: %(default)s)"
    )
    parser.add_argument("--megabytes", type=int, default=1024, help="memory of one submission (default: %(default)s)")
    parser.add_argument("--fresh", action="store_true", help="forget earlier grades")
    _isolation(parser)
    _dry(parser)


def _run_grade(given: argparse.Namespace) -> int:
    from attention_lib.coursework.batch import grade_folder
    from attention_lib.coursework.sandbox import Limits, choose_isolation
    from attention_lib.coursework.submissions import collect
    from attention_lib.coursework.table import Lateness

    folder, assignment = _folder(given, given.assignment)
    if not given.folder.is_dir():
        raise OptionError(f"{given.folder} is not a folder; give the folder with the students' notebooks")
    if not assignment.checks:
        raise OptionError(f"{assignment.id} has written answers only; use the command `written`")
    if given.workers < 1 or given.seconds <= 0 or given.megabytes < 64:
        raise OptionError("--workers, --seconds and --megabytes (64 at least) must be positive")
    lateness = Lateness(_moment(given.due), given.late)
    if given.dry_run:
        found = collect(given.folder)
        for one in found:
            print(f"{one.student}: {one.file}" + (f" (not {', '.join(one.others)})" if one.others else ""))
        print(f"would grade {len(found)} submissions of {assignment.id}")
        return DONE
    isolation = choose_isolation(given.isolation, unsafe=given.unsafe)
    if isolation == "none":
        print("grade: WITHOUT isolation; strangers' code runs with your rights", file=sys.stderr)
    limits = Limits(int(given.seconds / 2) + 1, min(5.0, given.seconds), given.seconds, given.megabytes)
    with _Pool(given.dask) as executor, _Bar() as bar:
        batch = grade_folder(
            given.folder,
            folder,
            given.key,
            given.output,
            isolation=isolation,
            executor=executor,
            workers=given.workers,
            limits=limits,
            lateness=lateness,
            fresh=given.fresh,
            progress=bar,
        )
    states: dict[str, int] = {}
    for row in batch.rows:
        states[row["status"]] = states.get(row["status"], 0) + 1
    print(
        f"{len(batch.rows)} rows in {given.output}: " + ", ".join(f"{n} {state}" for state, n in sorted(states.items()))
    )
    return LOOK if batch.ungraded or states.get("unreadable") else DONE


def _moment(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return datetime.datetime.fromisoformat(text).timestamp()
    except ValueError:
        raise OptionError(f"--due {text!r} is not a time; write it as 2026-11-30T23:59") from None


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


class _Pool:
    """The executor that was asked for: none, or Dask's own."""

    def __init__(self, address: str | None) -> None:
        self.address = address
        self._open: list[Any] = []

    def __enter__(self) -> Executor | None:
        if self.address is None:
            return None
        try:
            distributed: Any = importlib.import_module("distributed")
        except ImportError:
            raise OptionError("--dask needs the package distributed: pip install distributed") from None
        if self.address == "local":
            self._open.append(distributed.LocalCluster(threads_per_worker=1, dashboard_address=None))
            client = distributed.Client(self._open[0])
        else:
            client = distributed.Client(self.address, timeout="20s")
        self._open.append(client)
        return client.get_executor()

    def __exit__(self, *_: object) -> None:
        for one in reversed(self._open):
            one.close()


# written, export, report.


def _written(commands: Any) -> None:
    parser = _command(
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
        "-o", "--output", type=Path, default=None, help="default: to_read.csv, or written.csv with --marked"
    )
    _dry(parser)


def _run_written(given: argparse.Namespace) -> int:
    from attention_lib.coursework.table import write_whole
    from attention_lib.coursework.written import marked, reading_page, sheet

    _, assignment = _folder(given, given.assignment)
    output = given.output or Path("written.csv" if given.marked else "to_read.csv")
    texts = {
        output: marked(given.marked, given.folder, assignment) if given.marked else sheet(given.folder, assignment)
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
    parser = _command(
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
    _key(parser, required=False)
    parser.add_argument("--roster", type=Path, help="Canvas: the gradebook as exported; Moodle: the grading worksheet")
    parser.add_argument("--column", help="Canvas: the assignment's column in the roster, such as 'Attention (1234)'")
    parser.add_argument("-o", "--output", type=Path, required=True)
    _dry(parser)


def _run_export(given: argparse.Namespace) -> int:
    from attention_lib.coursework import export
    from attention_lib.coursework.table import read_table, write_whole

    notes: list[str] = []
    content: bytes | str
    if given.what.endswith(".csv"):
        rows = read_table(Path(given.what))
        content, notes = export.grades(rows, given.kind, given.roster, given.column)
    else:
        folder, assignment = _folder(given, given.what)
        if not given.key:
            raise OptionError("--key is needed to know the conventions of the course")
        content = export.assignment(folder, assignment, given.key, given.kind)
    for note in notes:
        print(note, file=sys.stderr)
    if given.dry_run:
        print(f"would write {given.output}, {len(content):,} characters or bytes")
    else:
        write_whole(given.output, content)
        print(f"wrote {given.output}")
    return LOOK if notes else DONE


def _report(commands: Any) -> None:
    parser = _command(
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
