"""The record of one run: its result, and all it takes to repeat it. One json file an experiment.

In a checkout the files lie in ``book/results``; a wheel carries copies of the same files, so that a notebook
without a checkout reads the same numbers.
"""

from __future__ import annotations

import dataclasses
import importlib.metadata
import json
import re
from datetime import date
from pathlib import Path
from typing import Any

import torch

from attention_lib.errors import OptionError

__all__ = ["Record", "checkout_results", "make_record", "read_record", "write_record"]

DISTRIBUTION = "attention-lib"
MARKS = frozenset({"name", "budget", "result"})  # entries by which a file is known as a record


@dataclasses.dataclass(frozen=True)
class Record:
    """One run of an experiment.

    ``summary`` holds the few values that a text cites, ``result`` everything measured, seed by seed.
    """

    name: str
    budget: str
    seeds: list[int]
    summary: dict[str, Any]
    result: Any
    device: str
    torch: str
    date: str
    command: str

    def source(self) -> str:
        """One line that says where the numbers come from, for a caption or a table."""
        return f"{self.command} on {self.date}, torch {self.torch}, {self.device}, seeds {self.seeds}"


def make_record(name: str, result: Any, *, device: str = "cpu, 1 thread") -> Record:
    """Add to a result the name, versions, date and command.

    Args:
        name: Name of the experiment.
        result: Its result: a dataclass with ``budget``, ``seeds`` and ``summary()``.
        device: Where it ran.

    Returns:
        A :class:`Record`.
    """
    return Record(
        name=name,
        budget=result.budget,
        seeds=list(result.seeds),
        summary=result.summary(),
        result=result,
        device=device,
        torch=torch.__version__.split("+")[0],
        date=date.today().isoformat(),
        command=f"python -m attention_lib.experiments {name} --budget {result.budget}",
    )


def check_target(path: Path) -> None:
    """Raise OptionError unless a file can be written there."""
    if not path.parent.is_dir():
        raise OptionError(f"cannot write {path.name}: there is no folder {path.parent}; create it first")
    if path.is_dir():
        raise OptionError(f"cannot write {path}: it is a folder; name a file in it")


def check_record_target(path: Path, *, marks: frozenset[str] = MARKS, what: str = "an experiment") -> None:
    """Raise OptionError unless a file can be written there that is new, or a record of ``what`` to be replaced."""
    check_target(path)
    if path.exists() and not _is_record(path, marks):
        raise OptionError(f"cannot write {path}: it exists and is no record of {what}; name a new file")


def _is_record(path: Path, marks: frozenset[str]) -> bool:
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(fields, dict) and marks <= fields.keys()


def write_record(record: Record, path: Path | str) -> Path:
    """Write the record as json, one short list a line.

    Raises:
        OptionError: The folder of ``path`` does not exist, or ``path`` is a file that holds something else.
    """
    path = Path(path)
    check_record_target(path)
    text = json.dumps(dataclasses.asdict(record), indent=1, allow_nan=False)
    flat = re.sub(r"\[\s+([^\[\]{}]*?)\s+\]", lambda inner: f"[{' '.join(inner[1].split())}]", text)
    path.write_text(flat + "\n", encoding="utf-8")
    return path


def read_record(path: Path | str, result_class: type) -> Record:
    """The record that :func:`write_record` wrote, its result again of class ``result_class``."""
    fields = json.loads(Path(path).read_text(encoding="utf-8"))
    return Record(**{**fields, "result": result_class(**fields["result"])})


def checkout_results() -> Path | None:
    """The folder ``book/results`` of the checkout this package runs from, or None when it is installed."""
    root = Path(__file__).resolve().parents[2]
    results = root / "book" / "results"
    return results if results.is_dir() and (root / "pyproject.toml").is_file() else None


def find_recorded(name: str) -> Path | None:
    """The recorded file of an experiment: the checkout's, else the one that the wheel brought, else None."""
    if (results := checkout_results()) is not None:
        return results / f"{name}.json" if (results / f"{name}.json").is_file() else None
    candidates = [Path(__file__).resolve().parents[2] / "share" / "attention_lib" / "results" / f"{name}.json"]
    try:
        files = importlib.metadata.files(DISTRIBUTION) or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    candidates += [Path(str(file.locate())) for file in files if file.name == f"{name}.json"]
    return next((path for path in candidates if path.is_file()), None)
