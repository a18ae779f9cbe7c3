"""The wheel and the sdist: what is in them, whether PyPI would take them, and whether they import with torch alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "attention_lib", "tests", "book", "chapters")
NOT_SOURCES = ("__pycache__", "_build", "build", "dist", ".*", "*.egg-info")
pytestmark = pytest.mark.slow


def run(*command: str | Path, cwd: Path | None = None) -> str:
    """The output of a command that must succeed; its error output is the message when it does not."""
    quiet = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run([str(c) for c in command], cwd=cwd, env=quiet, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}\n{done.stderr}"
    return done.stdout.strip()


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with one sdist and the wheel that was built from it; the checkout itself stays as it was."""
    copy = tmp_path_factory.mktemp("copy")
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns(*NOT_SOURCES))
        else:
            shutil.copy(source, copy / name)
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", copy / "dist", copy)
    return copy / "dist"


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    [path] = dist.glob("*.whl")
    return path


def library_files() -> set[str]:
    """What the wheel must hold, as the checkout has it: every module, the figures' scripts, and py.typed."""
    files = [path for kind in ("*.py", "*.js") for path in (ROOT / "attention_lib").rglob(kind)]
    return {path.relative_to(ROOT).as_posix() for path in files} | {"attention_lib/py.typed"}


def recorded_results() -> set[str]:
    """The results of long runs, which a notebook without a checkout reads from the wheel."""
    return {path.relative_to(ROOT).as_posix() for path in (ROOT / "book" / "results").glob("*.json")}


def test_twine_accepts_both(dist: Path) -> None:
    files = sorted(dist.iterdir())
    assert [path.suffix for path in files] == [".whl", ".gz"]
    printed = run(sys.executable, "-m", "twine", "check", "--strict", *files)
    assert printed.count("PASSED") == 2


def test_the_wheel_holds_the_library_and_its_results_and_nothing_else(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    results = {name for name in names if "/share/attention_lib/results/" in name}
    assert {name for name in names - results if ".dist-info/" not in name} == library_files()
    assert {Path(name).name for name in results} == {Path(name).name for name in recorded_results()}
    assert results
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


def test_the_wheel_asks_for_torch_and_numpy_only(wheel: Path) -> None:
    [name] = [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith("METADATA")]
    lines = zipfile.ZipFile(wheel).read(name).decode().splitlines()
    needs = [line.removeprefix("Requires-Dist: ") for line in lines if line.startswith("Requires-Dist")]
    assert sorted(need for need in needs if "extra ==" not in need) == ["numpy", "torch>=2.4"]
    version = metadata_version()
    assert f"Version: {version}" in lines
    assert wheel.name == f"attention_lib-{version}-py3-none-any.whl"


def test_the_sdist_carries_no_chapter_and_of_the_book_only_results(dist: Path) -> None:
    [path] = dist.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    assert library_files() <= names
    assert {"README.md", "LICENSE", "pyproject.toml"} <= names
    # setuptools adds tests/test*.py to every sdist; the wheel has none of them.
    assert {name for name in names if name.startswith(("book/", "chapters/")) and "." in name} == recorded_results()


@pytest.mark.skipif(os.name == "nt", reason="Windows lets only administrators make the links this test needs")
def test_the_wheel_imports_where_only_torch_and_numpy_are(wheel: Path, tmp_path: Path) -> None:
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "empty")
    python = tmp_path / "empty" / "bin" / "python"
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"))
    zipfile.ZipFile(wheel).extractall(site)
    for entry in library_needs():
        (site / entry.name).symlink_to(entry)

    code = (
        "import sys, torch, attention_lib as a; x = torch.eye(2); "
        "print(a.__version__, a.__file__, [n for n in a.__all__ if not hasattr(a, n)], "
        "a.attention(x, x, x, need_weights=True).weights.sum(-1).tolist(), 'matplotlib' in sys.modules)"
    )
    expected = f"{metadata_version()} {site / 'attention_lib' / '__init__.py'} [] [1.0, 1.0] False"
    assert run(python, "-c", code, cwd=tmp_path) == expected


def metadata_version() -> str:
    """The version that attention_lib/version.py states."""
    names: dict[str, str] = {}
    exec((ROOT / "attention_lib" / "version.py").read_text("utf-8"), names)
    return names["__version__"]


def library_needs() -> set[Path]:
    """The top-level files and folders of torch, numpy and everything that they need to be imported."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return {entry for name in with_needs(project["dependencies"]) for entry in top_level(name)}


def with_needs(lines: list[str], seen: set[str] | None = None) -> set[str]:
    """The canonical names behind requirement lines, and behind what they require in turn."""
    seen = set() if seen is None else seen
    for requirement in map(Requirement, lines):
        name = canonicalize_name(requirement.name)
        if name not in seen and (requirement.marker is None or requirement.marker.evaluate({"extra": ""})):
            seen.add(name)
            with_needs(metadata.requires(name) or [], seen)
    return seen


def top_level(name: str) -> Iterator[Path]:
    """What a distribution put directly into site-packages (its metadata folder and its scripts left out)."""
    distribution = metadata.distribution(name)
    parts = {file.parts[0] for file in distribution.files or []}
    for part in parts - {"..", "__pycache__"}:
        path = Path(str(distribution.locate_file(part)))
        if path.exists():
            yield path
