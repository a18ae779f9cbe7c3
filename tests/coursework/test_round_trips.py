"""Exports go through the real nbgrader and otter-grader, in an environment of their own."""

import json
import site
import subprocess
from pathlib import Path

import pytest
from corpora import HERE
from support import new_environment

PACKAGES = ("nbgrader==0.9.6", "otter-grader==7.0.0")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a new environment with both packages; torch and the rest are borrowed from this one."""
    python = new_environment(tmp_path_factory.mktemp("graders") / "venv")
    own = subprocess.check_output([python, "-c", "import site; print(site.getsitepackages()[-1])"], text=True).strip()
    (Path(own) / "borrowed.pth").write_text("\n".join(site.getsitepackages()), encoding="utf-8")
    subprocess.run([str(python), "-m", "pip", "install", "-q", *PACKAGES], check=True)
    return python


@pytest.mark.parametrize("tool", ["nbgrader", "otter"])
def test_a_right_answer_gets_all_points_and_no_answer_none(python: Path, tool: str):
    command = [str(python), str(HERE / "round_trips.py"), "attention", tool]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)[tool]
    assert told["right answer"] == told["out of"] == 100
    assert told["no answer"] == 0
    assert told["leaks"] == []
    assert told.get("its columns are ours", True)
