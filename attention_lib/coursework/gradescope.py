"""The entry of Gradescope's autograder: grades the one submission in its container and writes results.json."""

from __future__ import annotations

import json
import secrets
import sys
from pathlib import Path
from typing import Any

from attention_lib.coursework.batch import Job, grade_job
from attention_lib.coursework.gathering import unread
from attention_lib.coursework.isolation import IsolationError, choose_isolation
from attention_lib.coursework.marking import Mark
from attention_lib.coursework.model import Assignment, assignment_from_source
from attention_lib.coursework.submissions import collect, read_submission
from attention_lib.coursework.table import write_whole

__all__ = ["main", "results"]


def main(root: Path) -> int:
    """Grade ``root/submission`` and write ``root/results/results.json``; the exit status is 0 even for a bad file."""
    release = json.loads((root / "source" / "course" / "release.json").read_text(encoding="utf-8"))
    place = root / "source" / "course" / release["assignment"] / "checks.py"
    source = place.read_text(encoding="utf-8")
    assignment = assignment_from_source(source, release["assignment"])
    mark = _graded(root, source, assignment, release["variant"])
    folder = root / "results"
    folder.mkdir(exist_ok=True)
    write_whole(folder / "results.json", json.dumps(results(mark, assignment), indent=1))
    return 0


def _graded(root: Path, source: str, assignment: Assignment, variant: dict[str, Any]) -> Mark:
    folder = root / "submission"
    found = [read_submission(one, folder) for one in collect(folder)] if folder.is_dir() else []
    found = [one for one in found if not one.problem] or found
    if not found:
        return unread(assignment, "nothing was handed in")
    newest = max(found, key=lambda one: one.moment)
    if newest.problem:
        return unread(assignment, newest.problem)
    try:
        isolation = choose_isolation()
    except IsolationError as error:
        return unread(assignment, str(error), "ungraded")
    hidden = (str(root / "source"), str(root / "results"))
    mark = grade_job(Job(source, assignment.id, variant, newest.cells, secrets.randbits(60), isolation, hidden))
    if mark.status == "ungraded" and isolation == "bubblewrap":  # containers often forbid namespaces inside
        mark = grade_job(Job(source, assignment.id, variant, newest.cells, secrets.randbits(60), "account", hidden))
    return mark if mark.checks else unread(assignment, mark.reason, mark.status)


def results(mark: Mark, assignment: Assignment) -> dict[str, Any]:
    """The dictionary that Gradescope reads: a score and a test for each check."""
    titles = {check.name: check.title for check in assignment.checks}
    tests = [
        {"name": titles[check.name], "score": check.points, "max_score": check.of, "output": check.reason,
         "status": "passed" if check.points == check.of else "failed", "visibility": "visible"}
        for check in mark.checks
    ]  # fmt: skip
    return {"score": mark.score, "output": f"{mark.status}: {mark.reason}\nisolation: {mark.layers}", "tests": tests,
            "visibility": "visible", "stdout_visibility": "hidden"}  # fmt: skip


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
