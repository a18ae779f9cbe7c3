"""Chapter 12's claims: what layers with a window can copy, and what a computation costs."""

import pytest
import torch

from attention_lib.attention import attention
from attention_lib.errors import OptionError
from attention_lib.experiments import load_result, window_reach
from attention_lib.experiments.work_counts import work_of
from attention_lib.layers.stacks import EncoderStack, LayerSpec
from attention_lib.steps.masks import window_mask


@pytest.mark.parametrize(("layers", "window"), [(1, 1), (1, 7), (2, 5), (3, 3), (5, 2)])
def test_reach_is_that_of_the_gradient(layers, window):
    stack = EncoderStack(layers, LayerSpec(10, 2)).double()
    x = torch.randn(3, 17, 10, dtype=torch.float64, requires_grad=True)
    output = stack(x, causal=True, window=window).output
    (gradient,) = torch.autograd.grad(output[:, -1, 0].sum(), x)
    sizes = gradient.norm(dim=-1).flip(1)  # (3, 17): entry 0 is the last input
    far = window_reach.reach(layers, window)
    assert (sizes[:, : far + 1] > 0).all()
    assert (sizes[:, far + 1 :] == 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [[0], [10]])
def test_copying_needs_the_reach(seeds):
    measured = window_reach.run("smoke", seeds=seeds)
    assert measured.chance == 1 / 8
    for layers, by_window in measured.direct.items():
        for window, (copied,) in by_window.items():
            if window_reach.reach(int(layers), int(window)) >= measured.lag:
                assert copied > 0.9
            else:
                assert 0.08 < copied < 0.18
    assert measured.hop_by_hop["4"]["3"][0] > 0.9
    assert len(measured.summary()) == 6


def test_training_is_deterministic_whatever_the_threads():
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        first = window_reach.copy_directly(1, 9, steps=20, seed=3)
        torch.set_num_threads(1)
        assert first == window_reach.copy_directly(1, 9, steps=20, seed=3)
    finally:
        torch.set_num_threads(threads)


def test_recorded_run():
    recorded = load_result("window_reach").result
    assert len(recorded.seeds) >= 5
    assert list(recorded.direct) == ["1", "2", "3", "4"]
    assert min(recorded.direct["1"]["9"] + recorded.direct["2"]["5"]) > 0.98
    assert max(recorded.direct["1"]["8"] + recorded.direct["2"]["4"]) < 0.18


@pytest.mark.bad_input
def test_refusals():
    with pytest.raises(OptionError, match="budget='huge' is not known; choose one of: smoke, full"):
        window_reach.run("huge")


def test_work_by_hand():
    a, b, bias = torch.zeros(3, 5), torch.zeros(5, 7), torch.zeros(7)
    assert work_of(lambda: a @ b) == (3 * 5 * 7, 3 * 7 * 4)
    assert work_of(lambda: torch.addmm(bias, a, b)).multiplications == 3 * 5 * 7
    assert work_of(lambda: torch.zeros(2, 3, 5) @ torch.zeros(2, 5, 7)).multiplications == 2 * 3 * 5 * 7
    assert work_of(lambda: a.double()) == (0, 3 * 5 * 8)


def test_views_and_writing_in_place_take_no_memory():
    x = torch.zeros(11, 13)
    assert work_of(lambda: x.T[2:].expand(2, 11, 11)) == (0, 0)
    assert work_of(lambda: x.add_(1)) == (0, 0)


@pytest.mark.parametrize("need_weights", [True, False])
def test_explicit_and_fused_attention_count_alike(need_weights):
    query, key, value = torch.randn(2, 3, 5, 4), torch.randn(2, 3, 11, 4), torch.randn(2, 3, 11, 7)
    mask = window_mask(5, 11, window=3)
    work = work_of(lambda: attention(query, key, value, mask, need_weights=need_weights))
    assert work.multiplications == 2 * 3 * 5 * 11 * (4 + 7)
