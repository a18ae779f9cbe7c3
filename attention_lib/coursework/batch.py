"""Grades a folder: one stateless job for each submission, on any executor; nothing that a student wrote stops it."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from attention_lib.coursework.gathering import Gathering
from attention_lib.coursework.isolation import IsolationError
from attention_lib.coursework.journal import Journal
from attention_lib.coursework.marking import Mark, mark
from attention_lib.coursework.model import Assignment, assignment_from_source
from attention_lib.coursework.origin import refuse_another_key
from attention_lib.coursework.sandbox import borrowed
from attention_lib.coursework.session import Limits
from attention_lib.coursework.submissions import collect, read_submission
from attention_lib.coursework.table import Lateness, as_csv, write_whole
from attention_lib.errors import OptionError

__all__ = ["Batch", "Job", "grade_folder", "grade_job"]

VERSION = 1
_LOOKED_AT = 40  # submissions that are read before the first is graded, to see whether the key is theirs


@dataclass(frozen=True)
class Job:
    """All that one submission needs to be graded, on this machine or another.

    Args:
        checks: Text of the assignment's ``checks.py``.
        assignment: Its id.
        variant: The conventions asked for.
        cells: Sources of the code cells.
        seed: Secret seed of the inputs.
        isolation: How strangers' code is kept apart.
        hidden: Folders that the sandbox must not show.
        limits: What the code may use.
    """

    checks: str
    assignment: str
    variant: Mapping[str, Any]
    cells: tuple[str, ...]
    seed: int
    isolation: str
    hidden: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)


def grade_job(job: Job) -> Mark:
    """Grade one submission. Never raises: what goes wrong in the grader itself is an ``ungraded`` mark."""
    reason = ""
    for _ in range(2):  # a worker that died in between is replaced once
        try:
            assignment = assignment_from_source(job.checks, job.assignment)
            with borrowed(job.isolation, job.hidden) as worker:
                return mark(assignment, job.variant, job.cells, worker, seed=job.seed, limits=job.limits)
        except IsolationError as error:
            reason = str(error)
        except Exception as error:
            reason = f"the grader failed: {type(error).__name__}: {error}"
    return Mark("ungraded", (), reason)


@dataclass(frozen=True)
class Batch:
    """What came of a folder: the rows in the order of the table, and how many were graded now or before."""

    rows: list[dict[str, str]]
    now: int
    before: int
    ungraded: int


def grade_folder(
    folder: Path, source: Path, key: str, output: Path, *, isolation: str, executor: Executor | None = None,
    workers: int = 2, limits: Limits | None = None, lateness: Lateness | None = None, fresh: bool = False,
    variant: Mapping[str, Any] | None = None, anyway: bool = False,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> Batch:  # fmt: skip
    """Grade every submission in a folder and write the table.

    Args:
        folder: Where the submissions lie.
        source: Folder of the assignment, with ``checks.py``.
        key: Course key that drew the conventions.
        output: The table to write; ``<output>.journal`` beside it keeps every grade as it is known.
        isolation: As ``choose_isolation`` says.
        executor: Any executor of ``concurrent.futures``; None is a pool of ``workers`` threads, each with a sandbox.
        workers: Size of that pool.
        limits: What a submission may use.
        lateness: When it was due.
        fresh: Forget the journal of an earlier run.
        variant: The conventions themselves, in place of those that the key draws.
        anyway: Grade also where most notebooks name another assignment or other conventions.
        progress: Called with the number done and of all.

    Raises:
        OptionError: There is nothing to grade, most notebooks are of something else, or the journal is.
        IsolationError: No sandbox can be started on this machine; nothing of a submission has run.
        OSError: The disk is full; what was graded until then is kept.
    """
    checks = (source / "checks.py").read_text(encoding="utf-8")
    assignment = assignment_from_source(checks, source.name)
    variant = dict(variant) if variant is not None else assignment.variant(key)
    found = collect(folder, assignment.id)
    if not found:
        raise OptionError(f"{folder} holds no submissions; give the folder with the students' notebooks")
    if not anyway:
        some = found[:: max(1, len(found) // _LOOKED_AT)]
        refuse_another_key([read_submission(one, folder).cells for one in some], assignment.id, variant)
    journal = _journal(output.with_name(output.name + ".journal"), assignment, variant, checks, fresh)
    before = len(journal.marks)
    assert journal.seed is not None
    hidden = [source.resolve().parent, folder.resolve()]
    if isolation == "account":  # it is kept out of nothing but what its rights keep it out of
        hidden.append(output.resolve().parent)
    places = tuple(map(str, hidden))
    job = Job(checks, assignment.id, variant, (), journal.seed, isolation, places, limits or Limits())
    pool = executor or ThreadPoolExecutor(workers, thread_name_prefix="grade")
    start = _starter(pool, job, min(workers, len(found)) if executor is None else 0)
    gathering = Gathering(
        assignment, variant, journal, lateness or Lateness(), start, ahead=4 * max(workers, 2),
        progress=lambda done: progress(done, len(found)),
    )  # fmt: skip
    try:
        rows = gathering.run(found, folder)
    finally:
        journal.close()
        if executor is None:
            pool.shutdown(cancel_futures=True)
    write_whole(output, as_csv(rows, [*(check.name for check in assignment.checks), *assignment.rubric]))
    return Batch(rows, len(journal.marks) - before, before, gathering.ungraded)


def _journal(path: Path, assignment: Assignment, variant: Mapping[str, Any], checks: str, fresh: bool) -> Journal:
    """The journal of this very work, open to go on."""
    about = {
        "version": VERSION,
        "assignment": assignment.id,
        "variant": {name: str(value) for name, value in variant.items()},
        "checks": hashlib.sha256(checks.encode()).hexdigest(),
    }
    if fresh:
        path.unlink(missing_ok=True)
    journal = Journal(path, about)
    journal.start(journal.seed if journal.seed is not None else secrets.randbits(60))
    return journal


def _starter(pool: Executor, job: Job, rooms: int) -> Callable[[tuple[str, ...]], Future[Mark]]:
    """What hands a submission to the pool; before the first one, so many sandboxes must stand."""
    standing = rooms == 0

    def start(cells: tuple[str, ...]) -> Future[Mark]:
        nonlocal standing
        if not standing:
            list(pool.map(_open_room, [job] * rooms))
            standing = True
        return pool.submit(grade_job, replace(job, cells=cells))

    return start


def _open_room(job: Job) -> None:
    """Start a sandbox of this process and keep it; no submission is in it yet."""
    with borrowed(job.isolation, job.hidden):
        pass
