"""Chapter 11's claims: what a step costs, which check finds which mistake, who needs a warm-up."""

import math

import pytest
import torch

from attention_lib.errors import OptionError
from attention_lib.experiments import load_result, step_cost, training_checks, warmup_training
from attention_lib.experiments.training_checks import Decoder, MergedWithoutTranspose, TrainingChecks
from attention_lib.experiments.warmup_training import WarmupTraining, network, token_spread, train_to_sort
from attention_lib.layers.multi_head import MultiHeadAttention

FINE = {"first loss": [1.05, 1.06], "one batch": [0.01, 0.0], "repeating": [1.0, 0.99], "random tokens": [1.0, 1.01]}


def test_cost_by_hand():
    n, d, heads = 7, 22, 11
    cost = step_cost.cost_of(n, d, heads=heads)
    assert cost.forward == 24 * n * d**2 + 4 * n**2 * d
    assert cost.step == 3 * cost.forward  # each product has two gradients, each as large as itself
    assert cost.weights == heads * n**2
    assert cost.parameters == 12 * d**2 + 13 * d  # 4 d^2 + 8 d^2, biases 4 d + 5 d, norms 4 d


def test_recorded_cost_is_what_is_counted_now():
    recorded = load_result("step_cost").result
    for index, (n, d) in enumerate(recorded.sizes):
        assert recorded.counted["step"][index] == step_cost.cost_of(n, d).step
    assert 40 < recorded.times_slower() < 1500
    assert step_cost.run("smoke").milliseconds[0] > 0


def test_token_spread_by_hand():
    model, tokens = network(layers=1), torch.zeros(2, 6, dtype=torch.long)
    model.stack = torch.nn.Module()
    model.stack.forward = lambda x: type("Out", (), {"output": torch.ones(2, 6, 3)})
    assert token_spread(model, tokens) == 0
    opposite = torch.ones(2, 6, 3)
    opposite[1] = -1.0
    model.stack.forward = lambda x: type("Out", (), {"output": opposite})
    assert token_spread(model, tokens) == 1
    model.stack.forward = lambda x: type("Out", (), {"output": opposite + 2})  # 3 and 1: mean 2, 1 away; square 5
    assert token_spread(model, tokens) == pytest.approx(math.sqrt(1 / 5))


def test_warmup_tables_by_hand():
    training = {"a": [[2.0, 1.2, 0.4], [2.0, 1.9, 1.8]]}
    ends = {"a": [0.4, 1.8]}
    measured = WarmupTraining("full", [0, 1], [10, 20, 30], training, ends, ends, ends)
    assert measured.trained("a") == 1
    assert measured.batches_to(1.5, "a") == [20, math.inf]
    assert measured.summary() == {"a": "1 of 2, loss 0.400 to 1.800"}


def test_warmup_training_is_deterministic_whatever_the_threads():
    case, threads = warmup_training.CASES["after, 0.01, none, 2 layers"], torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        first = train_to_sort(case, steps=20, seed=3)
        torch.set_num_threads(1)
        assert first == train_to_sort(case, steps=20, seed=3)
    finally:
        torch.set_num_threads(threads)
    assert len(first.training) == 2


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [[0], [10]])
def test_six_layers_with_the_norm_after_need_a_warmup(seeds):
    measured = warmup_training.run("smoke", seeds=seeds)
    assert measured.loss["after, 0.01, none"][0] > 1.8
    assert measured.loss["after, 0.01, warm-up"][0] < 1.7
    assert measured.spread["after, 0.01, none"][0] < measured.spread["after, 0.01, warm-up"][0]


def test_recorded_warmup():
    recorded = load_result("warmup_training").result
    assert set(recorded.loss) == set(warmup_training.CASES)
    assert len(recorded.seeds) >= 5
    assert recorded.trained("after, 0.01, none") == 0
    assert recorded.trained("after, 0.01, warm-up") == len(recorded.seeds)
    assert recorded.trained("before, 0.01, none") == len(recorded.seeds)


@pytest.mark.parametrize(
    ("check", "bad"), [("first loss", 3.0), ("one batch", 0.9), ("repeating", 0.2), ("random tokens", 0.5)]
)
def test_an_alarm_needs_every_seed(check, bad):
    every, some = {**FINE, check: [bad, bad]}, {**FINE, check: [bad, FINE[check][0]]}
    measured = TrainingChecks("full", [0, 1], {"every": every, "some": some, "fine": FINE})
    assert measured.alarms("every") == [check]
    assert measured.alarms("some") == measured.alarms("fine") == []


def test_heads_merged_without_transpose_are_that():
    broken, right, x = MergedWithoutTranspose(10, 2), MultiHeadAttention(10, 2), torch.randn(3, 7, 10)
    broken.load_state_dict(right.state_dict())
    last = torch.nn.Identity()
    kept, right.w_o, broken.w_o = right.w_o, last, last
    heads = right(x, causal=True).output.unflatten(-1, (2, 5)).transpose(1, 2)  # (B, H, L, d_head)
    torch.testing.assert_close(broken(x, causal=True).output, heads.reshape(3, 7, 10))
    assert kept.weight.shape == (10, 10)


def test_each_mistake_is_in_the_decoder():
    tokens = torch.randint(16, (2, 12))
    later = tokens.clone()
    later[:, -1] = (later[:, -1] + 1) % 16
    for mistake in training_checks.MISTAKES:
        decoder = Decoder(mistake)
        decoder.loss(tokens).backward()
        with torch.no_grad():
            sees_later = not torch.allclose(decoder(tokens)[:, :-1], decoder(later)[:, :-1], atol=1e-6)
        assert (decoder.model.embedding.weight.grad is None) == (mistake == "gradient cut")
        assert (decoder.model.embedding.learned is None) == (mistake == "no positions")
        assert sees_later == (mistake in ("no causal mask", "heads merged without transpose"))
    large = [training_checks.first_loss(mistake, seed=0) for mistake in ("none", "large vote")]
    assert large[0] < 1.2 < 2 < large[1]


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [[0], [10]])
def test_training_checks(seeds):
    measured = training_checks.run("smoke", seeds=seeds)
    assert measured.alarms("none") == []
    assert measured.alarms("heads merged without transpose") == ["random tokens"]


def test_recorded_checks():
    recorded = load_result("training_checks").result
    assert set(recorded.found) == set(training_checks.MISTAKES)
    assert len(recorded.seeds) >= 5
    assert recorded.alarms("none") == []
    assert all(recorded.alarms(mistake) for mistake in training_checks.MISTAKES[1:])
    assert "repeating" not in recorded.alarms("no causal mask")


@pytest.mark.bad_input
def test_refusals():
    with pytest.raises(OptionError, match="length=0 must be a whole number, 1 or more"):
        step_cost.cost_of(0, 64)
    with pytest.raises(OptionError, match="d_model=10 is not divisible by num_heads=8"):
        step_cost.cost_of(4, 10)
    for experiment in (step_cost, training_checks, warmup_training):
        with pytest.raises(OptionError, match="budget='huge' is not known; choose one of: smoke, full"):
            experiment.run("huge")
