#!/usr/bin/env python3
"""Run every check of the book, one after the other, and end with a summary.

Later checks run even if an earlier one failed. Under CI=true the slow checks run too.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass, field

from bookkit.book import ROOT
from bookkit.execution import ENVIRONMENT

SKIPPED = re.compile(r"^SKIPPED \[\d+\] (.*)", re.M)
PARALLEL = ("-n", "2", "--dist", "loadfile")
IN_ORDER = "--no-loadscope-reorder"  # files with few tests may take the longest, and are not left for the end
NBVAL = ("--nbval", "--nbval-current-env", "--nbval-cell-timeout=120", "-o", "addopts=-ra")


@dataclass
class Check:
    """One line of the summary: a name and the command behind it."""

    name: str
    command: tuple[str, ...]
    slow: bool = False
    environment: dict = field(default_factory=dict)


def _module(*words: str) -> tuple[str, ...]:
    return (sys.executable, "-m", *words)


def _pytest(marks: str, *words: str) -> tuple[str, ...]:
    return _module("pytest", "-q", *words, "-m", marks)


def _tool(*words: str) -> tuple[str, ...]:
    return (sys.executable, f"book/tools/{words[0]}", *words[1:])


# Notebooks run as a reader runs them: figures as PNG alone, yet one thread and no progress bars.
NOTEBOOK_ENVIRONMENT = {key: value for key, value in ENVIRONMENT.items() if key != "ATTENTION_FIGURES"}
LIGHTHOUSE = "tests/site/test_lighthouse.py"
FAST = "not bad_input and not site and not slow"
CHECKS = [
    Check("lint", _module("ruff", "check", ".")),
    Check("format", _module("ruff", "format", "--check", ".")),
    Check("types", _module("mypy", "attention_lib")),
    Check("unit", _pytest(FAST, *PARALLEL, "tests", "attention_lib", "book/tools/bookkit")),
    Check("bad input", _pytest("bad_input and not slow", "tests")),
    Check("in step", _tool("notebooks.py", "--check")),
    Check(
        "notebooks",
        _module("pytest", "-q", *NBVAL, *PARALLEL, "chapters/notebooks"),
        environment=NOTEBOOK_ENVIRONMENT,
    ),
    Check("site build", _tool("build_site.py")),
    Check("site", _pytest("site", *PARALLEL, IN_ORDER, f"--ignore={LIGHTHOUSE}", "tests/site")),
    Check("lighthouse", _pytest("site", LIGHTHOUSE), slow=True),  # alone: a busy machine counts against the page
    Check("slow", _pytest("slow and not site", *PARALLEL, "tests"), slow=True),
]


def run(check: Check) -> tuple[str, list[str]]:
    """Run one check, showing its output as it comes.

    Returns:
        "ok" or "FAILED", with the seconds; and the reasons of skipped tests.
    """
    print(f"\n=== {check.name}: {' '.join(check.command[1:])}", flush=True)
    start = time.perf_counter()
    process = subprocess.Popen(
        check.command,
        cwd=ROOT,
        env=os.environ | check.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
    )
    output = []
    for line in process.stdout:
        print(line, end="", flush=True)
        output.append(line)
    passed = process.wait() == 0  # pytest's 5, "nothing to run", is a failure: every check has something to do
    seconds = time.perf_counter() - start
    return f"{'ok' if passed else 'FAILED'} ({seconds:.0f} s)", SKIPPED.findall("".join(output))


def main() -> int:
    """Read the command line; see --help."""
    names = [check.name for check in CHECKS]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", choices=names, help="run this check alone; may be repeated")
    parser.add_argument("--slow", action="store_true", default=os.environ.get("CI") == "true", help="slow ones too")
    arguments = parser.parse_args()
    chosen = [
        check
        for check in CHECKS
        if (check.name in arguments.only if arguments.only else arguments.slow or not check.slow)
    ]
    left_out = [check.name for check in CHECKS if check not in chosen]
    return _report({check.name: run(check) for check in chosen}, left_out)


def _report(results: dict[str, tuple[str, list[str]]], left_out: list[str]) -> int:
    """Print the summary; its last line says it all."""
    print("\n=== summary")
    for name, (result, skipped) in results.items():
        print(f"  {name:12} {result}")
        for reason in skipped:
            print(f"  {'':12} skipped: {reason}")
    if left_out:
        print(f"  not run: {', '.join(left_out)}")
    failed = [name for name, (result, _) in results.items() if not result.startswith("ok")]
    print(f"FAILED: {', '.join(failed)}" if failed else f"ALL {len(results)} CHECKS PASSED")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
