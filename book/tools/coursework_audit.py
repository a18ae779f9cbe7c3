#!/usr/bin/env python3
"""The coursework's long run: all corpora, whole; written to book/results/coursework_audit.json.

    python book/tools/coursework_audit.py

A run that was stopped goes on where it was, unless the grader or a corpus changed in between. As root it also runs the
attacks as an ordinary user, where it finds a Python that such a user may run.
"""

import argparse
import datetime
import json

import torch
from auditkit.answers import copying, mutants, wrong
from auditkit.attacks import attacks, attacks_as_user
from auditkit.many import many, speed
from auditkit.notebooks import leaks, mangled
from auditkit.places import RESULT, TESTS, version
from auditkit.right import correct
from auditkit.summary import summary

from attention_lib.coursework.sandbox import Worker

WORK = {
    "attacks": attacks,
    "attacks as a user": attacks_as_user,
    "wrong": wrong,
    "mutants": mutants,
    "copying": copying,
    "manglings": mangled,
    "leaks": leaks,
    "speed": speed,
    "many": many,
}
PARTS = (*WORK, "correct")


def main():
    """Read the command line; see --help."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1000, help="secret seeds for each right answer")
    parser.add_argument("--mutants", type=int, default=500)
    parser.add_argument("--submissions", type=int, default=300, help="how many to measure the speed with")
    parser.add_argument("--many", type=int, default=10000, help="submissions in the large folder; 0 for none")
    parser.add_argument("--only", action="append", choices=PARTS, help="run this part alone; may be repeated")
    settings = parser.parse_args()
    torch.set_num_threads(1)
    told, now = _before(), version()
    worker = Worker("bubblewrap", [str(TESTS)])
    for part in settings.only or PARTS:
        before = told["parts"].get(part, {})
        same = before.get("version") == now
        if part == "correct":
            correct(settings, before if same else None, lambda done: _write(told, "correct", done, settings, now))
        elif settings.only or not same or (part == "many" and before.get("submissions", 0) < settings.many):
            _write(told, part, WORK[part](worker, settings), settings, now)
    worker.stop()


def _before():
    """What an earlier run found; a part that ran on another version of the grader or the corpora will run again."""
    return json.loads(RESULT.read_text(encoding="utf-8"))["progress"] if RESULT.exists() else {"parts": {}}


def _write(progress, part, found, settings, now):
    progress["parts"][part] = {**found, "version": now}
    told = {
        "name": "coursework_audit",
        "summary": summary({name: part for name, part in progress["parts"].items() if part.get("version") == now}),
        "progress": progress,
        "device": "cpu, 1 thread a sandbox",
        "torch": torch.__version__.split("+")[0],
        "date": datetime.date.today().isoformat(),
        "command": f"python book/tools/coursework_audit.py --seeds {settings.seeds} --mutants {settings.mutants}"
        + f" --many {settings.many}" * (settings.many > 0),
    }
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    fresh = RESULT.with_suffix(".new")
    fresh.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    fresh.replace(RESULT)


if __name__ == "__main__":
    main()
