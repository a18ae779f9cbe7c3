"""``python -m attention_lib.bench``: time, memory and error beside torch and other packages, target by target."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import torch

from attention_lib.bench.case import Setting
from attention_lib.bench.report import as_text
from attention_lib.bench.run import run_bench
from attention_lib.bench.table import CASES, GROWTH, ROW_NUMBERS, chosen_cases
from attention_lib.errors import OptionError
from attention_lib.experiments.control import progress_bar
from attention_lib.experiments.record import check_record_target, check_target

__all__ = ["main"]

EXIT = """Exit status: 0 when everything was measured, 1 when a variant of this library raised (with --strict also when
a target was missed), 2 for a call that cannot be run."""


def main(arguments: list[str] | None = None) -> int:
    """Measure what the command line asks for, print the tables, write the files."""
    arguments = sys.argv[1:] if arguments is None else arguments
    options = _parser().parse_args(arguments)
    try:
        return _run(options, " ".join(["python -m attention_lib.bench", *arguments]))
    except OptionError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m attention_lib.bench", description=__doc__, epilog=EXIT)
    parser.add_argument(
        "--quick", action="store_true", help="three rounds, smaller sizes where that changes no verdict"
    )
    parser.add_argument(
        "--rows", metavar="N,N-N", help=f"rows of the table, such as 1,5-7; all are 1-{ROW_NUMBERS[-1]}"
    )
    parser.add_argument("--rounds", type=int, help="timings of each variant (9, with --quick 3)")
    parser.add_argument(
        "--threads", type=int, nargs="+", metavar="N", help="numbers of torch threads (1 2; on a GPU 1)"
    )
    parser.add_argument("--device", default="cpu", help="cpu (the default) or cuda")
    parser.add_argument("--compile", action="store_true", help="compile flex_attention on a CPU too: takes minutes")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything measured")
    parser.add_argument("--figure", type=Path, metavar="FILE", help="draw the targets into a .png or .svg")
    parser.add_argument("--strict", action="store_true", help="exit with 1 when a target is missed")
    parser.add_argument("--list", action="store_true", help="name the cases and stop")
    return parser


def _run(options: argparse.Namespace, command: str) -> int:
    if options.list:
        print("\n".join(f"{case.row:3}  {case.title}" for case in CASES) + f"\n {GROWTH}  errors, and growth with n")
        return 0
    rows = None if options.rows is None else row_numbers(options.rows)
    cases = chosen_cases(rows, quick=options.quick)
    rounds, threads = _rounds(options), _threads(options)
    setting = Setting(_device(options.device), options.quick, options.compile)
    if options.json is not None:  # before minutes of work, not after them
        check_record_target(options.json, marks=frozenset({"cases", "verdicts"}), what="a bench")
    if options.figure is not None:
        check_target(options.figure)
    figure = _drawing(options.figure) if options.figure else None
    steps = iter(progress_bar(range(sum(case.rounds(rounds) for case in cases) * len(threads)), "bench", show=True))
    report = run_bench(
        cases, setting, rounds=rounds, thread_counts=threads, growth=rows is None or GROWTH in rows, command=command,
        tick=lambda what: next(steps, None),
    )  # fmt: skip
    next(steps, None)  # closes the bar
    print(as_text(report))
    if options.json:
        write_json(report.as_json(), options.json)
    if figure is not None:
        figure.save(figure.draw(report.verdicts), options.figure)
    missed = any(verdict.verdict == "missed" for verdict in report.verdicts)
    return 1 if report.failed() or (options.strict and missed) else 0


def _drawing(path: Path) -> ModuleType:
    """The module that draws, loaded only when it is needed: matplotlib is no requirement of the bench."""
    if path.suffix not in (".png", ".svg"):
        raise OptionError(f"cannot draw into {path.name}: its name must end in .png or .svg")
    try:
        return importlib.import_module("attention_lib.bench.figure")
    except ModuleNotFoundError as error:
        raise OptionError(f"--figure needs {error.name}: pip install {error.name}") from error


def row_numbers(text: str) -> list[int]:
    """Rows as typed.

    Raises:
        OptionError: Not numbers and ranges.

    Example:
        >>> row_numbers("1,5-7")
        [1, 5, 6, 7]
    """
    numbers: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d+)(?:-(\d+))?\s*", part)
        if not match:
            raise OptionError(f"--rows {text}: {part!r} is neither a number nor a range; write 1,5-7")
        numbers += range(int(match[1]), int(match[2] or match[1]) + 1)
    return numbers


def write_json(report: dict, path: Path) -> None:
    """One short list a line."""
    text = json.dumps(report, indent=1, allow_nan=False)
    path.write_text(re.sub(r"\[\s+([^\[\]{}]*?)\s+\]", lambda m: f"[{' '.join(m[1].split())}]", text) + "\n", "utf-8")


def _rounds(options: argparse.Namespace) -> int:
    rounds = (3 if options.quick else 9) if options.rounds is None else options.rounds
    if rounds < 1:
        raise OptionError(f"--rounds {rounds} must be 1 or more; 9 give a steady median")
    return rounds


def _threads(options: argparse.Namespace) -> list[int]:
    cores = os.cpu_count() or 1
    usual = [1] if options.device.startswith("cuda") else [n for n in (1, 2) if n <= cores]
    threads = usual if options.threads is None else options.threads
    for number in threads:
        if not 1 <= number <= cores:
            raise OptionError(f"--threads {number} must be from 1 to {cores}, the processors of this machine")
    return threads


def _device(name: str) -> torch.device:
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise OptionError(f"--device {name} cannot be used here: {str(error).partition(chr(10))[0]}") from error
    if device.type not in ("cpu", "cuda"):
        raise OptionError(f"--device {name} has no clock here; choose cpu or cuda")
    return device


def start() -> int:
    """The same in a fresh process whose idle threads sleep.

    By default they spin while they wait for one another. That counts as processor time, and on a busy machine there
    is far more of it than of work. The setting must be there before torch is loaded.
    """
    if os.environ.get("OMP_WAIT_POLICY"):
        return main()
    command = [sys.executable, "-m", "attention_lib.bench", *sys.argv[1:]]
    try:
        return subprocess.call(command, env={**os.environ, "OMP_WAIT_POLICY": "passive"})
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(start())
