"""Does constraints.txt resolve everywhere the book promises? Run it by hand, the tests do not.

Asks `uv` (not part of the environment; `pip install uv` anywhere) to resolve `.[test]` for each target under
constraints.txt, wheels only. pip cannot do this: it evaluates environment markers for the machine it runs on.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
CONSTRAINTS = ROOT / "constraints.txt"
PYTHONS = ("3.11.2", "3.12", "3.13")  # 3.11.2 is what Debian 12 ships
PLATFORMS = {
    "Linux x86_64": "x86_64-manylinux_2_28",
    "Linux aarch64": "aarch64-manylinux_2_28",
    "macOS 14 arm64": "aarch64-apple-darwin",
    "Windows x86_64": "x86_64-pc-windows-msvc",
}
TORCH_PINS_ITSELF = ("nvidia-", "cuda-", "triton")
"""The CUDA libraries of torch's Linux wheels: torch names their exact versions, and the CPU wheels have none."""


class Pin(NamedTuple):
    """One line of constraints.txt."""

    name: str
    version: str
    marker: str | None


def read_pins(path: Path = CONSTRAINTS) -> list[Pin]:
    """The pins of a constraints file, in its order.

    Args:
        path: the file; every line that is not blank or a comment must be `name==version`, with a marker at most.

    Returns:
        One Pin a line, the name in its canonical spelling.

    Raises:
        ValueError: for a line that pins no exact version.
    """
    pins = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        requirement = Requirement(line)
        specifiers = list(requirement.specifier)
        if len(specifiers) != 1 or specifiers[0].operator != "==":
            raise ValueError(f"{path.name}:{number}: {line!r} pins no version; write {requirement.name}==X.Y")
        marker = str(requirement.marker) if requirement.marker else None
        pins.append(Pin(canonicalize_name(requirement.name), specifiers[0].version, marker))
    return pins


def resolve(uv: str, platform: str, python: str) -> tuple[dict[str, str], str]:
    """What `.[test]` becomes on one target: the versions by name (empty when it does not resolve), and the reason."""
    command = [uv, "--no-config", "pip", "compile", "pyproject.toml", "--extra", "test"]
    command += ["--constraint", "constraints.txt"]
    command += ["--python-platform", platform, "--python-version", python, "--only-binary", ":all:"]
    command += ["--quiet", "--no-header", "--no-annotate"]
    macos = {"MACOSX_DEPLOYMENT_TARGET": "14.0"}  # the oldest macOS that torch has wheels for
    done = subprocess.run(command, cwd=ROOT, env=os.environ | macos, capture_output=True, text=True, check=False)
    if done.returncode:
        return {}, done.stderr.strip()
    resolved = [Requirement(line.split(";")[0]) for line in done.stdout.splitlines() if line.strip()]
    return {canonicalize_name(r.name): str(r.specifier).removeprefix("==") for r in resolved}, ""


def unpinned(resolved: dict[str, str]) -> list[str]:
    """The distributions of a resolution that constraints.txt does not name, torch's own CUDA libraries left out."""
    named = {pin.name for pin in read_pins()}
    return [f"{n}=={v}" for n, v in resolved.items() if n not in named and not n.startswith(TORCH_PINS_ITSELF)]


def check_target(uv: str, system: str, python: str) -> str:
    """One target: prints its line, and returns what is wrong with it ("" when nothing is)."""
    began = time.monotonic()
    resolved, problem = resolve(uv, PLATFORMS[system], python)
    missing = unpinned(resolved)
    if missing:
        problem = f"constraints.txt names no version of {', '.join(missing)}; add a line (with a marker) for each"
    verdict = "does not hold" if problem else f"{len(resolved)} distributions"
    print(f"{system:15} Python {python:7} {verdict:20} {time.monotonic() - began:5.1f} s", flush=True)
    return f"{system}, Python {python}: {problem}" if problem else ""


def main(arguments: list[str] | None = None) -> int:
    """Checks every target; exit code 1 when one does not hold, 2 when `uv` is missing."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--uv", default=shutil.which("uv"), help="the uv program (default: the one on PATH)")
    uv = parser.parse_args(arguments).uv
    if uv is None:
        print("no `uv` on PATH; `pip install uv` in any environment, then pass --uv PATH/TO/uv", file=sys.stderr)
        return 2
    problems = [check_target(uv, system, python) for system in PLATFORMS for python in PYTHONS]
    print("\n".join(filter(None, problems)), file=sys.stderr, end="")
    return int(any(problems))


if __name__ == "__main__":
    raise SystemExit(main())
