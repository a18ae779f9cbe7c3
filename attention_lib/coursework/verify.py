"""Is an assignment sound before it is assigned: do right answers pass, wrong ones fail, and does nothing leak?"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attention_lib.coursework.leaks import secrets_of
from attention_lib.coursework.marking import Mark, mark
from attention_lib.coursework.model import Assignment, load_assignment
from attention_lib.coursework.release import BEGIN, END, cells_of, release, tags_of
from attention_lib.coursework.sandbox import Worker
from attention_lib.coursework.variants import book_variant

__all__ = ["Specimen", "answers_of", "specimens_in", "verify"]

_HEAD = re.compile(r"^# %% *(.*)$", re.M)


@dataclass(frozen=True)
class Specimen:
    """One submission of a corpus.

    Attributes:
        name: A few words.
        code: Its code.
        named: Code of the finding that names what is wrong, where the corpus says so.
        keys: Course keys it is for; empty for every key.
    """

    name: str
    code: str
    named: str = ""


def specimens_in(path: Path) -> Iterator[Specimen]:
    """The submissions of a file: parts that begin with ``# %% name | finding``, after a shared head."""
    text = path.read_text(encoding="utf-8")
    parts = _HEAD.split(text)
    if len(parts) == 1:
        yield Specimen(path.stem, text)
        return
    for head, code in zip(parts[1::2], parts[2::2], strict=True):
        name, _, named = head.partition("|")
        yield Specimen(name.strip(), f"{parts[0]}\n{code}", named.strip())


def answers_of(folder: Path) -> list[str]:
    """The answer cells of ``source.md``, solved."""
    cells = [cell.node.source for cell in cells_of(folder) if tags_of(cell) & {"answer", "given"}]
    return ["\n".join(line for line in cell.split("\n") if line.strip() not in (BEGIN, END)) for cell in cells]


def with_variant(cells: list[str], variant: Mapping[str, Any]) -> list[str]:
    """Cells after one that says the conventions, as right answers of the corpus read them."""
    return [f"import torch\nVARIANT = {dict(variant)!r}", *cells]


def verify(
    folder: Path, keys: list[str], worker: Worker, seeds: int = 3, tell: Callable[[str], None] = print
) -> list[str]:
    """Check an assignment; what is wrong with it, one sentence each.

    Args:
        folder: The assignment's folder.
        keys: Course keys to try.
        worker: A sandbox.
        seeds: Secret seeds to try for each right answer.
        tell: Called with a line for each part that was checked.
    """
    assignment = load_assignment(folder)
    faults: list[str] = []
    variants = {key: assignment.variant(key) for key in keys} | {"the book's": book_variant(assignment.switches)}
    for key, variant in variants.items():
        faults += [f"key {key}: {fault}" for fault in _answers_hold(assignment, folder, variant, worker, seeds)]
    tell(f"{assignment.id}: right answers under {len(variants)} sets of conventions, {seeds} seeds each")
    count, passed = 0, list[str]()
    for path in sorted((folder / "mutants").glob("*.py")):
        for specimen in specimens_in(path):
            count += 1
            result = mark(assignment, variants["the book's"], [specimen.code], worker, seed=count)
            if assignment.checks and result.score >= sum(check.points for check in assignment.checks):
                passed.append(f"wrong answer {path.stem}/{specimen.name} gets all points")
    tell(f"{assignment.id}: {count} wrong answers")
    faults += [*passed, *_leaks(folder, variants)]
    tell(f"{assignment.id}: nothing of the solution in notebook and page" if not faults else "")
    return faults


def _answers_hold(
    assignment: Assignment, folder: Path, variant: Mapping[str, Any], worker: Worker, seeds: int
) -> Iterator[str]:
    if not assignment.checks:
        return
    given = {"source.md": answers_of(folder)}
    given |= {path.name: [path.read_text(encoding="utf-8")] for path in sorted((folder / "correct").glob("*.py"))}
    points = sum(check.points for check in assignment.checks)
    for name, cells in given.items():
        for seed in range(seeds):
            result: Mark = mark(assignment, variant, with_variant(cells, variant), worker, seed=seed)
            if result.score < points:
                yield f"{name}, a right answer, gets {result.score:g} of {points:g}: {result.reason}"
                break


def _leaks(folder: Path, variants: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    secrets = secrets_of(folder)
    for key, variant in variants.items():
        made = release(folder, variant)
        for where, content in (("notebook", made.notebook), ("page", made.page)):
            for leak in secrets.leaks(content, where):
                yield f"key {key}: {leak.where}: {leak.what}"
