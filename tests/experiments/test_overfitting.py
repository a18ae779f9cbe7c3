"""Chapter 10's measurement: what the cases share, how gains are paired, and wide ranges for the trained numbers."""

import pytest
import torch

from attention_lib.errors import OptionError
from attention_lib.experiments import load_result, overfitting
from attention_lib.experiments.overfitting import CASES, Case


def test_patches_by_hand():
    image = torch.arange(64.0).reshape(1, 1, 8, 8)
    patches = overfitting.as_patches(image)
    assert patches.shape == (1, 4, 16)
    assert patches[0, 1].reshape(4, 4)[:, 0].tolist() == [4, 12, 20, 28]  # upper right square, its left column
    assert patches[0, 2, 0] == 32


def test_wrong_labels_are_wrong_and_as_many_as_asked_for():
    label = torch.arange(10).repeat(7)
    for share, expected in ((0.0, 0), (0.3, 21), (1.0, 70)):
        shown = overfitting.with_wrong_labels(label, share, torch.Generator().manual_seed(3))
        assert (shown != label).sum() == expected
        assert 0 <= shown.min() <= shown.max() <= 9


def test_every_case_starts_from_the_same_weights():
    models = []
    for case in CASES.values():
        torch.manual_seed(5)
        models.append(overfitting.model_for(case))
    for model in models[1:]:
        for one, other in zip(models[0].parameters(), model.parameters(), strict=True):
            assert torch.equal(one, other)


def test_dropout_is_where_the_case_says():
    for where, p_elsewhere in (("everywhere", 0.3), ("weights", 0.0)):
        for layer in overfitting.model_for(Case(0.3, where)).stack.layers:
            assert layer.attention.dropout_p == 0.3
            assert layer.dropout.p == layer.feed_forward.dropout.p == p_elsewhere


def test_gains_are_paired_by_seed():
    measured = overfitting.Overfitting(
        "smoke", [0, 1], [50, 100], {}, {"no dropout": [[0.2, 0.5], [0.3, 0.7]], "b": [[0.1, 0.75], [0.3, 0.6]]}, {}
    )
    assert measured.gain("b") == [0.25, -0.1]
    assert measured.gain("b", at=0) == [-0.1, 0.0]
    assert measured.mean("b") == pytest.approx(0.675)


@pytest.mark.bad_input
def test_refuses_another_budget():
    with pytest.raises(OptionError, match="budget='huge' is not known; choose one of: smoke, full"):
        overfitting.run("huge")


def test_training_is_deterministic_whatever_the_threads():
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        first = overfitting.train_on_few(CASES["everywhere 0.3"], steps=10, seed=3, every=5)
        torch.set_num_threads(1)
        assert first == overfitting.train_on_few(CASES["everywhere 0.3"], steps=10, seed=3, every=5)
    finally:
        torch.set_num_threads(threads)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 7])
def test_a_hundred_images_are_learnt_by_heart(seed):
    measured = overfitting.run("smoke", seeds=[seed])
    assert measured.steps == [50, 100, 150]
    assert measured.training["no dropout"][0][-1] > 0.97
    assert 0.6 < measured.fresh["no dropout"][0][-1] < 0.95


def test_recorded_run():
    recorded = load_result("overfitting").result
    assert len(recorded.seeds) >= 5
    assert set(recorded.fresh) == set(CASES)
    for case in CASES:
        assert min(run[-1] for run in recorded.training[case]) > 0.97  # learnt by heart, false labels too
    for case in ("everywhere 0.1", "weights 0.1", "weights 0.3"):
        assert sum(recorded.gain(case)) / len(recorded.seeds) > 0.02
    assert all(gain > 0 for gain in recorded.gain("16 heads", "1 head"))
    assert all(
        run[0] > other[0]
        for run, other in zip(recorded.fresh["no dropout"], recorded.fresh["everywhere 0.5"], strict=True)
    )
