"""The doctor on the command line: ``python -m attention_lib.doctor path.py:Name``.

Exit status: 0 healthy, 1 findings, 2 could not examine. The candidate runs in a process of its own, so that nothing
it does (ending the process, waiting in C code) keeps an answer from coming.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch

from attention_lib.doctor.diagnose import KINDS, diagnose
from attention_lib.doctor.findings import Diagnosis, Finding
from attention_lib.doctor.guard import Failure, Runner, quiet
from attention_lib.doctor.mistakes import finding

__all__ = ["main"]

HEALTHY, FINDINGS, NOT_EXAMINED = 0, 1, 2


def main(arguments: list[str] | None = None) -> int:
    """Examine one candidate and print the diagnosis.

    Args:
        arguments: The command line; None is ``sys.argv[1:]``.

    Returns:
        The exit status.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    given = _parser().parse_args(arguments)
    if given.answer:
        _work(given)
        return HEALTHY
    diagnosis = _in_another_process(given, arguments)
    print(diagnosis.to_json(indent=1) if given.json else diagnosis)
    if not diagnosis.examined:
        return NOT_EXAMINED
    return HEALTHY if diagnosis.ok else FINDINGS


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m attention_lib.doctor",
        description="Say which mistake an attention makes.",
        epilog="Exit status: 0 healthy, 1 findings, 2 could not examine.",
    )
    parser.add_argument("target", help="path.py:Name or package.module:Name; a function, a module or a class")
    parser.add_argument("--kind", choices=KINDS, default="attention")
    parser.add_argument("--json", action="store_true", help="print the diagnosis as json")
    parser.add_argument("--causal", action="store_true", help="it is meant to be causal by itself")
    parser.add_argument("--mask", choices=("allowed", "blocked", "additive"), default="allowed")
    parser.add_argument("--window", type=int, help="it is meant to see this many keys")
    parser.add_argument("--scale", type=float, help="the factor it is meant to put on the scores")
    parser.add_argument("--num-heads", type=int, help="heads of a module that does not say so itself")
    parser.add_argument("--variant", action="append", default=[], help="a variant it is meant to be: alibi, rotary ...")
    parser.add_argument("--projection", action="append", default=[], metavar="ROLE=NAME", help="such as query=lin1")
    parser.add_argument("--strict", action="store_true", help="remarks count as findings")
    parser.add_argument("--time-limit", type=float, default=10.0, help="seconds one call may take")
    parser.add_argument("--answer", help=argparse.SUPPRESS)
    return parser


def _in_another_process(given: argparse.Namespace, arguments: list[str]) -> Diagnosis:
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.json"
        command = [sys.executable, "-m", "attention_lib.doctor", *arguments, "--answer", str(answer)]
        try:
            run = subprocess.run(command, capture_output=True, text=True, timeout=60 + 12 * given.time_limit)
        except subprocess.TimeoutExpired:
            return _failed(given, "time-limit", "No answer came in time; the process was ended.")
        if not answer.exists():
            return _failed(given, "exits", f"The process ended with status {run.returncode}.\n{run.stderr[-2000:]}")
        return _from_json(answer.read_text(encoding="utf-8"))


def _from_json(text: str) -> Diagnosis:
    told = json.loads(text)
    told["findings"] = [Finding(**one) for one in told["findings"]]
    kept: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in told.items()}
    return Diagnosis(**kept)


def _failed(given: argparse.Namespace, code: str, evidence: str) -> Diagnosis:
    name = given.target.rpartition(":")[2]
    return Diagnosis(False, (finding(code, evidence.strip()),), False, name, given.kind)


def _work(given: argparse.Namespace) -> None:
    """In the other process: examine, leave the answer in a file, and end whatever still runs."""
    torch.set_num_threads(1)
    diagnosis = _diagnose(given)
    Path(given.answer).write_text(diagnosis.to_json(), encoding="utf-8")
    os._exit(HEALTHY)  # a candidate's thread that refuses to stop must not keep the process alive


def _diagnose(given: argparse.Namespace) -> Diagnosis:
    runner = Runner(6 * given.time_limit)
    with quiet():
        candidate = runner.call(_load, given.target, grad=True)
    runner.close()
    if isinstance(candidate, Failure):
        code = {"time": "time-limit", "exit": "exits"}.get(candidate.reason, "not-callable")
        return _failed(given, code, f"{given.target} cannot be loaded: {candidate.message}\n{candidate.trace}")
    projections = dict(pair.split("=", 1) for pair in given.projection)
    return diagnose(
        candidate, given.kind, projections={role: name or None for role, name in projections.items()} or None,
        num_heads=given.num_heads, causal=given.causal, mask=given.mask, window=given.window, scale=given.scale,
        variants=given.variant, strict=given.strict, time_limit=given.time_limit,
    )  # fmt: skip


def _load(target: str) -> Any:
    place, _, name = target.rpartition(":")
    if not place or not name:
        raise ValueError("the target is written path.py:Name")
    if place.endswith(".py"):
        path = Path(place).resolve()
        sys.path.insert(0, str(path.parent))
        spec = importlib.util.spec_from_file_location(f"candidate_{path.stem}", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    else:
        sys.path.insert(0, os.getcwd())
        module = importlib.import_module(place)
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part)
    return found


if __name__ == "__main__":
    sys.exit(main())
