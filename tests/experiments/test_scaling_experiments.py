"""Chapter 4's claims: what the scale does to random scores, and to training."""

import math

import pytest
import torch

from attention_lib.errors import OptionError
from attention_lib.experiments import load_result, scaling_training, score_statistics
from attention_lib.experiments.score_sample import (
    RULES,
    jacobian_norm,
    relative_entropy,
    score_sample,
    started_score_std,
)


def test_jacobian_norm_is_that_of_autograd():
    scores = torch.randn(7, dtype=torch.float64)
    jacobian = torch.autograd.functional.jacobian(lambda each: each.softmax(dim=-1), scores)
    assert jacobian_norm(scores.softmax(dim=-1)).item() == pytest.approx(jacobian.norm().item(), rel=1e-12)


def test_relative_entropy_by_hand():
    quarter = -(0.25 * math.log(0.25) + 0.75 * math.log(0.75)) / math.log(2)
    got = relative_entropy(torch.tensor([[0.25, 0.75]], dtype=torch.float64))
    assert got.item() == pytest.approx(quarter, rel=1e-12)


def test_the_rules_differ_in_the_scale_alone():
    raw, scaled, flat = (score_sample(16, rule, seed=3).scores for rule in ("raw", "scaled", "divided by d_k"))
    torch.testing.assert_close(raw / 4, scaled)
    torch.testing.assert_close(raw / 16, flat)


def test_gradient_is_that_of_the_loss_by_hand():
    """At d_k = 1 the weights hardly move with the scale: all rules agree there."""
    samples = [score_sample(1, rule, seed=3) for rule in RULES]
    for sample in samples[1:]:
        torch.testing.assert_close(sample.gradient, samples[0].gradient)
    assert samples[0].weights.shape == (512, 32)
    torch.testing.assert_close(samples[0].weights.sum(dim=-1), torch.ones(512, dtype=torch.float64))


@pytest.mark.bad_input
def test_refusals():
    with pytest.raises(OptionError, match="rule='half' is not known; choose one of: scaled, raw, divided by d_k"):
        score_sample(16, "half")
    with pytest.raises(OptionError, match="d_k=0 must be a whole number, 1 or more"):
        score_sample(0)
    with pytest.raises(OptionError, match="d_k=-3 must be a whole number, 1 or more"):
        started_score_std(-3)
    with pytest.raises(OptionError, match="budget='huge' is not known; choose one of: smoke, full"):
        scaling_training.run("huge")


@pytest.mark.parametrize("seeds", [[0, 1, 2], [10, 11, 12]])
def test_score_statistics(seeds):
    measured = score_statistics.run("smoke", seeds=seeds)
    assert all(0.85 < ratio < 1.15 for ratios in measured.variance_ratio for ratio in ratios)
    at = {width: index for index, width in enumerate(measured.widths)}
    for width in (16, 64, 256, 1024):
        assert 0.13 < measured.mean("scaled", "largest weight")[at[width]] < 0.20
        assert 0.84 < measured.mean("scaled", "entropy")[at[width]] < 0.90
        assert 0.21 < measured.mean("scaled", "jacobian")[at[width]] < 0.27
        assert measured.mean("divided by d_k", "largest weight")[at[width]] < 0.06
    largest = measured.mean("raw", "largest weight")
    assert largest == sorted(largest)
    assert largest[at[1024]] > 0.9
    raw, scaled = measured.mean("raw", "median gradient"), measured.mean("scaled", "median gradient")
    for width in (16, 64):
        assert raw[at[width]] > 2 * scaled[at[width]]
    assert raw[at[1024]] < scaled[at[1024]] / 20
    assert all(0.30 < std < 0.37 for std in measured.started_std["nn.Linear"])
    assert all(0.9 < std < 1.1 for std in measured.started_std["unit variance"])
    assert measured == score_statistics.run("smoke", seeds=seeds)


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [[0, 1], [10, 11]])
def test_scaling_training(seeds):
    measured = scaling_training.run("smoke", seeds=seeds)
    (case,) = measured.loss
    assert max(measured.loss[case]["scaled"]) < 0.3
    assert min(measured.loss[case]["raw"]) > 0.5
    assert not measured.overlap(case)
    assert len(measured.training[case]["raw"][0]) == len(measured.steps) == 15


def test_training_is_deterministic_whatever_the_threads():
    case = scaling_training.CASES["unit variance, Adam 0.003"]
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        first = scaling_training.train_to_sort(case, 1.0, steps=20, seed=3)
        torch.set_num_threads(1)
        assert first == scaling_training.train_to_sort(case, 1.0, steps=20, seed=3)
    finally:
        torch.set_num_threads(threads)


def test_recorded_training():
    recorded = load_result("scaling_training").result
    assert len(recorded.seeds) >= 5
    assert set(recorded.loss) == set(scaling_training.CASES)
    assert not recorded.overlap("unit variance, Adam 0.003")
