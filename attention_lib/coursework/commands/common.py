"""What several commands have in common: exit statuses, the course folder, the key, the kind of isolation."""

from __future__ import annotations

import argparse
import datetime
import os
from pathlib import Path
from typing import Any

from attention_lib.coursework.isolation import ISOLATIONS
from attention_lib.coursework.model import Assignment, load_assignment
from attention_lib.coursework.table import Lateness
from attention_lib.errors import OptionError

__all__ = [
    "DONE",
    "LOOK",
    "STOPPED",
    "WRONG",
    "assignment_in",
    "command",
    "dry",
    "isolation",
    "key",
    "late",
    "lateness_of",
    "writable",
]

DONE, LOOK, WRONG, STOPPED = 0, 1, 2, 3


def command(commands: Any, name: str, run: Any, about: str, more: str = "") -> argparse.ArgumentParser:
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
    beside = Path(__file__).parents[3] / "tests" / "coursework"
    return here if here.is_dir() or not beside.is_dir() else beside


def key(parser: argparse.ArgumentParser, required: bool = True) -> None:
    parser.add_argument(
        "--key", required=required, help="course key: any text; another one each term gives other conventions"
    )


def dry(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")


def late(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--due", metavar="TIME", help="when it was due: 2026-11-30T23:59, in this machine's time zone")
    parser.add_argument(
        "--late", type=_percent, default=0.0, metavar="PERCENT", help="what each day begun after that costs"
    )


def lateness_of(given: argparse.Namespace) -> Lateness:
    """What ``--due`` and ``--late`` say.

    Raises:
        OptionError: The time is none, or a day costs something but nothing is due.
    """
    if given.late and given.due is None:
        raise OptionError("--late says what a day costs after --due; give --due too")
    return Lateness(_moment(given.due), given.late)


def _percent(text: str) -> float:
    """10 or 10%, from 0 to 100."""
    number = float(text.strip().removesuffix("%"))
    if not 0 <= number <= 100:
        raise argparse.ArgumentTypeError(f"{text!r} is not between 0 and 100 percent")
    return number


def _moment(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return datetime.datetime.fromisoformat(text).timestamp()
    except ValueError:
        raise OptionError(f"--due {text!r} is not a time; write it as 2026-11-30T23:59") from None


def writable(path: Path, *, table: bool = False) -> None:
    """Refuse a place that cannot be written, before any work is done.

    Args:
        path: The file to write.
        table: Whether it is a table, which other commands know by ``.csv``.

    Raises:
        OptionError: There is no such folder, it cannot be written, or the name will not do.
    """
    folder = path.parent
    if table and path.suffix.lower() != ".csv":
        raise OptionError(f"{path} would not be known as a table; give -o a name that ends in .csv")
    if not folder.is_dir():
        raise OptionError(f"{path} cannot be written: there is no folder {folder}; make it, or give another -o")
    if path.is_dir():
        raise OptionError(f"{path} cannot be written: it is a folder; give -o the name of a file")
    if not os.access(folder, os.W_OK):
        raise OptionError(f"{path} cannot be written: the folder {folder} is read-only; give another -o")


def assignment_in(given: argparse.Namespace, name: str) -> tuple[Path, Assignment]:
    folder = given.course / name
    if not folder.is_dir():
        known = sorted(path.parent.name for path in given.course.glob("*/checks.py"))
        raise OptionError(f"{given.course} has no assignment {name!r}; it has {', '.join(known) or 'none'}")
    return folder, load_assignment(folder)


def isolation(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--isolation", choices=ISOLATIONS, help="default: bubblewrap, or account inside the container image"
    )
    parser.add_argument(
        "--unsafe", action="store_true", help="run strangers' code with your own rights if there is no isolation"
    )
