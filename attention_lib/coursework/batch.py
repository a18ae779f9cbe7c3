"""Grades a folder: one stateless job for each submission, on any executor; nothing that a student wrote stops it."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from attention_lib.coursework.isolation import IsolationError
from attention_lib.coursework.journal import Journal
from attention_lib.coursework.marking import CheckResult, Mark, mark
from attention_lib.coursework.model import Assignment, assignment_from_source
from attention_lib.coursework.origin import doubt, refuse_another_key
from attention_lib.coursework.sandbox import borrowed
from attention_lib.coursework.session import Limits
from attention_lib.coursework.submissions import Submission, collect, read_submission
from attention_lib.coursework.table import Lateness, as_csv, row_of, write_whole
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
    about = {"version": VERSION, "assignment": assignment.id, "variant": {k: str(v) for k, v in variant.items()},
             "checks": hashlib.sha256(checks.encode()).hexdigest()}  # fmt: skip
    journal_path = output.with_name(output.name + ".journal")
    if fresh:
        journal_path.unlink(missing_ok=True)
    journal = Journal(journal_path, about)
    before = len(journal.marks)
    journal.start(journal.seed if journal.seed is not None else secrets.randbits(60))
    assert journal.seed is not None
    hidden = (str(source.resolve().parent), str(folder.resolve()))
    job = Job(checks, assignment.id, variant, (), journal.seed, isolation, hidden,
              limits or Limits())  # fmt: skip
    pool = executor or ThreadPoolExecutor(workers, thread_name_prefix="grade")
    try:
        rows, ungraded = _run(found, folder, assignment, job, journal, pool, lateness or Lateness(), workers, progress)
    finally:
        journal.close()
        if executor is None:
            pool.shutdown(cancel_futures=True)
    write_whole(output, as_csv(rows, [*(check.name for check in assignment.checks), *assignment.rubric]))
    return Batch(rows, len(journal.marks) - before, before, ungraded)


def _run(
    found: list[Submission], folder: Path, assignment: Assignment, job: Job, journal: Journal, pool: Executor,
    lateness: Lateness, workers: int, progress: Callable[[int, int], None],
) -> tuple[list[dict[str, str]], int]:  # fmt: skip
    """Keep the pool busy without reading the whole folder into memory."""
    rows: dict[int, dict[str, str]] = {}
    waiting: dict[Future[Mark], tuple[int, Submission]] = {}
    ungraded = 0

    def finish(number: int, one: Submission, result: Mark) -> None:
        rows[number] = row_of(one, result, assignment.id, assignment.points, lateness)
        progress(len(rows), len(found))

    def gather(until: int) -> None:
        nonlocal ungraded
        while len(waiting) > until:
            done, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                number, one = waiting.pop(future)
                result = _result(future, assignment)
                if result.status == "ungraded":
                    ungraded += 1
                else:
                    journal.add(one.digest, result)
                finish(number, one, result)

    queued: dict[str, list[tuple[int, Submission]]] = {}
    for number, listed in enumerate(found):
        one = read_submission(listed, folder)
        told = doubt(one.cells, assignment.id, job.variant)
        one = replace(one, note="; ".join(text for text in (told, one.note) if text))
        if one.problem:
            finish(number, replace(one, cells=()), unread(assignment, one.problem))
        elif one.digest in journal.marks:
            finish(number, one, journal.marks[one.digest])
        elif one.digest in queued:
            queued[one.digest].append((number, one))  # the same file handed in by two: graded once
        else:
            queued[one.digest] = []
            waiting[pool.submit(grade_job, replace(job, cells=one.cells))] = (number, replace(one, cells=()))
        gather(4 * max(workers, 2))
    gather(0)
    for digest, twins in queued.items():
        for number, one in twins:
            result = journal.marks.get(digest) or unread(assignment, "not graded; run the command again", "ungraded")
            ungraded += result.status == "ungraded"
            finish(number, one, result)
    return [rows[number] for number in sorted(rows)], ungraded


def _result(future: Future[Mark], assignment: Assignment) -> Mark:
    error = future.exception()
    if error is not None:
        return unread(assignment, f"the executor failed: {type(error).__name__}: {error}", "ungraded")
    result = future.result()
    return result if result.checks or not assignment.checks else unread(assignment, result.reason, result.status)


def unread(assignment: Assignment, reason: str, status: str = "unreadable") -> Mark:
    """A mark of 0 with its reason, for a file that is not a submission."""
    return Mark(
        status, tuple(CheckResult(check.name, 0.0, check.points, reason) for check in assignment.checks), reason
    )
