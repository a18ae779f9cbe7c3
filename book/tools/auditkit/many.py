"""Folders of submissions: how fast, how much memory, and what a kill in the middle leaves."""

import csv
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tqdm import tqdm

from auditkit.places import ROOT, TESTS

import attack_range  # isort: skip
import student_notebooks  # isort: skip

KEY = "audit"


def speed(worker, settings):
    """A folder of right answers, graded with two sandboxes: submissions a minute, processor seconds, memory."""
    from attention_lib.coursework.batch import grade_folder

    kept = {}

    def progress(done, of):
        if done in (1, of):
            kept[done] = (time.perf_counter(), sum(os.times()[:2]), _processor_seconds(), _megabytes(os.getpid()))

    with tempfile.TemporaryDirectory() as place:
        folder, _ = _fill(Path(place), "attention", settings.submissions, kinds=("right",))
        start = time.perf_counter()
        batch = grade_folder(folder, TESTS / "attention", KEY, Path(place) / "grades.csv", isolation="bubblewrap",
                             workers=2, progress=progress)  # fmt: skip
        seconds = time.perf_counter() - start
    (first, *before), (last, *after) = kept[1], kept[settings.submissions]
    count = settings.submissions - 1
    return {
        "submissions": len(batch.rows),
        "all points": sum(row["score"] == "100" for row in batch.rows),
        "workers": 2,
        "load of the machine meanwhile": round(os.getloadavg()[0], 1),
        "a minute, start of two sandboxes included": round(60 * len(batch.rows) / seconds),
        "a minute, once they run": round(60 * count / (last - first)),
        "grader's own processor seconds each": round((after[0] - before[0]) / count, 3),
        "sandbox's processor seconds each": round((after[1] - before[1]) / count, 3),
        "MB a worker": after[2],
    }


def many(worker, settings):
    """A large folder, graded by the teacher's own command, which is killed (-9) on the way and started again."""
    if not settings.many:
        return {"note": "not asked for; --many 10000"}
    with tempfile.TemporaryDirectory() as place:
        folder, scores = _fill(Path(place), "scores", settings.many, kinds=("right", "right", "blank", "empty"))
        table = Path(place) / "grades.csv"
        journal = Path(f"{table}.journal")
        peaks, start = [], time.perf_counter()
        for share in (0.4, None):
            peaks.append(_grade(folder, table, journal, None if share is None else int(share * settings.many)))
            if share is not None:
                at_kill = journal.read_bytes()
        seconds = time.perf_counter() - start
        with open(table, encoding="utf-8-sig", newline="") as file:
            rows = {row["student"]: row["score"] for row in csv.DictReader(file)}
        kept = at_kill[: at_kill.rfind(b"\n") + 1]
        return {
            "submissions": settings.many,
            "rows": len(rows),
            "wrong scores": sum(rows.get(student) != score for student, score in scores.items()),
            "graded when it was killed": kept.count(b"\n") - 1,
            "grades lost by the kill": len(set(kept.splitlines()) - set(journal.read_bytes().splitlines())),
            "a minute, both starts included": round(60 * settings.many / seconds),
            "load of the machine meanwhile": round(os.getloadavg()[0], 1),
            "journal, MB": round(journal.stat().st_size / 2**20, 1),
            "table, MB": round(table.stat().st_size / 2**20, 1),
            "memory of the grader, MB, over the second run": peaks[1],
        }


def _grade(folder, table, journal, until):
    """Run the command, to its end or until the journal has so many lines; its memory at five moments."""
    command = [sys.executable, "-m", "attention_lib.coursework", "grade", str(folder), "--course", str(TESTS),
               "--assignment", "scores", "--key", KEY, "-o", str(table), "--workers", "2"]  # fmt: skip
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    sizes = []
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None:
            time.sleep(0.5)
            sizes.append(_resident(process.pid))
            if until is not None and _lines(journal) > until:
                process.send_signal(signal.SIGKILL)
    sizes = [size for size in sizes if size]
    return [sizes[place * (len(sizes) - 1) // 4] for place in range(5)] if sizes else []


def _lines(path):
    try:
        return path.read_bytes().count(b"\n")
    except OSError:
        return 0


def _fill(place, name, count, kinds):
    """A folder of submissions that all differ, and the score that each deserves."""
    folder, scores = place / "submissions", {}
    folder.mkdir()
    made = {"right": student_notebooks.solved(name, KEY), "blank": student_notebooks.blank(name, KEY)}
    made["empty"] = {"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    for number in tqdm(range(count), "hand in", disable=None):
        kind = kinds[number % len(kinds)]
        made[kind]["metadata"]["number"] = number
        (folder / f"student {number:05}.ipynb").write_text(json.dumps(made[kind]), encoding="utf-8")
        scores[f"student {number:05}"] = "100" if kind == "right" else "0"
    return folder, scores


def _resident(process):
    try:
        text = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    except OSError:
        return 0
    return int(text.split("VmRSS:")[1].split()[0]) // 1024 if "VmRSS" in text else 0


def _sandboxes(process):
    """Processes of the sandboxes, and their names."""
    for number in attack_range.children_of(process):
        try:
            yield number, Path(f"/proc/{number}/comm").read_text(encoding="utf-8").strip()
        except OSError:
            continue


def _megabytes(process):
    """Resident memory of the largest process that holds torch."""
    return max((_resident(number) for number, name in _sandboxes(process) if name != "bwrap"), default=0)


def _processor_seconds():
    """What the sandboxes have used, with the children that have ended."""
    ticks = 0
    for number, _ in _sandboxes(os.getpid()):
        try:
            fields = Path(f"/proc/{number}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
        except OSError:
            continue
        ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")
