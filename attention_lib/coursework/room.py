"""What a worker is given: the folders it may read, the few files it runs, its environment, bubblewrap's command."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy
import torch

__all__ = ["bubblewrap", "environment", "python", "stage"]

_HERE = Path(__file__).parent
_STAGED = ("wire.py", "extract.py", "seal.py", "account.py", "withheld.py", "worker.py")
_START = (
    "import sys; sys.path[:0] = [{stage!r}]; sys.path += {sites!r}; "
    "from attention_lib.coursework.worker import main; main({fd}, {mode!r}, {hidden!r})"
)


def python(folder: str, control: int, mode: str, hidden: Sequence[str]) -> list[str]:
    """The command of a worker whose files lie in ``folder`` and that answers on the socket ``control``.

    Bubblewrap hides folders by itself; an account has to be tried on them, by the worker.
    """
    tried = tuple(hidden) if mode == "account" else ()
    start = _START.format(stage=folder, sites=sites(), fd=control, mode=mode, hidden=tried)
    return [sys.executable, "-I", "-B", "-c", start]


def sites() -> list[str]:
    """Where torch and numpy are installed."""
    return sorted({str(Path(module.__file__).parents[1]) for module in (torch, numpy) if module.__file__})


def _places() -> list[str]:
    """Folders that a worker must be able to read: the system's libraries, Python, torch and numpy."""
    wanted = [sys.base_prefix, sys.prefix, *sites()]
    kept: list[str] = ["/usr"]
    for place in map(os.path.realpath, wanted):
        if not any(Path(place).is_relative_to(other) for other in kept):
            kept.append(place)
    if sys.prefix != os.path.realpath(sys.prefix):
        kept.append(sys.prefix)
    return kept


def bubblewrap(folder: str, hidden: Sequence[str]) -> list[str]:
    """Bubblewrap's part of the command: every namespace, what is needed read-only, nothing of ``hidden``."""
    command = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--tmpfs", "/tmp"]
    for place in _places():
        command += ["--ro-bind", place, place]
    for place in ("/bin", "/sbin", "/lib", "/lib32", "/lib64"):
        if os.path.islink(place):
            command += ["--symlink", os.readlink(place), place]
        elif os.path.isdir(place):
            command += ["--ro-bind", place, place]
    command += ["--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache", "--proc", "/proc", "--dev", "/dev"]
    command += ["--ro-bind", folder, folder, "--chdir", "/tmp"]
    for place in (*hidden, *own_copies()):
        if os.path.isdir(place) and any(Path(place).is_relative_to(p) for p in _places()):
            command += ["--tmpfs", place]
    return command


def own_copies() -> list[str]:
    """Where the real library lies inside the folders that a worker reads."""
    places = [*sites(), *(place for place in sys.path if place.endswith("-packages"))]
    copies = {os.path.join(place, "attention_lib") for place in places}
    return sorted(copy for copy in copies if os.path.isdir(copy))


def stage() -> tempfile.TemporaryDirectory[str]:
    """A folder with the few files that the worker runs, and stand-ins for the rest of the library."""
    folder = tempfile.TemporaryDirectory(prefix="attention-sandbox-")
    room = Path(folder.name) / "attention_lib" / "coursework"
    room.mkdir(parents=True)
    (room.parent / "__init__.py").write_text("", encoding="utf-8")
    shutil.copyfile(_HERE / "stand_in.py", room / "__init__.py")
    for name in _STAGED:
        shutil.copyfile(_HERE / name, room / name)
    for path in (Path(folder.name), room.parent, room):
        path.chmod(0o755)
    return folder


def environment() -> dict[str, str]:
    """Of the grader's own environment a worker sees the library path alone."""
    kept = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": "/tmp",
        "USER": "nobody",
        "LANG": "C.UTF-8",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "PYTHONHASHSEED": "0",
        "CUDA_VISIBLE_DEVICES": "",
        "PYTHONDONTWRITEBYTECODE": "1",
        **kept,
    }
