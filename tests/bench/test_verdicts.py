"""Met, missed, tie, not measured: judged from made-up measurements whose answer is known."""

import pytest

from attention_lib.bench.case import OURS, Target
from attention_lib.bench.measure import Measured, Variant
from attention_lib.bench.verdict import judge, words


def case(*variants, **options):
    facts = {"absent": {}, "sizes": {}, "error_peer": "", "multiplications": 0, "bytes": 0, **options}
    return Measured(5, "made up", list(variants), **facts)


def variant(name, *milliseconds, memory=None, error=None, failure=""):
    """Times of one round with one thread, with two, ..."""
    seconds = {str(count): [time / 1000] for count, time in enumerate(milliseconds, 1)}
    return Variant(name, seconds, memory, error, failure)


def only(measured, *targets):
    (verdict,) = judge(measured, targets)
    return verdict


@pytest.mark.parametrize(
    ("ours", "peer", "factor", "word"),
    [
        (1.0, 1.6, 1.5, "met"),
        (1.0, 1.5, 1.5, "met"),
        (1.0, 1.4, 1.5, "missed"),
        (1.0, 1.0, 1.5, "missed"),  # a tie is no answer to "half as fast again"
        (1.0, 0.8, 1 / 1.3, "met"),
        (1.0, 0.7, 1 / 1.3, "missed"),
        (1.0, 0.96, 1.0, "tie"),
        (1.0, 1.04, 1.0, "tie"),
        (1.0, 1.06, 1.0, "met"),
        (1.0, 0.94, 1.0, "missed"),
        (1.0, 0.955, 1 / 1.05, "tie"),
    ],
)
def test_time(ours, peer, factor, word):
    verdict = only(case(variant(OURS, ours), variant("SDPA", peer)), Target("time", "SDPA", factor))
    assert (verdict.verdict, verdict.row) == (word, 5)
    assert verdict.ratios == {"1": pytest.approx(peer / ours)}


def test_the_worst_number_of_threads_counts():
    verdict = only(case(variant(OURS, 1, 1), variant("SDPA", 3, 1.2)), Target("time", "SDPA", 1.5))
    assert (verdict.verdict, verdict.measured()) == ("missed", "3x, 1.2x")


def test_the_median_of_the_rounds_counts():
    ours = Variant(OURS, {"1": [1.0, 1.0, 9.0]})
    theirs = Variant("SDPA", {"1": [2.0, 2.2, 2.1]})
    assert only(case(ours, theirs), Target("time", "SDPA", 2)).ratios == {"1": pytest.approx(2.1)}


def test_of_several_peers_the_best_counts():
    measured = case(variant(OURS, 2), variant("SDPA FLASH", 3), variant("SDPA MATH", 9))
    assert only(measured, Target("time", "SDPA", 1.4)).ratios == {"1": pytest.approx(1.5)}


@pytest.mark.parametrize(("memory", "word"), [(100, "met"), (26, "missed"), (25, "met")])
def test_memory_of_a_peer(memory, word):
    measured = case(variant(OURS, 1, memory=25 if word == "met" else 7), variant("SDPA", 1, memory=memory))
    assert only(measured, Target("memory", "SDPA", 1 if memory == 25 else 4)).verdict == word


@pytest.mark.parametrize(("ours", "word"), [(105, "met"), (106, "missed")])
def test_memory_of_a_known_size(ours, word):
    measured = case(variant(OURS, 1, memory=ours), sizes={"the weights": 100})
    assert only(measured, Target("memory", "the weights", 1 / 1.05)).verdict == word


def test_no_memory_at_all_is_met():
    measured = case(variant(OURS, 1, memory=0), variant("SDPA", 1, memory=100))
    assert only(measured, Target("memory", "SDPA", 4)).verdict == "met"


@pytest.mark.parametrize(("error", "word"), [(2e-7, "met"), (2.1e-7, "missed"), (0.0, "met")])
def test_the_error_belongs_to_row_13(error, word):
    measured = case(variant(OURS, 1, error=error), variant("SDPA", 1, error=1e-7), error_peer="SDPA")
    verdict = only(measured)
    assert (verdict.row, verdict.verdict) == (13, word)


def test_both_exact_is_met():
    measured = case(variant(OURS, 1, error=0.0), variant("SDPA", 1, error=0.0), error_peer="SDPA")
    assert only(measured).verdict == "met"


@pytest.mark.parametrize(
    ("measured", "why"),
    [
        (case(variant(OURS, 1), absent={"SDPA": "SDPA is not installed"}), "SDPA is not installed"),
        (case(variant(OURS, 1), variant("SDPA", failure="TypeError: no")), "the peer raised TypeError: no"),
        (case(variant(OURS, failure="ValueError: no"), variant("SDPA", 1)), "ours raised ValueError: no"),
        (case(absent={OURS: "TF32 is of GPUs"}), "TF32 is of GPUs"),
        (case(variant(OURS, 1)), "no such peer"),
    ],
)
def test_not_measured_says_why(measured, why):
    verdict = only(measured, Target("time", "SDPA", 2))
    assert (verdict.verdict, verdict.why, verdict.ratios) == ("not measured", why, {})


def test_memory_that_nobody_measured():
    measured = case(variant(OURS, 1), variant("SDPA", 1))
    verdict = only(measured, Target("memory", "SDPA", 2))
    assert (verdict.verdict, verdict.why) == ("not measured", "no memory of both")


@pytest.mark.parametrize(
    ("target", "text"),
    [
        (Target("time", "SDPA", 1 / 1.05), "at most 1.05x the time of SDPA"),
        (Target("time", "SDPA", 1.0), "not slower than SDPA"),
        (Target("time", "SDPA", 1.5), "at least 1.5x faster than SDPA"),
        (Target("memory", "SDPA", 50), "at most 1/50 the memory of SDPA"),
        (Target("memory", "the weights", 1 / 1.05), "at most 1.05x the memory of the weights"),
        (Target("error", "SDPA", 0.5), "at most 2x the error of SDPA"),
    ],
)
def test_targets_in_words(target, text):
    assert words(target) == text
