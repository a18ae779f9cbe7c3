"""The teacher's command line: what can be asked, and how every command answers.

Exit status: 0 done; 1 done, but something needs a person (a fault, a submission that could not be graded); 2 wrong use,
nothing was done; 3 stopped on the way (full disk, interrupted): the same command goes on where it was.
"""

from __future__ import annotations

import argparse
import os
import sys

from attention_lib.coursework.commands import authoring, grading, results
from attention_lib.coursework.commands.common import DONE, LOOK, STOPPED, WRONG
from attention_lib.errors import AttentionError

__all__ = ["DONE", "LOOK", "STOPPED", "WRONG", "main"]

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
_AGAIN = "set that right and run the same command again"
_KEPT = dict.fromkeys(("new", "release", "verify", "written", "export", "report"), _AGAIN) | {
    "grade": "what was graded is kept, and the same command goes on where it was"
}


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
    except BrokenPipeError:  # whoever read the output, such as `head`, has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except OSError as error:
        place = error.filename or getattr(given, "output", None)
        where = f" ({place})" if place else ""
        print(f"{given.command}: {error.strerror or error}{where}; {_KEPT[given.command]}", file=sys.stderr)
        return STOPPED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m attention_lib.coursework",
        description="Assign, grade, and hand grades on.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for add in (*authoring.COMMANDS, *grading.COMMANDS, *results.COMMANDS):
        add(commands)
    return parser
