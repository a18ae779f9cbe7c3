#!/usr/bin/env python3
"""The coursework's long run: all corpora, whole; written to book/results/coursework_audit.json.

    python book/tools/coursework_audit.py --seeds 1000 --mutants 500

A run that was stopped goes on where it was, unless the grader or a corpus changed in between. As root it also runs the
attacks as an ordinary user, where it finds a Python that such a user may run.
"""

import argparse
import ast
import datetime
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests" / "coursework"
sys.path[:0] = [str(ROOT), str(TESTS)]

import attack_range  # noqa: E402
import corpora  # noqa: E402
import torch  # noqa: E402
from tqdm import tqdm  # noqa: E402

from attention_lib.coursework.marking import mark, mark_session  # noqa: E402
from attention_lib.coursework.model import load_assignment  # noqa: E402
from attention_lib.coursework.sandbox import Limits, Worker  # noqa: E402
from attention_lib.coursework.variants import book_variant  # noqa: E402
from attention_lib.coursework.verify import answers_of, with_variant  # noqa: E402

RESULT = ROOT / "book" / "results" / "coursework_audit.json"
PARTS = ("attacks", "attacks as a user", "wrong", "mutants", "copying", "manglings", "leaks", "speed", "correct")
SLOW_STYLES = {("scores", "loops"), ("attention", "rows"), ("window", "rows")}
LONG = Limits(cpu_seconds=100_000, call_seconds=20.0, wall_seconds=500_000.0, megabytes=1024)


def version():
    """A fingerprint of the grader, the checks and the corpora."""
    paths = sorted(
        [*(ROOT / "attention_lib" / "coursework").rglob("*.py"), *TESTS.rglob("*.py"), *TESTS.rglob("source.md")]
    )
    kept = [path for path in paths if not path.name.startswith("test_")]
    return hashlib.sha256("".join(map(_meaning, kept)).encode()).hexdigest()[:16]


def _meaning(path):
    """A program without its comments and its layout; another text as it is."""
    text = path.read_text(encoding="utf-8")
    return ast.dump(ast.parse(text)) if path.suffix == ".py" and path.name != "conftest.py" else text


def attacks(worker, settings):
    """Every attack: points gained, things reached, processes left, honest work that suffered."""
    os.environ["ATTENTION_SECRET"] = attack_range.SECRET
    listener = attack_range.Listener()
    faults, count, suffered = {}, 0, 0
    for name, code in tqdm(list(attack_range.attacks()), "attacks", disable=None):
        found, _ = attack_range.run_attack(worker, code, listener.port)
        count += 1
        suffered += attack_range.honest(worker).score != 100
        if found:
            faults[name] = found
    return {
        "attacks": count,
        "faults": faults,
        "honest submissions that suffered": suffered,
        "connections that arrived": listener.reached,
        "account": "root" if os.geteuid() == 0 else "ordinary user",
        "layers": worker.layers,
    }


def attacks_as_user(worker, settings):
    """The same as another account, in another process."""
    if os.geteuid() != 0:
        return {"note": "this run is an ordinary user's already"}
    from test_attacks import ordinary_python

    command = ordinary_python()
    if not command:
        return {"note": "no Python here that an ordinary user may run"}
    program = (
        f"import sys, json; sys.path[:0] = [{str(ROOT / 'book/tools')!r}]; import coursework_audit as a; "
        "print(json.dumps(a.attacks(a.Worker('bubblewrap'), None)))"
    )
    done = subprocess.run([*command, "-c", program], capture_output=True, text=True, cwd="/", timeout=3600)
    return json.loads(done.stdout.strip().split("\n")[-1]) if done.returncode == 0 else {"failed": done.stderr[-800:]}


def wrong(worker, settings):
    """Every wrong answer: caught by the hidden checks, refused and named by the public ones, and how fast."""
    from test_answers import public_answer

    counts = {
        "hand-written here": 0,
        "from the doctor's corpus": 0,
        "caught": 0,
        "refused by the public check": 0,
        "named": 0,
    }
    missed, milliseconds = [], []
    for one in tqdm([*corpora.hand_written(), *corpora.from_the_doctor()], "wrong", disable=None):
        counts["from the doctor's corpus" if one.name.startswith("doctor") else "hand-written here"] += 1
        caught, _ = corpora.caught(one, worker)
        start = time.process_time()
        answer = public_answer(one)
        milliseconds.append(1000 * (time.process_time() - start))
        counts["caught"] += caught
        counts["refused by the public check"] += not answer.ok
        counts["named"] += corpora.is_named(one, answer)
        if not caught:
            missed.append(one.name)
    milliseconds.sort()
    return counts | {
        "missed": missed,
        "public check, median ms": round(milliseconds[len(milliseconds) // 2]),
        "public check, 95 of 100, ms": round(milliseconds[int(0.95 * len(milliseconds))]),
        "public check, slowest ms": round(milliseconds[-1]),
    }


def mutants(worker, settings):
    """Generated mutants: those with all points must answer every probe as their original does."""
    limits = Limits(cpu_seconds=20, call_seconds=1.5, wall_seconds=20, megabytes=1024)
    counts = {"generated": 0, "caught": 0, "equivalent": 0}
    missed = []
    for one in tqdm(list(corpora.generated(settings.mutants)), "mutants", disable=None):
        counts["generated"] += 1
        fate = _fate(one, worker, limits, seed=counts["generated"])
        if fate == "missed":
            missed.append(f"{one.assignment}/{one.style}: {one.change}")
        else:
            counts[fate] += 1
    return counts | {
        "missed": missed,
        "equivalent means": "same answers under six sets of conventions, the cases of 5 further seeds each",
    }


def _fate(one, worker, limits, seed):
    """Caught under the first conventions where it answers otherwise; missed if it gets all points there."""
    about = load_assignment(TESTS / one.assignment)
    for variant in (book_variant(about.switches), *(about.variant(f"mutants {number}") for number in range(5))):
        result = mark(about, variant, with_variant([one.code], variant), worker, seed=seed, limits=limits)
        if result.score < 100:
            return "caught"
        if corpora.differs(one, worker, limits, variant, range(5)):
            return "missed"
    return "equivalent"


def copying(worker, settings):
    """Right answers to the book's own conventions, handed in under twenty others."""
    worst = {}
    for name in tqdm(corpora.GRADED, "copying", disable=None):
        about = load_assignment(TESTS / name)
        copied = with_variant(answers_of(TESTS / name), book_variant(about.switches))
        scores = [mark(about, about.variant(f"copy {n}"), copied, worker, seed=n).score for n in range(20)]
        worst[name] = max(scores)
    return {"variants each": 20, "highest score of 100": worst}


def mangled(worker, settings):
    """Every mangling of a right notebook."""
    import manglings
    import student_notebooks

    from attention_lib.coursework.submissions import read_cells

    about, changed = load_assignment(TESTS / "attention"), {}
    for name, change in tqdm(manglings.MANGLINGS.items(), "manglings", disable=None):
        made = change(student_notebooks.solved("attention", "audit"))
        content = made if isinstance(made, bytes) else (made if isinstance(made, str) else json.dumps(made)).encode()
        score = mark(about, about.variant("audit"), read_cells(content)[0], worker, seed=3).score
        if score != 100:
            changed[name] = score
    return {"manglings": len(manglings.MANGLINGS), "scores that changed": changed}


def leaks(worker, settings):
    """Planted leaks found, and alarms on clean releases under twenty keys."""
    import planted
    import student_notebooks

    from attention_lib.coursework.leaks import secrets_of
    from attention_lib.coursework.release import release

    secrets = secrets_of(TESTS / "attention")
    unseen = [
        name
        for name, plant in planted.PLANTED.items()
        if not secrets.leaks(json.dumps(plant(student_notebooks.blank("attention", "audit"))), "notebook")
    ]
    alarms, clean = [], 0
    for name in tqdm((*corpora.GRADED, "written"), "leaks", disable=None):
        about, own = load_assignment(TESTS / name), secrets_of(TESTS / name)
        for number in range(20):
            made = release(TESTS / name, about.variant(f"leak {number}"))
            clean += 1
            alarms += [
                f"{name}: {leak.what}" for leak in own.leaks(made.notebook, "notebook") + own.leaks(made.page, "page")
            ]
    return {"planted": len(planted.PLANTED), "not found": unseen, "clean releases": clean, "false alarms": alarms}


def speed(worker, settings):
    """A folder of right answers, graded with two sandboxes: submissions a minute, processor seconds, memory."""
    import student_notebooks

    from attention_lib.coursework.batch import grade_folder

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "submissions"
        folder.mkdir()
        notebook = student_notebooks.solved("attention", "audit")
        for number in range(settings.submissions):
            notebook["metadata"]["number"] = number
            (folder / f"student {number:05}.ipynb").write_text(json.dumps(notebook))
        before = os.times()
        start = time.perf_counter()
        batch = grade_folder(
            folder, TESTS / "attention", "audit", Path(place) / "grades.csv", isolation="bubblewrap", workers=2
        )
        seconds = time.perf_counter() - start
        after = os.times()
    worker.start()
    own = sum(after[:2]) - sum(before[:2])
    return {
        "submissions": len(batch.rows),
        "all points": sum(row["score"] == "100" for row in batch.rows),
        "a minute, start of two sandboxes included": round(60 * len(batch.rows) / seconds),
        "workers": 2,
        "load of the machine meanwhile": round(os.getloadavg()[0], 1),
        "grader's own processor seconds each": round(own / len(batch.rows), 3),
        "MB a worker": _megabytes(worker),
    }


def _megabytes(worker):
    """Resident memory of the process that holds torch."""
    sizes = []
    for number in attack_range.children_of(os.getpid()):
        try:
            text = Path(f"/proc/{number}/status").read_text()
        except OSError:
            continue
        if "VmRSS" in text and "bwrap" not in text.split("\n")[0]:
            sizes.append(int(text.split("VmRSS:")[1].split()[0]) // 1024)
    return max(sizes, default=0)


def correct(worker, settings, done=None, save=lambda done: None):
    """Right answers in several styles under several sets of conventions, each with many secret seeds."""
    done = done or {"finished": {}, "rejected": []}
    plan = [(name, style, key) for key in range(4) for name in corpora.GRADED for style in _styles(name)]
    for name, style, key in tqdm(plan, "correct", disable=None):
        label = f"{name}/{style}/{key}"
        seeds = settings.seeds // 20 if (name, style) in SLOW_STYLES else settings.seeds
        if done["finished"].get(label, -1) >= seeds:
            continue
        about = load_assignment(TESTS / name)
        variant = about.variant(f"correct {key}")
        job = {
            "cells": with_variant(_styles(name)[style], variant),
            "names": list(about.functions),
            "withheld": list(about.withheld),
            "seed": 1,
        }
        with worker.open(job, LONG) as session:
            for seed in range(seeds):
                result = mark_session(about, variant, session, 7919 * seed + key)
                if result.score != 100:
                    done["rejected"].append(f"{label}, seed {seed}: {result.reason[:200]}")
                    if session.ended:
                        break
        done["finished"][label] = seeds
        save(done)
    return done


def _styles(name):
    files = {path.stem: [path.read_text(encoding="utf-8")] for path in sorted((TESTS / name / "correct").glob("*.py"))}
    return {"source": answers_of(TESTS / name)} | files


WORK = dict(
    zip(PARTS, (attacks, attacks_as_user, wrong, mutants, copying, mangled, leaks, speed, correct), strict=True)
)


def main():
    """Read the command line; see --help."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1000, help="secret seeds for each right answer")
    parser.add_argument("--mutants", type=int, default=500)
    parser.add_argument("--submissions", type=int, default=300, help="how many to measure the speed with")
    parser.add_argument("--only", action="append", choices=PARTS, help="run this part again; may be repeated")
    settings = parser.parse_args()
    torch.set_num_threads(1)
    told = _before()
    worker = Worker("bubblewrap", [str(TESTS)])
    now = version()
    for part in settings.only or PARTS:
        before = told["parts"].get(part, {})
        same = before.get("version") == now
        if part == "correct":
            correct(
                worker, settings, before if same else None, lambda done: _write(told, {"correct": done}, settings, now)
            )
        elif settings.only or not same:
            _write(told, {part: WORK[part](worker, settings)}, settings, now)
    worker.close()


def _before():
    """What an earlier run found; a part that ran on another version of the grader or the corpora will run again."""
    return json.loads(RESULT.read_text(encoding="utf-8"))["progress"] if RESULT.exists() else {"parts": {}}


def _write(progress, more, settings, now):
    progress["parts"] |= {part: {**found, "version": now} for part, found in more.items()}
    told = {
        "name": "coursework_audit",
        "summary": _summary(progress["parts"]),
        "progress": progress,
        "device": "cpu, 1 thread a sandbox",
        "torch": torch.__version__.split("+")[0],
        "date": datetime.date.today().isoformat(),
        "command": f"python book/tools/coursework_audit.py --seeds {settings.seeds} --mutants {settings.mutants}",
    }
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _summary(parts):
    """The table of what must hold, as far as it was run."""
    told = {}
    if "wrong" in parts:
        w = parts["wrong"]
        count = w["hand-written here"] + w["from the doctor's corpus"]
        told |= {"wrong answers": count, "wrong caught": w["caught"], "wrong named": w["named"]}
    if "mutants" in parts:
        told |= {"mutants": parts["mutants"]["generated"], "mutants missed": len(parts["mutants"]["missed"])}
    if "correct" in parts:
        finished = parts["correct"]["finished"]
        told |= {
            "right answers": len(finished),
            "gradings of them": sum(finished.values()),
            "rejected": len(parts["correct"]["rejected"]),
        }
    for part in ("attacks", "attacks as a user"):
        if "attacks" in parts.get(part, {}):
            told |= {part: parts[part]["attacks"], f"{part}: faults": len(parts[part]["faults"])}
    if "manglings" in parts:
        told |= {
            "manglings": parts["manglings"]["manglings"],
            "scores changed": len(parts["manglings"]["scores that changed"]),
        }
    if "leaks" in parts:
        told |= {
            "leaks planted": parts["leaks"]["planted"],
            "leaks not found": len(parts["leaks"]["not found"]),
            "false alarms": len(parts["leaks"]["false alarms"]),
        }
    if "copying" in parts:
        told |= {"the book's code, highest score": max(parts["copying"]["highest score of 100"].values())}
    if "speed" in parts:
        told |= {
            "submissions a minute": parts["speed"]["a minute, start of two sandboxes included"],
            "MB a worker": parts["speed"]["MB a worker"],
        }
    return told


if __name__ == "__main__":
    main()
