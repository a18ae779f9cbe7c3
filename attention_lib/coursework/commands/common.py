"""What several commands have in common: exit statuses, the course folder, the key, the kind of isolation."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from attention_lib.coursework.isolation import ISOLATIONS
from attention_lib.coursework.model import Assignment, load_assignment
from attention_lib.errors import OptionError

__all__ = ["DONE", "LOOK", "STOPPED", "WRONG", "assignment_in", "command", "dry", "isolation", "key"]

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
