"""One submission is one stateless job: threads, processes, Dask and Gradescope's container give the same marks."""

import json
import os
import pickle
import subprocess
import sys
import zipfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest
from corpora import HERE
from student_notebooks import blank, solved

from attention_lib.coursework import export
from attention_lib.coursework.batch import Job, grade_folder, grade_job
from attention_lib.coursework.commands.cluster import DaskPool
from attention_lib.coursework.model import load_assignment
from attention_lib.coursework.reading import read_cells

ABOUT = load_assignment(HERE / "scores")
KEY = "executors"


@pytest.fixture
def folder(tmp_path, isolated):
    made = tmp_path / "submissions"
    made.mkdir()
    for name, notebook in (("Ada", solved("scores", KEY)), ("Bo", blank("scores", KEY)), ("Cy", solved("scores", KEY))):
        (made / f"{name}.ipynb").write_text(json.dumps(notebook | {"metadata": {"who": name}}))
    return made


def scores(folder, **options):
    batch = grade_folder(
        folder, HERE / "scores", KEY, folder.parent / "grades.csv", isolation="bubblewrap", fresh=True, **options
    )
    return {row["student"]: row["score"] for row in batch.rows}


EXPECTED = {"Ada": "100", "Bo": "0", "Cy": "100"}


@pytest.mark.slow
def test_threads(folder):
    seen = []
    assert scores(folder, workers=2, progress=lambda done, of: seen.append((done, of))) == EXPECTED
    assert seen[-1] == (3, 3)


@pytest.mark.slow
def test_processes(folder):
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        assert scores(folder, executor=pool) == EXPECTED


@pytest.mark.slow
def test_dask(folder):
    with DaskPool("local", 1) as executor:
        assert _listening() - {"127.0.0.1"} == set()  # no other machine can reach the cluster
        assert scores(folder, executor=executor) == EXPECTED


def _listening():
    """Addresses at which this process and those below it accept connections."""
    import psutil  # comes with distributed

    us = psutil.Process()
    connections = [one for process in (us, *us.children(recursive=True)) for one in process.net_connections("inet")]
    found = {one.laddr.ip for one in connections if one.status == psutil.CONN_LISTEN}
    assert found
    return found


def test_a_job_is_plain_and_travels(isolated):
    cells, _ = read_cells(json.dumps(solved("scores", KEY)).encode())
    job = Job(
        (HERE / "scores" / "checks.py").read_text(encoding="utf-8"),
        "scores",
        ABOUT.variant(KEY),
        tuple(cells),
        5,
        "bubblewrap",
    )
    assert grade_job(pickle.loads(pickle.dumps(job))).score == 100


@pytest.mark.slow
def test_a_broken_executor_is_rows_not_a_stopped_batch(folder):
    from concurrent.futures import Executor, Future

    class Broken(Executor):
        def submit(self, fn, /, *args, **kwargs):
            future = Future()
            future.set_exception(ConnectionError("the cluster went away"))
            return future

    (folder / "Di.ipynb").write_bytes((folder / "Cy.ipynb").read_bytes())
    batch = grade_folder(
        folder, HERE / "scores", KEY, folder.parent / "g.csv", isolation="bubblewrap", executor=Broken()
    )
    assert batch.ungraded == 4
    twin = batch.rows.pop()
    assert (twin["status"], twin["reason"]) == ("ungraded", "not graded; run the command again")
    assert all("the cluster went away" in row["reason"] for row in batch.rows)
    assert scores(folder, workers=1) == EXPECTED | {"Di": "100"}  # nothing of it was kept


def test_gradescopes_zip_grades_in_a_bare_tree(tmp_path, isolated):
    content = export.assignment(HERE / "scores", ABOUT, KEY, "gradescope")
    assert content == export.assignment(HERE / "scores", ABOUT, KEY, "gradescope")
    for part in ("source", "submission", "results"):
        (tmp_path / part).mkdir()
    archive = tmp_path / "autograder.zip"
    archive.write_bytes(content)
    with zipfile.ZipFile(archive) as opened:
        names = opened.namelist()
        opened.extractall(tmp_path / "source")
    assert {"setup.sh", "run_autograder", "course/release.json"} <= set(names)
    assert not [name for name in names if "correct" in name or "source.md" in name]
    (tmp_path / "submission" / "work.ipynb").write_text(json.dumps(solved("scores", KEY)))
    entry = tmp_path / "source" / "run_autograder"
    entry.chmod(0o755)
    environment = {
        "PATH": "/usr/bin:/bin",
        "AUTOGRADER_ROOT": str(tmp_path),
        "PYTHON": sys.executable,
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run([str(entry)], cwd="/", env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    told = json.loads((tmp_path / "results" / "results.json").read_text())
    assert told["score"] == 100
    assert sum(test["max_score"] for test in told["tests"]) == 100
    assert {"name", "score", "max_score", "status", "output", "visibility"} <= set(told["tests"][0])
    if os.geteuid() == 0:
        assert (tmp_path / "source").stat().st_mode & 0o077 == 0
