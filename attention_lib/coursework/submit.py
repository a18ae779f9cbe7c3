"""Writes what a student hands in: the code cells, after a run from a clean state."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from attention_lib.coursework.checking import current, tasks_of
from attention_lib.errors import OptionError

__all__ = ["clean_run", "submission"]

_SECONDS = 120


def submission(folder: str | Path = ".", *, cells: list[str] | None = None) -> Path:
    """Run the definitions from a clean state, say how many public checks they pass, and write one file.

    Args:
        folder: Where to write.
        cells: Sources of the code cells; None takes those that ran in this notebook.

    Returns:
        The file to hand in.

    Raises:
        OptionError: No assignment is open, or there is no notebook to take the cells from.
    """
    name, variant = current()
    cells = _history() if cells is None else cells
    results = clean_run(name, variant, cells)
    for function, text in results["failed"].items():
        print(f"  {function}: {text}")
    passed, of = results["passed"], results["of"]
    print(f"public checks {passed}/{of}; hidden checks decide" if of else "taken as it stands; it is graded later")
    path = Path(folder) / f"{name}.submission.ipynb"
    path.write_text(json.dumps(_as_notebook(cells, name, variant), ensure_ascii=False, indent=1), encoding="utf-8")
    print(f"hand in this file: {path}")
    return path


def _history() -> list[str]:
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is None:
        raise OptionError("submission() runs in a notebook; elsewhere give it cells=[...], the sources of your cells")
    ran = [cell for cell in shell.user_ns.get("In", []) if cell.strip()]
    return list(dict.fromkeys(reversed(ran)))[::-1]  # each text once, where it ran last


def clean_run(name: str, variant: dict[str, Any], cells: list[str]) -> dict[str, Any]:
    """The public checks in a fresh process, which knows nothing of this notebook's state.

    Returns:
        ``passed``, ``of``, and for each failed function the first line of what was said.
    """
    order = json.dumps({"assignment": name, "variant": variant, "cells": cells})
    command = [sys.executable, "-m", "attention_lib.coursework.clean"]
    try:
        run = subprocess.run(command, input=order, capture_output=True, text=True, encoding="utf-8", timeout=_SECONDS)
        return json.loads(run.stdout.strip().split("\n")[-1])
    except subprocess.TimeoutExpired:
        reason = f"no answer within {_SECONDS} s from a clean state"
    except ValueError:
        reason = f"the clean run ended: {run.stderr.strip()[-300:]}"
    return {"passed": 0, "of": len(tasks_of(name)), "failed": dict.fromkeys(tasks_of(name), reason)}


def _as_notebook(cells: list[str], name: str, variant: dict[str, Any]) -> dict[str, Any]:
    made: list[dict[str, Any]] = [
        {"cell_type": "code", "execution_count": None, "id": f"cell-{number}", "metadata": {}, "outputs": [],
         "source": source} for number, source in enumerate(cells)
    ]  # fmt: skip
    about = {"assignment": name, "variant": variant}
    return {"cells": made, "metadata": {"attention_coursework": about, "language_info": {"name": "python"}},
            "nbformat": 4, "nbformat_minor": 5}  # fmt: skip
