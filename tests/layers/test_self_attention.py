"""One head of self-attention."""

import copy
import math
import pickle

import pytest
import torch
from support import assert_near, oracle

from attention_lib import MaskError, OptionError, SelfAttention, ShapeError, attention, padding_mask


def test_by_hand():
    layer = SelfAttention(2, d_k=1)
    with torch.no_grad():
        layer.w_q.weight.copy_(torch.tensor([[1.0, 0.0]]))
        layer.w_k.weight.copy_(torch.tensor([[0.0, 1.0]]))
        layer.w_v.weight.copy_(torch.tensor([[10.0, 1.0]]))
    # queries 0, 1; keys 0, ln 3; values 0, 10 + ln 3: token 0 averages, token 1 weighs 1 to 3
    x = torch.tensor([[0.0, 0.0], [1.0, math.log(3.0)]])
    output, weights = layer(x, need_weights=True)
    assert_near(weights, torch.tensor([[0.5, 0.5], [0.25, 0.75]]))
    assert_near(output, torch.tensor([[0.5], [0.75]]) * (10 + math.log(3.0)))


@pytest.mark.parametrize("leading", [(), (2,), (2, 3)], ids=str)
@pytest.mark.parametrize("options", [{}, {"causal": True}, {"causal": True, "window": 2}, {"window": 3}], ids=str)
def test_equals_projections_and_the_oracle(leading, options):
    layer, x = SelfAttention(7, d_k=5, d_v=3).double(), torch.randn(*leading, 11, 7, dtype=torch.float64)
    query, key, value = (x @ projection.weight.T for projection in (layer.w_q, layer.w_k, layer.w_v))
    expected, weights = oracle(query, key, value, **options)
    assert_near(layer(x, **options).output, expected)
    shown = layer(x, **options, need_weights=True)
    assert_near(shown.output, expected)
    assert_near(shown.weights, weights)
    assert layer(x).weights is None


def test_mask_reaches_the_scores():
    layer, x = SelfAttention(7).double(), torch.randn(2, 5, 7, dtype=torch.float64)
    mask = padding_mask([5, 2])[:, 0]  # (B, 1, S)
    expected = attention(layer.w_q(x), layer.w_k(x), layer.w_v(x), mask).output
    assert_near(layer(x, mask).output, expected)
    assert_near(layer(x, mask).output[1, :2], layer(x[1, :2]).output)


def test_widths_default_to_each_other():
    shapes = {name: tuple(p.shape) for name, p in SelfAttention(7).named_parameters()}
    assert shapes == {"w_q.weight": (7, 7), "w_k.weight": (7, 7), "w_v.weight": (7, 7)}
    assert SelfAttention(7, 5).w_v.out_features == 5
    assert SelfAttention(7, d_v=5).w_k.out_features == 7


def test_permuting_tokens_permutes_outputs():
    layer, x, order = SelfAttention(7).double(), torch.randn(2, 5, 7, dtype=torch.float64), torch.randperm(5)
    assert_near(layer(x[:, order]).output, layer(x).output[:, order])


def test_gradcheck():
    layer, x = SelfAttention(3, 2).double(), torch.randn(2, 3, 3, dtype=torch.float64, requires_grad=True)
    parameters = dict(layer.named_parameters())

    def output_of(x, *tensors):
        return torch.func.functional_call(
            layer, dict(zip(parameters, tensors, strict=True)), (x,), {"causal": True}
        ).output

    assert torch.autograd.gradcheck(output_of, (x, *parameters.values()))


def test_copies_behave_the_same():
    layer, x = SelfAttention(7, 5), torch.randn(2, 3, 7)
    other = SelfAttention(7, 5)
    other.load_state_dict(layer.state_dict())
    for copied in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer)), other):
        assert torch.equal(copied(x, causal=True).output, layer(x, causal=True).output)


@pytest.mark.bad_input
def test_errors():
    layer = SelfAttention(7)
    with pytest.raises(
        ShapeError, match=r"axis d_model is 5 in x but 7 in this layer; x has shape \(2, 3, 5\); .*d_model=5"
    ):
        layer(torch.zeros(2, 3, 5))
    with pytest.raises(ShapeError, match=r"x has shape \(7,\); it takes \(..., L, 7\)"):
        layer(torch.zeros(7))
    with pytest.raises(MaskError, match=r"\(3, 2\) does not broadcast .* \(2, 3, 3\): it covers 2 keys, there are 3"):
        layer(torch.zeros(2, 3, 7), torch.ones(3, 2) > 0)
    with pytest.raises(OptionError, match="window=0 must be a whole number of keys"):
        layer(torch.zeros(2, 3, 7), window=0)
