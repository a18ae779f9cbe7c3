"""Hostile submissions gain nothing, reach nothing and leave nothing, and the next student does not suffer."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import attack_range
import pytest

from attention_lib.coursework import isolation
from attention_lib.coursework.commands import WRONG, main
from attention_lib.coursework.isolation import IsolationError, choose_isolation
from attention_lib.coursework.sandbox import Worker
from attention_lib.coursework.session import Limits

ALL = dict(attack_range.attacks())
SLOW_ONES = (
    "endless",
    "sleep",
    "loop",
    "bit by bit",
    "512",
    "searched",
    "recursion",
    "never ends",
    "silence",
    "memory while",
)
QUICK = [name for number, name in enumerate(ALL) if number % 4 == 0 and not any(word in name for word in SLOW_ONES)]


@pytest.fixture(scope="module")
def listener():
    made = attack_range.Listener()
    yield made
    assert made.reached == 0
    made.close()


@pytest.fixture(autouse=True)
def _secret(monkeypatch):
    monkeypatch.setenv("ATTENTION_SECRET", attack_range.SECRET)


def test_there_are_sixty():
    assert len(ALL) >= 60


@pytest.mark.parametrize("name", QUICK)
def test_an_attack_is_contained(name, worker, listener):
    faults, _ = attack_range.run_attack(worker, ALL[name], listener.port)
    assert faults == []


def test_the_next_student_does_not_suffer(worker):
    assert attack_range.honest(worker).score == 100


def test_a_time_limit_ends_a_loop_and_says_so(worker, listener):
    faults, mark = attack_range.run_attack(worker, ALL["running: endless loop"], listener.port)
    assert faults == []
    assert "took longer than 1.5 s" in mark.reason


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in ALL if name not in QUICK])
def test_every_other_attack_is_contained(name, worker, listener):
    faults, _ = attack_range.run_attack(worker, ALL[name], listener.port)
    assert faults == []
    assert attack_range.honest(worker).score == 100


def test_the_range_sees_points_gained_and_things_reached(worker, listener):
    right = (attack_range.HERE / "attention" / "correct" / "book.py").read_text(encoding="utf-8")
    right = f"VARIANT = {attack_range.VARIANT!r}\n{right}"
    faults, _ = attack_range.run_attack(worker, right, listener.port)
    assert faults == ["100 points gained"]
    found = "def attention(*a):\n    raise RuntimeError('FOUND ' + 'something')\n"
    faults, _ = attack_range.run_attack(worker, found, listener.port)
    assert "reached something" in faults[0]


def test_layers_are_named(worker):
    worker.start()
    assert worker.layers.startswith("bubblewrap")
    assert worker.layers.endswith("limits")


@pytest.mark.bad_input
def test_without_isolation_nothing_runs(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(isolation.shutil, "which", lambda name: None)
    monkeypatch.delenv("ATTENTION_COURSEWORK_ISOLATION", raising=False)
    with pytest.raises(IsolationError, match="install bubblewrap"):
        choose_isolation()
    with pytest.raises(IsolationError, match="--unsafe"):
        choose_isolation("none")
    assert choose_isolation(unsafe=True) == "none"
    (tmp_path / "a.py").write_text("def attention(q): ...")
    arguments = ["grade", str(tmp_path), "--assignment", "attention", "--key", "k", "-o", str(tmp_path / "g.csv")]
    assert main(arguments) == WRONG
    assert "no isolation for strangers' code" in capsys.readouterr().err
    assert not (tmp_path / "g.csv").exists()


def test_a_sandbox_that_fails_is_no_grade(worker):
    """The place to withhold is no name: it fails as a file system without room would, before the student's code."""
    job = {"cells": ["x = 1"], "names": ["x"], "withheld": [3], "seed": 1}
    with pytest.raises(IsolationError, match="the sandbox failed before anything of the submission ran"):
        worker.open(job, Limits())


def test_more_code_than_can_be_handed_over_is_the_students(worker):
    job = {"cells": ["# " + "x" * 5_000_000, "x = 1"], "names": ["x"], "withheld": [], "seed": 1}
    with worker.open(job, Limits()) as session:
        assert "too large" in session.status["x"]


def test_unsafe_still_has_limits(monkeypatch):
    made = Worker("none")
    try:
        mark = attack_range.honest(made)
        assert mark.score == 100
        assert "no isolation" in mark.layers
    finally:
        made.stop()


def ordinary_python():
    """A Python that an ordinary user may run, and where it finds torch; "" with the reason where there is none."""
    import torch

    site = str(Path(torch.__file__).parents[1])
    for python in (os.path.realpath(sys.executable), "/usr/bin/python3"):
        command = [
            "setpriv",
            "--reuid",
            "1234",
            "--regid",
            "1234",
            "--clear-groups",
            "env",
            "-i",
            "PATH=/usr/bin:/bin",
            "HOME=/tmp",
            "PYTHONDONTWRITEBYTECODE=1",
            "OMP_NUM_THREADS=1",
            f"PYTHONPATH={attack_range.HERE.parents[1]}:{site}",
            python,
        ]
        check = "import torch, attention_lib.coursework.sandbox as s; open(s.__file__).close()"
        if subprocess.run([*command, "-c", check], capture_output=True, cwd="/").returncode == 0:
            return command
    return []


@pytest.mark.slow
def test_an_ordinary_user_is_as_safe(isolated):
    if os.geteuid() != 0:
        pytest.skip("runs as an ordinary user already: the other tests of this file show it")
    if shutil.which("setpriv") is None or not ordinary_python():
        pytest.skip("no Python here that an ordinary user may run")
    program = (
        f"import sys; sys.path.insert(0, {str(attack_range.HERE)!r}); import attack_range as r\n"
        "from attention_lib.coursework.sandbox import Worker\n"
        "w, l = Worker('bubblewrap'), r.Listener()\n"
        "names = [n for n, _ in r.attacks()][::9]; table = dict(r.attacks())\n"
        "faults = [(n, f) for n in names for f in [r.run_attack(w, table[n], l.port)[0]] if f]\n"
        "print(faults, r.honest(w).score, l.reached)"
    )
    done = subprocess.run([*ordinary_python(), "-c", program], capture_output=True, text=True, cwd="/", timeout=300)
    assert done.stdout.strip() == "[] 100 0", done.stdout + done.stderr
