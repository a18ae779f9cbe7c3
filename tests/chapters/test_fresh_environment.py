"""Every notebook runs where a reader runs it: torch and Jupyter are there, the library is not yet.

The notebook's own first cell installs the library; only the repository's address in it is replaced by a
snapshot of this checkout. Outputs of guards are assertions, so a wrong number fails here as well.
"""

import os
import re
import shutil
import subprocess
from importlib.metadata import version
from pathlib import Path

import nbformat
import pytest
from support import new_environment

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "chapters" / "notebooks").glob("*.ipynb"))
ADDRESS = re.compile(r"git\+https://[^\s\"]+")
THERE = ("torch", "numpy", "ipykernel", "nbclient")
SNAPSHOT = ("attention_lib", "pyproject.toml", "README.md", "LICENSE", "MANIFEST.in", "book/results")
RUN = """
import sys, nbformat
from nbclient import NotebookClient
notebook = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
"""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a new environment with what Colab has: torch, numpy, a kernel."""
    python = new_environment(tmp_path_factory.mktemp("fresh") / "venv")
    # The local part of a version ("+cpu") names a build, which an index need not offer.
    pins = [f"{name}=={version(name).split('+')[0]}" for name in THERE]
    subprocess.run([str(python), "-m", "pip", "install", "-q", *pins], check=True)
    return python


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what the library is built from, so that the build leaves nothing in the checkout."""
    folder = tmp_path_factory.mktemp("snapshot")
    for name in SNAPSHOT:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif source.is_file():
            shutil.copy(source, folder)
    return folder


def from_snapshot(notebook: nbformat.NotebookNode, snapshot: Path) -> nbformat.NotebookNode:
    """The notebook with the repository's address replaced, and nothing else."""
    first = next(cell for cell in notebook.cells if cell.cell_type == "code")
    first.source, count = ADDRESS.subn(snapshot.as_uri(), first.source)
    assert count == 1
    return notebook


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_after_its_own_first_cell(path: Path, python: Path, snapshot: Path, tmp_path: Path):
    torch_before = _torch(python)
    target = tmp_path / path.name
    nbformat.write(from_snapshot(nbformat.read(path, as_version=4), snapshot), target)
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    command = [str(python), "-c", RUN, str(target)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert _torch(python) == torch_before, "the first cell replaced the torch that was there"


def _torch(python: Path) -> str:
    code = "from importlib.metadata import version; print(version('torch'))"
    return subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=True).stdout
