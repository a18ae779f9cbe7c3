"""``python -m attention_lib.experiments NAME --budget full``: run one experiment and record it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from attention_lib.errors import OptionError
from attention_lib.experiments.record import check_record_target, checkout_results, make_record, write_record
from attention_lib.experiments.registry import NAMES, find_experiment


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line asks for; the exit status is 0, or 2 for a call that cannot be run."""
    options = _parser().parse_args(arguments)
    if options.list:
        print(_listing())
        return 0
    try:
        if options.name is None:
            raise OptionError(f"which experiment? choose one of: {', '.join(NAMES)}")
        _run(options.name, options.budget, options.output)
    except OptionError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m attention_lib.experiments", description=__doc__)
    parser.add_argument("name", nargs="?", metavar="NAME", help="experiment to run; --list shows all")
    parser.add_argument("--budget", default="smoke", help="smoke (seconds, the default) or full (minutes)")
    parser.add_argument(
        "-o", "--output", type=Path, help="json file; a full run of a checkout goes to book/results by itself"
    )
    parser.add_argument("--list", action="store_true", help="name the experiments and stop")
    return parser


def _listing() -> str:
    lines = (f"{name:20} {(find_experiment(name).__doc__ or '').splitlines()[0]}" for name in NAMES)
    return "\n".join(lines)


def _run(name: str, budget: str, output: Path | None) -> None:
    experiment = find_experiment(name)
    if output is None and budget == "full":
        output = _default_output(name)
    if output is not None:
        check_record_target(output)  # before minutes of work, not after them
    record = make_record(
        name, experiment.run(budget, progress=True), device=getattr(experiment, "DEVICE", "cpu, 1 thread")
    )
    for key, value in record.summary.items():
        print(f"{key:32} {value}")
    if output is not None:
        print(f"recorded in {write_record(record, output)}")


def _default_output(name: str) -> Path:
    results = checkout_results()
    if results is None:
        raise OptionError("this is no checkout with a book/results folder; name a file to record in with -o FILE")
    return results / f"{name}.json"


if __name__ == "__main__":
    sys.exit(main())
