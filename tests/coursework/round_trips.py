#!/usr/bin/env python3
"""Round trips with the real nbgrader and otter-grader: an export is assigned, answered, graded. Prints json.

Run it with the Python of an environment that has both packages and the book's own extras; needs no network:

    python tests/coursework/round_trips.py attention
"""

import csv
import json
import os
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from attention_lib.coursework import export  # noqa: E402
from attention_lib.coursework.leaks import secrets_of  # noqa: E402
from attention_lib.coursework.model import load_assignment  # noqa: E402
from attention_lib.coursework.verify import answers_of  # noqa: E402

KEY = "round-trip"
BIN = Path(sys.executable).parent


def run(*words, cwd):
    """Run a program of the environment; its last words if it fails."""
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, env=environment, timeout=600)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))}\n{done.stdout[-1500:]}\n{done.stderr[-3000:]}")
    return done.stdout + done.stderr


def answered(path, folder, variant):
    """A released notebook with the right answers in the cells that hold a stub."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    answers = iter(answers_of(folder))
    first = True
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code" and "def " in source and ("NotImplementedError" in source or "..." in source):
            cell["source"] = (f"VARIANT = {variant!r}\n" if first else "") + next(answers)
            first = False
    return json.dumps(notebook)


def nbgrader(name):
    """generate_assignment, autograde of a right and of an empty answer, export."""
    folder = ROOT / "tests" / "coursework" / name
    assignment = load_assignment(folder)
    with tempfile.TemporaryDirectory() as place:
        course = Path(place)
        (course / "nbgrader_config.py").write_text(f"c = get_config()\nc.CourseDirectory.root = {place!r}\n")
        source = course / "source" / name / f"{name}.ipynb"
        source.parent.mkdir(parents=True)
        source.write_text(export.assignment(folder, assignment, KEY, "nbgrader"), encoding="utf-8")
        tool = str(BIN / "nbgrader")
        run(tool, "generate_assignment", name, "--create", cwd=course)
        released = course / "release" / name / f"{name}.ipynb"
        leaks = secrets_of(folder).leaks(released.read_text(encoding="utf-8"), "release")
        texts = {
            "ada": answered(released, folder, assignment.variant(KEY)),
            "bob": released.read_text(encoding="utf-8"),
        }
        for student, text in texts.items():
            handed_in = course / "submitted" / student / name / f"{name}.ipynb"
            handed_in.parent.mkdir(parents=True)
            handed_in.write_text(text, encoding="utf-8")
        run(tool, "autograde", name, "--create", cwd=course)
        run(tool, "export", "--to=grades.csv", cwd=course)
        with open(course / "grades.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        ours = export.NBGRADER
        return {
            "version": version("nbgrader"),
            "leaks": [leak.what for leak in leaks],
            "right answer": float(next(r["score"] for r in rows if r["student_id"] == "ada")),
            "no answer": float(next(r["score"] for r in rows if r["student_id"] == "bob")),
            "out of": float(rows[0]["max_score"]),
            "its columns are ours": list(rows[0]) == list(ours),
        }


def otter(name):
    """assign, then grade a right and an empty answer with the autograder that it made."""
    folder = ROOT / "tests" / "coursework" / name
    assignment = load_assignment(folder)
    with tempfile.TemporaryDirectory() as place:
        source = Path(place) / f"{name}.ipynb"
        source.write_text(export.assignment(folder, assignment, KEY, "otter"), encoding="utf-8")
        tool = str(BIN / "otter")
        run(tool, "assign", "--no-run-tests", str(source), "dist", cwd=place)
        released = Path(place) / "dist" / "student" / f"{name}.ipynb"
        leaks = secrets_of(folder).leaks(released.read_text(encoding="utf-8"), "release")
        autograder = next((Path(place) / "dist" / "autograder").glob("*.zip"))
        scores = {}
        for student, text in (
            ("ada", answered(released, folder, assignment.variant(KEY))),
            ("bob", released.read_text(encoding="utf-8")),
        ):
            handed_in = Path(place) / student / f"{name}.ipynb"
            handed_in.parent.mkdir()
            handed_in.write_text(text, encoding="utf-8")
            run(tool, "run", "-a", str(autograder), "-o", str(handed_in.parent), "--no-logo", str(handed_in), cwd=place)
            told = json.loads((handed_in.parent / "results.json").read_text())
            scores[student] = sum(test.get("score", 0) for test in told["tests"])
        return {
            "version": version("otter-grader"),
            "leaks": [leak.what for leak in leaks],
            "right answer": scores["ada"],
            "no answer": scores["bob"],
            "out of": sum(check.points for check in assignment.checks),
        }


if __name__ == "__main__":
    wanted = sys.argv[1] if len(sys.argv) > 1 else "attention"
    told = {}
    for tool in (nbgrader, otter):
        if len(sys.argv) > 2 and tool.__name__ != sys.argv[2]:
            continue
        told[tool.__name__] = tool(wanted)
    print(json.dumps(told, indent=1))
