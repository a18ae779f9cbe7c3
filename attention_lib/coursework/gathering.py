"""Keeps an executor busy with the submissions of a folder, and gathers the rows of the table as the marks come."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from attention_lib.coursework.journal import Journal
from attention_lib.coursework.marking import CheckResult, Mark
from attention_lib.coursework.model import Assignment
from attention_lib.coursework.origin import doubt
from attention_lib.coursework.submissions import Submission, read_submission
from attention_lib.coursework.table import Lateness, row_of

__all__ = ["Gathering", "unread"]


@dataclass
class Gathering:
    """The submissions of one folder on their way through an executor.

    Args:
        assignment: What was asked.
        variant: The conventions of the course.
        journal: Keeps every grade as it is known.
        lateness: When it was due.
        start: Hands the code cells of a submission to the executor.
        ahead: How many may wait at once: the whole folder is never in memory.
        progress: Called with the number done.

    Attributes:
        rows: Rows of the table by the number of the submission.
        ungraded: How many are not graded, for a reason that is not the student's.
    """

    assignment: Assignment
    variant: Mapping[str, Any]
    journal: Journal
    lateness: Lateness
    start: Callable[[tuple[str, ...]], Future[Mark]]
    ahead: int
    progress: Callable[[int], None]
    rows: dict[int, dict[str, str]] = field(default_factory=dict)
    ungraded: int = 0
    _waiting: dict[Future[Mark], tuple[int, Submission]] = field(default_factory=dict)
    _twins: dict[str, list[tuple[int, Submission]]] = field(default_factory=dict)

    def run(self, found: list[Submission], folder: Path) -> list[dict[str, str]]:
        """Grade all of them; the rows in the order of ``found``."""
        for number, listed in enumerate(found):
            self._take(number, self._doubted(read_submission(listed, folder)))
            self._gather(self.ahead)
        self._gather(0)
        self._serve_twins()
        return [self.rows[number] for number in sorted(self.rows)]

    def _doubted(self, one: Submission) -> Submission:
        """With a note where the notebook says that it is of something else."""
        told = doubt(one.cells, self.assignment.id, self.variant)
        return replace(one, note="; ".join(text for text in (told, one.note) if text))

    def _take(self, number: int, one: Submission) -> None:
        """Finish a submission whose mark is known, hand the others on."""
        bare = replace(one, cells=())
        if one.problem:
            self._finish(number, bare, unread(self.assignment, one.problem))
        elif one.digest in self.journal.marks:
            self._finish(number, bare, self.journal.marks[one.digest])
        elif one.digest in self._twins:
            self._twins[one.digest].append((number, bare))  # the same file handed in by two: graded once
        else:
            self._twins[one.digest] = []
            self._waiting[self.start(one.cells)] = (number, bare)

    def _gather(self, until: int) -> None:
        """Wait until no more than so many are on their way."""
        while len(self._waiting) > until:
            for future in wait(self._waiting, return_when=FIRST_COMPLETED).done:
                number, one = self._waiting.pop(future)
                result = self._result(future)
                if result.status != "ungraded":
                    self.journal.add(one.digest, result)
                self._finish(number, one, result)

    def _serve_twins(self) -> None:
        for digest, twins in self._twins.items():
            for number, one in twins:
                result = self.journal.marks.get(digest)
                again = "not graded; run the command again"
                self._finish(number, one, result or unread(self.assignment, again, "ungraded"))

    def _finish(self, number: int, one: Submission, result: Mark) -> None:
        self.ungraded += result.status == "ungraded"
        self.rows[number] = row_of(one, result, self.assignment.id, self.assignment.points, self.lateness)
        self.progress(len(self.rows))

    def _result(self, future: Future[Mark]) -> Mark:
        error = future.exception()
        if error is not None:
            return unread(self.assignment, f"the executor failed: {type(error).__name__}: {error}", "ungraded")
        result = future.result()
        if result.checks or not self.assignment.checks:
            return result
        return unread(self.assignment, result.reason, result.status)


def unread(assignment: Assignment, reason: str, status: str = "unreadable") -> Mark:
    """A mark of 0 with its reason, for a file that is not a submission."""
    return Mark(
        status, tuple(CheckResult(check.name, 0.0, check.points, reason) for check in assignment.checks), reason
    )
