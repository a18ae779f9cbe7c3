"""Chapter 1's claims: chain lengths are exact, gradients and recall fall into wide ranges for any seed."""

import pytest
import torch

from attention_lib.errors import OptionError
from attention_lib.experiments import dependent_steps, first_token_recall, gradient_reach, load_result, thread_speedup
from attention_lib.experiments.autograd_depth import dependent_products
from attention_lib.layers.recurrent import RNN
from attention_lib.steps.scores import dot_product_scores
from attention_lib.steps.softmax import masked_softmax
from attention_lib.steps.values import weighted_sum


def test_recurrent_layers_need_n_steps_attention_three():
    measured = dependent_steps.run("smoke")
    for layer in ("RNN", "GRU", "LSTM"):
        assert measured.products[layer] == measured.lengths
    assert set(measured.products["attention"]) == {3}


def test_written_out_attention_has_two_products_of_its_own():
    query, key, value = (torch.randn(3, 5, 7, requires_grad=True) for _ in range(3))
    assert dependent_products(weighted_sum(masked_softmax(dot_product_scores(query, key)), value)) == 2


def test_depth_of_a_long_sequence_does_not_exhaust_the_stack():
    assert dependent_steps.steps_of(RNN(8, 8), 1500) == 1500


@pytest.mark.bad_input
def test_depth_needs_a_graph():
    with pytest.raises(OptionError, match=r"output of shape \(2, 3\) carries no graph; .* requires_grad=True"):
        dependent_products(torch.zeros(2, 3))


def test_gradient_norms_against_the_jacobian():
    layer = RNN(3, 5).double()
    x = torch.randn(7, 3, dtype=torch.float64)
    jacobian = torch.autograd.functional.jacobian(lambda each: layer(each[None])[0][0, -1], x)  # (5, 7, 3)
    norms = gradient_reach.gradient_norms(layer, x)
    for distance in range(7):
        expected = (jacobian[:, 6 - distance].square().sum() / 5).sqrt()
        assert norms[distance].item() == pytest.approx(expected.item(), rel=1e-9)


RANGES_AT_50 = {
    "RNN": (1e-20, 1e-15),
    "GRU": (1e-13, 1e-10),
    "LSTM": (1e-14, 1e-10),
    "LSTM, forget bias 1": (1e-7, 1e-4),
    "attention": (1e-3, 1e-1),
}


@pytest.mark.parametrize("seeds", [[0, 1, 2, 3, 4], [10, 11, 12, 13, 14]])
def test_gradient_reach(seeds):
    measured = gradient_reach.run("smoke", seeds=seeds)
    for layer, (least, most) in RANGES_AT_50.items():
        assert least < measured.typical(layer)[50] < most
        low, high = measured.band(layer)
        assert low[50] <= measured.typical(layer)[50] <= high[50]
    assert measured == gradient_reach.run("smoke", seeds=seeds)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 7])
def test_first_token_recall(seed):
    measured = first_token_recall.run("smoke", seeds=[seed])
    for length in ("20", "200"):
        assert measured.direct["attention"][length][0] > 0.8
    assert measured.direct["LSTM"]["5"][0] > 0.9
    for length in ("20", "50"):
        assert measured.direct["LSTM"][length][0] < 0.3
    assert measured.short_to_long["LSTM"]["200"][0] > 0.9
    assert measured.lengths("LSTM") == [5, 20, 50]


def test_teaching_is_deterministic_whatever_the_threads():
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        first = first_token_recall.teach_directly("LSTM", 5, steps=30, seed=3)
        torch.set_num_threads(1)
        assert first == first_token_recall.teach_directly("LSTM", 5, steps=30, seed=3)
    finally:
        torch.set_num_threads(threads)


def test_recorded_recall():
    recorded = load_result("first_token_recall").result
    for length in ("20", "50", "100", "200"):
        assert max(recorded.direct["LSTM"][length]) < 0.3
        assert min(recorded.direct["attention"][length]) > 0.95
    for reader in ("LSTM", "GRU"):
        assert min(recorded.short_to_long[reader]["200"]) > 0.9


@pytest.mark.slow
def test_thread_speedup_times_every_layer():
    measured = thread_speedup.run("smoke")
    for by_threads in measured.milliseconds.values():
        assert min(by_threads["1"] + by_threads["2"]) > 0
    assert measured.speedup("attention")[0] == pytest.approx(
        measured.milliseconds["attention"]["1"][0] / measured.milliseconds["attention"]["2"][0]
    )
