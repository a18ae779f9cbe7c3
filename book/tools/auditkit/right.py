"""Right answers in several styles, under several sets of conventions, each with many secret seeds.

The cases of a seed are drawn once for all styles, and a session answers a hundred seeds before the next fork: about
12 ms a grading in place of 60.
"""

from concurrent.futures import ThreadPoolExecutor

from tqdm import tqdm

from auditkit.places import TESTS

import corpora  # isort: skip

from attention_lib.coursework.marking import draw_cases, mark_session
from attention_lib.coursework.model import load_assignment
from attention_lib.coursework.sandbox import borrowed
from attention_lib.coursework.session import Limits
from attention_lib.coursework.verify import answers_of, with_variant

KEYS, CHUNK, WORKERS = 4, 100, 2
SLOW = {("scores", "loops"), ("attention", "rows"), ("window", "rows")}  # loops over every number: a tenth of the seeds
LIMITS = Limits(cpu_seconds=3600, call_seconds=20.0, wall_seconds=3600.0, megabytes=1024)


def correct(settings, done=None, save=lambda done: None):
    """Grade them all; ``save`` is called after every hundred seeds, and ``done`` is what it was last called with."""
    done = done or {"done": {}, "gradings": 0, "rejected": []}
    done |= {"right answers": sum(KEYS * len(styles(name)) for name in corpora.GRADED), "seeds": settings.seeds}
    plan = [
        (name, key, range(first, min(first + CHUNK, settings.seeds)), settings.seeds)
        for key in range(KEYS)
        for name in corpora.GRADED
        for first in range(done["done"].get(f"{name}/{key}", 0), settings.seeds, CHUNK)
    ]
    with ThreadPoolExecutor(WORKERS) as pool:
        for told in tqdm(pool.map(lambda part: _chunk(*part), plan), "correct", total=len(plan), disable=None):
            label, last, count, rejected = told
            done["done"][label] = last
            done["gradings"] += count
            done["rejected"] += rejected
            save(done)
    return done


def _chunk(name, key, seeds, wanted):
    """A hundred seeds of one assignment under one set of conventions, in all styles."""
    about = load_assignment(TESTS / name)
    variant = about.variant(f"correct {key}")
    drawn = {seed: draw_cases(about, variant, 7919 * seed + key) for seed in seeds}
    count, rejected = 0, []
    with borrowed("bubblewrap", (str(TESTS),)) as worker:
        for style, cells in styles(name).items():
            mine = [seed for seed in seeds if (name, style) not in SLOW or seed < wanted // 10]
            job = {"cells": with_variant(cells, variant), "names": list(about.functions),
                   "withheld": list(about.withheld), "seed": 1}  # fmt: skip
            count += len(mine)
            with worker.open(job, LIMITS) as session:
                for seed in mine:
                    result = mark_session(about, session, drawn[seed])
                    if result.score != about.points:
                        rejected.append(f"{name}/{style}/{key}, seed {seed}: {result.reason[:200]}")
    return f"{name}/{key}", seeds.stop, count, rejected


def styles(name):
    """Style -> cells of a right answer."""
    files = {path.stem: [path.read_text(encoding="utf-8")] for path in sorted((TESTS / name / "correct").glob("*.py"))}
    return {"source": answers_of(TESTS / name)} | files
