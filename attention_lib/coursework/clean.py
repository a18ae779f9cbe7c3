"""The other process of ``submission``: runs the definitions alone, and checks them. Reads and writes json."""

from __future__ import annotations

import ast
import io
import json
import sys
import types
from contextlib import redirect_stdout
from typing import Any

import torch

from attention_lib.coursework.checking import assignment, check, tasks_of
from attention_lib.coursework.extract import needed_statements, statements_of

__all__ = ["main", "run"]


def run(name: str, variant: dict[str, Any], cells: list[str]) -> dict[str, Any]:
    """Check every function of an assignment as the cells define it."""
    torch.set_num_threads(1)
    assignment(name, **variant)
    statements, troubles = statements_of(cells)
    module = types.ModuleType("submission")
    vars(module)["torch"] = torch  # the notebook's set-up cell, which a student may have deleted
    for statement in needed_statements(statements, tasks_of(name)):
        try:
            exec(compile(ast.Module([statement], []), "<submission>", "exec"), vars(module))
        except (Exception, SystemExit) as error:
            troubles.append(f"{type(error).__name__}: {error}")
    failed = {}
    for function in tasks_of(name):
        if not hasattr(module, function):
            failed[function] = "; ".join(["not defined", *troubles])
            continue
        answer = check(function, getattr(module, function))
        if not answer.ok:
            failed[function] = _short(function, answer.message)
    return {"passed": len(tasks_of(name)) - len(failed), "of": len(tasks_of(name)), "failed": failed}


def _short(function: str, message: str) -> str:
    """The beginning of an answer on one line: both sides of a convention, or the name of the mistake."""
    lines = message.removeprefix(f"{function}: ").split("\n")
    count = 3 if len(lines) > 1 and lines[1].lstrip().startswith("yours:") else 2
    return " ".join(" ".join(lines[:count]).split())


def main() -> None:
    """Read the order, answer on the last line."""
    order = json.loads(sys.stdin.read())
    with redirect_stdout(io.StringIO()):
        told = run(order["assignment"], order["variant"], order["cells"])
    print(json.dumps(told))


if __name__ == "__main__":
    main()
