"""An assignment as a source for other graders: a notebook for nbgrader or otter, a zip for Gradescope."""

from __future__ import annotations

import io
import json
import pprint
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attention_lib.coursework.model import Assignment
from attention_lib.coursework.release import BEGIN, END, release, tags_of

__all__ = ["gradescope_zip", "nbgrader_notebook", "otter_notebook"]

_RUNNER = """from attention_lib.coursework.in_kernel import run_check as _run_check
from attention_lib.coursework.model import assignment_from_source as _from_source

_hidden = _from_source({checks!r}, {name!r})
_conventions = {variant!r}
"""
_META = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def _cell(kind: str, source: str, number: int, **metadata: Any) -> dict[str, Any]:
    made = {"cell_type": kind, "id": f"c{number}", "metadata": metadata, "source": source}
    return made | ({"outputs": [], "execution_count": None} if kind == "code" else {})


def _notebook(cells: list[dict[str, Any]]) -> str:
    whole = {"cells": cells, "metadata": _META, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, ensure_ascii=False, indent=1) + "\n"


def _parts(folder: Path, assignment: Assignment, variant: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(kind, source) of the released notebook's cells, with the solutions still in the answers."""
    from attention_lib.coursework.release import cells_of

    answers = iter(cell.node.source for cell in cells_of(folder) if tags_of(cell) & {"answer"})
    made: list[tuple[str, str]] = []
    first = True
    for cell in json.loads(release(folder, variant).notebook)["cells"]:
        tags, source = set(cell["metadata"].get("tags", [])), "".join(cell["source"])
        if "answer" in tags:
            given = f"{BEGIN}\nVARIANT = {dict(variant)!r}\n{END}\n" if first else ""
            made.append(("answer", given + next(answers)))
            first = False
        elif not tags & {"submission"} and "## Hand in" not in source:
            made.append((cell["cell_type"], source))
    return made


def _runner(folder: Path, assignment: Assignment, variant: Mapping[str, Any]) -> str:
    checks = (folder / "checks.py").read_text(encoding="utf-8")
    return _RUNNER.format(checks=checks, name=assignment.id, variant=dict(variant))


def _public_test(assignment: Assignment) -> str:
    """What stands in a test cell before its hidden part."""
    return "\n".join(f"assert callable({name})" for name in assignment.functions)


def nbgrader_notebook(folder: Path, assignment: Assignment, variant: Mapping[str, Any]) -> str:
    """The source notebook for ``nbgrader generate_assignment``: solutions and hidden tests between its markers."""
    cells: list[dict[str, Any]] = []
    for kind, source in _parts(folder, assignment, variant):
        if kind == "answer":
            about = _nbgrader(f"answer-{len(cells)}", solution=True)
            cells.append(_cell("code", source, len(cells), nbgrader=about))
        else:
            cells.append(_cell(kind, source, len(cells)))
    runner = _runner(folder, assignment, variant)
    for check in assignment.checks:
        call = f"_run_check(_hidden, {check.name!r}, _conventions, globals())"
        hidden = f"### BEGIN HIDDEN TESTS\n{runner}{call}\n### END HIDDEN TESTS"
        about = _nbgrader(f"check-{check.name}", grade=True, points=check.points)
        cells.append(
            _cell("code", f"# {check.title}\n{_public_test(assignment)}\n{hidden}", len(cells), nbgrader=about)
        )
    return _notebook(cells)


def _nbgrader(name: str, *, solution: bool = False, grade: bool = False, points: float | None = None) -> dict[str, Any]:
    about = {
        "grade": grade,
        "grade_id": name,
        "locked": grade,
        "schema_version": 3,
        "solution": solution,
        "task": False,
    }
    return about | ({"points": points} if grade else {})


def otter_notebook(folder: Path, assignment: Assignment, variant: Mapping[str, Any]) -> str:
    """The source notebook for ``otter assign``; one question, a test for each check, all of them hidden."""
    cells: list[dict[str, Any]] = []

    def add(kind: str, source: str) -> None:
        cells.append(_cell(kind, source, len(cells)))

    add(
        "raw",
        f"# ASSIGNMENT CONFIG\nname: {assignment.id}\ninit_cell: true\nexport_cell: false\ncheck_all_cell: false\n"
        "generate: true\ntests:\n  files: true\n",
    )
    parts = _parts(folder, assignment, variant)
    for kind, source in parts:
        if kind != "answer":
            add(kind, source)
    points = "\n".join(f"  - {check.points:g}" for check in assignment.checks)
    add("raw", f"# BEGIN QUESTION\nname: {assignment.id}\npoints:\n{points}\n")
    add("raw", "# BEGIN SOLUTION")
    for kind, source in parts:
        if kind == "answer":
            add("code", source.replace(BEGIN, "# BEGIN SOLUTION").replace(END, "# END SOLUTION"))
    add("raw", "# END SOLUTION")
    add("raw", "# BEGIN TESTS")
    runner = _runner(folder, assignment, variant)
    for check in assignment.checks:
        add("code", f"# HIDDEN\n{runner}_run_check(_hidden, {check.name!r}, _conventions, globals())")
    add("raw", "# END TESTS")
    add("raw", "# END QUESTION")
    return _notebook(cells)


# Gradescope: a zip with setup.sh and run_autograder; its harness runs as root in a container of its own.

_SETUP = """#!/usr/bin/env bash
set -euo pipefail
apt-get update
apt-get install -y --no-install-recommends bubblewrap python3 python3-venv
python=python3
if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then  # Ubuntu 22.04 has 3.10
    apt-get install -y --no-install-recommends python3.11 python3.11-venv
    python=python3.11
fi
"$python" -m venv /autograder/venv
/autograder/venv/bin/pip install --no-cache-dir torch numpy
"""
_RUN = """#!/usr/bin/env bash
# Gradescope calls this as root: submissions lie in submission/, the answer goes to results/results.json.
set -u
root="${AUTOGRADER_ROOT:-/autograder}"
mkdir -p "$root/results"
chmod 700 "$root/source" "$root/submission" "$root/results"
# In Gradescope's own container no other account may leave files. Elsewhere /tmp is not ours.
[ -n "${AUTOGRADER_ROOT:-}" ] || chmod 755 /tmp /var/tmp /dev/shm
python="$root/venv/bin/python"
[ -x "$python" ] || python="${PYTHON:-python3}"
export ATTENTION_COURSEWORK_ISOLATION=account
cd "$root/source" || exit 1  # Python imports from where it starts: never from the submission
PYTHONPATH="$root/source" exec "$python" -m attention_lib.coursework.gradescope "$root"
"""


def gradescope_zip(folder: Path, assignment: Assignment, variant: Mapping[str, Any]) -> bytes:
    """The autograder zip: setup, entry script, the grader's own modules, and the assignment's checks.

    The same input gives the same bytes: times in the archive are fixed.
    """
    package = Path(__file__).parents[1]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:

        def add(name: str, text: str, *, program: bool = False) -> None:
            entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o755 if program else 0o644) << 16
            archive.writestr(entry, text)

        add("setup.sh", _SETUP, program=True)
        add("run_autograder", _RUN, program=True)
        add("attention_lib/__init__.py", "")
        for path in (package / "errors.py", *sorted(package.joinpath("coursework").glob("*.py"))):
            own = path.read_text(encoding="utf-8") if path.name != "__init__.py" else ""
            add(f"attention_lib/{path.relative_to(package).as_posix()}", own)
        add(f"course/{assignment.id}/checks.py", (folder / "checks.py").read_text(encoding="utf-8"))
        add("course/release.json", json.dumps({"assignment": assignment.id, "variant": dict(variant)}))
        add("README.txt", f"Autograder of {assignment.title}. Conventions:\n{pprint.pformat(dict(variant))}\n")
    return out.getvalue()
