#!/usr/bin/env python3
"""The doctor's long run: the whole corpus, many seeds, all mutants; written to book/results/doctor_audit.json.

    python book/tools/doctor_audit.py --seeds 1000 --mutants 1

``--mutants n`` examines every n-th mutant. A run that was stopped goes on where it was: seeds and mutants that were
examined are not examined again, unless the doctor or the corpus changed in between.
"""

import argparse
import datetime
import hashlib
import json
import os
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import torch
from tqdm.auto import tqdm

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "doctor")]

import mutants as mutation  # noqa: E402
from specimens import load  # noqa: E402

from attention_lib.doctor import diagnose  # noqa: E402

RESULT = ROOT / "book" / "results" / "doctor_audit.json"
EVERY = 20  # seconds between two saves


def version():
    """A fingerprint of the doctor and its corpus."""
    paths = sorted([*(ROOT / "attention_lib").rglob("*.py"), *(ROOT / "tests" / "doctor").rglob("*.py")])
    kept = [path for path in paths if "doctor" in path.parts or "steps" in path.parts]
    return hashlib.sha256(b"".join(path.read_bytes() for path in kept)).hexdigest()[:16]


def load_progress():
    """What an earlier run of the same version has done."""
    fresh = {"version": version(), "seeds": 0, "accused": [], "mutants": {}, "mutants_done": 0}
    if not RESULT.exists():
        return fresh
    before = json.loads(RESULT.read_text(encoding="utf-8"))
    return before["progress"] if before["progress"]["version"] == fresh["version"] else fresh


def examine(specimen, candidate=None, **options):
    """A diagnosis and the processor seconds it took."""
    fresh = specimen.fresh(candidate)
    start = time.process_time()
    diagnosis = diagnose(fresh, specimen.kind, **(specimen.options | options))
    return diagnosis, time.process_time() - start


def wrong_ones():
    """How many wrong specimens are caught, named, and named without anything else."""
    counts, seconds = Counter(), []
    for specimen in load("wrong"):
        diagnosis, took = examine(specimen)
        strict = specimen.options.get("strict")
        codes = {f.code for f in diagnosis.findings if strict or f.severity != "remark"}
        counts.update(
            all=1, caught=not diagnosis.ok, named=set(specimen.codes) <= codes, exact=set(specimen.codes) == codes
        )
        seconds.append(took)
    return dict(counts), seconds


def accused_under(seed):
    """The correct specimens that are accused under one seed, which also chooses other shapes."""
    diagnoses = ((specimen, examine(specimen, seed=seed)[0]) for specimen in load("correct"))
    return [[specimen.name, seed, list(diagnosis.codes)] for specimen, diagnosis in diagnoses if not diagnosis.ok]


def fates_of(place, every, first):
    """What became of every n-th mutant of one correct specimen, whose mutants start at number ``first``."""
    specimen, counts, probes = load("correct")[place], Counter(), None
    for number, mutant in enumerate(mutation.mutants_of(specimen), start=first):
        if number % every == 0:
            probes = probes or mutation.probes_for(specimen)
            counts.update(_fate(mutant, probes))
    return counts


def more_seeds(progress, count, pool, save):
    """Examine all correct specimens under further seeds."""
    seeds = range(progress["seeds"], count)
    for seed, accused in zip(tqdm(seeds, "seeds"), pool.map(accused_under, seeds), strict=True):
        progress["accused"] += accused
        progress["seeds"] = seed + 1
        save()


def more_mutants(progress, every, pool, save):
    """Examine every n-th mutant and count what became of it; specimens that are done are not done again."""
    sizes = [len(list(mutation.mutants_of(specimen))) for specimen in load("correct")]
    places = range(progress["mutants_done"], len(sizes))
    fates = pool.map(fates_of, places, [every] * len(places), [sum(sizes[:place]) for place in places])
    for place, counts in zip(tqdm(places, "mutated"), fates, strict=True):
        progress["mutants"] = dict(Counter(progress["mutants"]) + counts)
        progress["mutants_done"] = place + 1
        save()
    progress["mutants"]["generated"] = sum(sizes)


def _fate(mutant, probes):
    reason = mutation.why_equivalent(mutant, probes)
    diagnosis, _ = examine(
        mutant.specimen,
        mutant.candidate,
        **({"time_limit": 2.0} if "time_limit" not in mutant.specimen.options else {}),
    )
    fate = {"examined": 1}
    if "doctor-failed" in diagnosis.codes:
        fate["the doctor failed"] = 1
    if reason:
        return fate | {f"equivalent: {reason.split(' on all ')[0]}": 1}
    fate["different"] = 1
    if diagnosis.ok:
        print(f"missed: {mutant.name}", file=sys.stderr)
        return fate | {"missed": 1}
    how = "did not run" if not diagnosis.examined else "cause unknown" if "differs" in diagnosis.codes else "named"
    return fate | {f"caught: {how}": 1}


def main():
    """Read the command line; see --help."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--mutants", type=int, default=1, help="examine every n-th mutant; 0 for none")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    progress, last = load_progress(), [0.0]
    wrong, seconds = wrong_ones()
    correct_seconds = [examine(specimen)[1] for specimen in load("correct")]

    def save(always=False):
        if always or time.monotonic() - last[0] > EVERY:
            last[0] = time.monotonic()
            _write(progress, wrong, seconds + correct_seconds, arguments)

    with ProcessPoolExecutor(arguments.jobs, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        if arguments.mutants:
            more_mutants(progress, arguments.mutants, pool, save)
        more_seeds(progress, arguments.seeds, pool, save)
    save(always=True)


def _write(progress, wrong, seconds, arguments):
    ordered = sorted(seconds)
    summary = {
        "wrong specimens": wrong["all"], "wrong caught": wrong["caught"], "wrong named": wrong["named"],
        "wrong named exactly": wrong["exact"], "correct specimens": len(load("correct")),
        "seeds a correct specimen": progress["seeds"], "correct accused": len(progress["accused"]),
        "mutants examined": progress["mutants"].get("examined", 0),
        "mutants that differ": progress["mutants"].get("different", 0),
        "mutants missed": progress["mutants"].get("missed", 0),
        "ms a diagnosis, median": round(1000 * ordered[len(ordered) // 2]),
        "ms a diagnosis, 95 of 100": round(1000 * ordered[int(0.95 * len(ordered))]),
    }  # fmt: skip
    told = {
        "name": "doctor_audit", "summary": summary, "progress": progress, "device": "cpu, 1 thread, processor time",
        "torch": torch.__version__.split("+")[0], "date": datetime.date.today().isoformat(),
        "command": f"python book/tools/doctor_audit.py --seeds {arguments.seeds} --mutants {arguments.mutants}",
    }  # fmt: skip
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
