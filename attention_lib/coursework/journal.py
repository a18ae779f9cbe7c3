"""Keeps every grade the moment it is known, so that a batch that was stopped goes on where it was."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from attention_lib.coursework.marking import CheckResult, Mark
from attention_lib.errors import OptionError

__all__ = ["Journal"]


class Journal:
    """A file of lines: first what is graded, then a line for each submission.

    Args:
        path: The file.
        about: What is graded; a journal about something else is refused.

    Raises:
        OptionError: The file is the journal of something else.
    """

    def __init__(self, path: Path, about: dict[str, Any]) -> None:
        self.path = path
        self.marks: dict[str, Mark] = {}
        self.seed: int | None = None
        self._about = about
        if path.exists():
            self._read()
        self._file: Any = None

    def _read(self) -> None:
        lines = self.path.read_text(encoding="utf-8").split("\n")
        first = _json(lines[0])
        if first is None:  # killed while the very first line was written
            return
        if {name: first.get(name) for name in self._about} != self._about:
            raise OptionError(
                f"{self.path} belongs to another assignment, key or version of the checks; "
                "give another -o, or --fresh to grade everything again"
            )
        self.seed = first["seed"]
        for line in lines[1:]:
            told = _json(line)
            if told is not None:
                told["checks"] = tuple(CheckResult(**one) for one in told["checks"])
                digest = told.pop("digest")
                self.marks[digest] = Mark(**told)

    def start(self, seed: int) -> None:
        """Open for writing; what was cut off in the middle of a line is removed.

        Raises:
            OSError: The disk is full or the folder cannot be written.
        """
        self.seed = seed
        lines = [json.dumps({**self._about, "seed": seed}), *(self._line(d, m) for d, m in self.marks.items())]
        fresh = self.path.with_name(self.path.name + ".new")
        with open(fresh, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, self.path)
        self._file = open(self.path, "a", encoding="utf-8")  # noqa: SIM115 - closed by close()

    def add(self, digest: str, mark: Mark) -> None:
        """Write one grade down, and make sure that it is on the disk."""
        self.marks[digest] = mark
        self._file.write(self._line(digest, mark) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    @staticmethod
    def _line(digest: str, mark: Mark) -> str:
        checks = [{"name": c.name, "points": c.points, "of": c.of, "reason": c.reason} for c in mark.checks]
        return json.dumps({"digest": digest, "status": mark.status, "checks": checks, "reason": mark.reason,
                           "layers": mark.layers, "texts": dict(mark.texts)})  # fmt: skip

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _json(line: str) -> dict[str, Any] | None:
    try:
        told = json.loads(line)
    except ValueError:
        return None
    return told if isinstance(told, dict) else None
