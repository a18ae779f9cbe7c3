"""Wrong answers, generated mutants, and right answers to another course."""

import time

from tqdm import tqdm

from auditkit.places import TESTS

import corpora  # isort: skip

from attention_lib.coursework.marking import mark
from attention_lib.coursework.model import load_assignment
from attention_lib.coursework.session import Limits
from attention_lib.coursework.variants import book_variant
from attention_lib.coursework.verify import answers_of, with_variant


def wrong(worker, settings):
    """Every wrong answer: caught by the hidden checks, refused and named by the public ones, and how fast."""
    from test_answers import open_for, public_answer

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
        open_for(one)
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
