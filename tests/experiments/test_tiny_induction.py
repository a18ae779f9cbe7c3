"""The model that runs in a page: small, recorded with its weights, and as good rounded as it was before."""

import pytest
import torch

from attention_lib import viz
from attention_lib.experiments import load_result, tiny_induction
from attention_lib.experiments.induction_layers import foretold, looks


@pytest.fixture(scope="module")
def recorded():
    return load_result("tiny_induction").result


def test_it_fits_into_a_page(recorded):
    numbers = [number for rows in recorded.parameters.values() for row in rows for number in row]
    assert len(numbers) == sum(p.numel() for p in tiny_induction.new_model().parameters()) == 10_128
    assert -127 <= min(numbers) < 0 < max(numbers) <= 127


def test_every_seed_learns_and_rounding_costs_nothing(recorded):
    assert len(recorded.seeds) == 5
    assert min(share for shares in recorded.right for share in shares) > 0.99
    assert min(recorded.rounded) > 0.99
    assert recorded.moved < 0.15 * recorded.largest


def test_the_recorded_model_is_the_one_that_was_measured(recorded):
    model = recorded.model()
    assert [round(foretold(model, half), 3) for half in recorded.halves] == pytest.approx(recorded.rounded, abs=1e-3)
    previous, induction = looks(model)
    assert previous[0] > 0.7
    assert induction[1] > 0.9


def test_what_the_page_rounds_is_already_round(recorded):
    state = recorded.model().state_dict()
    for name, tensor in viz.round_weights(state).items():
        torch.testing.assert_close(tensor, state[name], rtol=1e-5, atol=1e-6)


def test_smoke():
    result = tiny_induction.run("smoke", seeds=[3])
    assert result.seeds == [3]
    assert result.steps == 100
    assert len(result.right[0]) == len(result.rounded) == 4
    assert result.model()(torch.zeros(1, 5).long()).logits.shape == (1, 5, 16)
    assert tiny_induction.run("smoke", seeds=[3]) == result
