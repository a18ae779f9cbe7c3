"""What bounds a target that is missed: from made-up roofs and measurements whose answer is known."""

import pytest
from test_verdicts import case, variant

from attention_lib.bench.case import OURS, Target
from attention_lib.bench.limits import explained_verdicts, most_possible
from attention_lib.bench.roof import Roof

ROOF = Roof({"1": 1e9}, {"1": 1e9}, {"1": 1e8})  # a second
TWICE = Target("time", "SDPA", 2)


def test_at_the_roof():
    measured = case(variant(OURS, 20), variant("SDPA", 24), multiplications=4_000_000, weights=200_000)
    assert most_possible(measured, TWICE, ROOF) == {"1": pytest.approx(24 / (4 + 2))}  # ms


def test_only_what_is_missed_is_explained():
    measured = case(variant(OURS, 20), variant("SDPA", 24), multiplications=4_000_000)
    measured.variant(OURS).kernels = {"bmm": 0.75}
    missed, met = explained_verdicts(measured, (TWICE, Target("time", "SDPA", 1)), ROOF)[:2]
    assert missed.why == (
        "matrix products and softmax alone, at this machine's peak, would give 6x; time of ours: bmm 75%"
    )
    assert (met.verdict, met.why) == ("met", "")


def test_nothing_is_promised_where_nothing_was_counted():
    assert most_possible(case(variant(OURS, 20), variant("SDPA", 24)), TWICE, ROOF) == {}
