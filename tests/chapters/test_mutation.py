"""The notebooks' values are compared for real: with 1/sqrt(d_k) removed from the library, chapter 4 is red."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHAPTER = ROOT / "chapters" / "notebooks" / "04_scores_and_scaling.ipynb"
LINE = "1.0 / math.sqrt(query.shape[-1])"
NBVAL = ("--nbval", "--nbval-current-env", "--nbval-cell-timeout=120", "-p", "no:cacheprovider", "-o", "addopts=")


def run_notebook(folder: Path) -> subprocess.CompletedProcess:
    """Compare chapter 4 against the library that lies in a folder."""
    shutil.copy(CHAPTER, folder)
    environment = os.environ | {"PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1", "TQDM_DISABLE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", *NBVAL, f"--rootdir={folder}", CHAPTER.name]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_chapter_4_is_red_without_the_scaling(tmp_path: Path):
    assert CHAPTER.is_file(), "run `make notebooks` first"
    library = shutil.copytree(ROOT / "attention_lib", tmp_path / "attention_lib")
    shutil.copytree(ROOT / "book" / "results", tmp_path / "book" / "results")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)  # what tells the copy that it is a checkout
    untouched = run_notebook(tmp_path)
    assert untouched.returncode == 0, untouched.stdout[-2000:]

    scores = library / "steps" / "scores.py"
    source = scores.read_text("utf-8")
    assert source.count(LINE) == 1, f"the line to remove, {LINE!r}, is no longer in scores.py; update this test"
    scores.write_text(source.replace(LINE, "1.0"), "utf-8")
    done = run_notebook(tmp_path)
    assert done.returncode == 1, done.stdout[-2000:]
    assert "failed" in done.stdout
