"""Multi-head attention: by hand, against the oracle head by head, and its options."""

import copy
import math
import pickle

import pytest
import torch
from support import MASK_KINDS, assert_near, mask_of_kind, oracle
from torch import nn

from attention_lib import (
    KVCache,
    MaskError,
    MultiHeadAttention,
    OptionError,
    ShapeError,
    causal_mask,
    padding_mask,
)

B, L, S, D_KEY, D_VALUE = 2, 5, 7, 11, 13


def layer_and_inputs(num_heads=3, *, d_head=5, dtype=torch.float64, **options):
    layer = MultiHeadAttention(num_heads * d_head, num_heads, d_key=D_KEY, d_value=D_VALUE, **options).to(dtype)
    for projection in (layer.w_q, layer.w_k, layer.w_v, layer.w_o):
        if projection.bias is not None:
            nn.init.normal_(projection.bias)  # zero biases would hide one that is left out
    inputs = torch.randn(B, L, num_heads * d_head), torch.randn(B, S, D_KEY), torch.randn(B, S, D_VALUE)
    return layer, [tensor.to(dtype) for tensor in inputs]


def head_by_head(layer, query, key, value, mask=None, **options):
    """The paper's formula, with slices instead of reshapes: concat(head_1 ... head_H) W_O."""
    d_head, group = layer.d_model // layer.num_heads, layer.num_heads // layer.num_kv_heads
    heads, weights = [], []
    for h in range(layer.num_heads):
        own, shared = (slice(i * d_head, (i + 1) * d_head) for i in (h, h // group))
        q, k, v = layer.w_q(query)[..., own], layer.w_k(key)[..., shared], layer.w_v(value)[..., shared]
        head_mask = mask if mask is None or mask.ndim == 2 else mask[:, h % mask.shape[1]]
        output, weight = oracle(q, k, v, head_mask, **options)
        heads.append(output)
        weights.append(weight)
    return layer.w_o(torch.cat(heads, dim=-1)), torch.stack(weights, dim=1)


def test_by_hand():
    layer = MultiHeadAttention(2, 2)
    with torch.no_grad():
        for projection in (layer.w_q, layer.w_k, layer.w_v):
            projection.weight.copy_(torch.eye(2))
        layer.w_o.weight.copy_(torch.tensor([[1.0, 10.0], [0.0, 1.0]]))
        layer.w_o.bias.copy_(torch.tensor([0.0, 100.0]))
    # head 0 sees features (0, 0), scores 0: the mean 0. head 1: queries 0 and 1, keys 0 and ln 3
    ln3 = math.log(3.0)
    key = torch.tensor([[[0.0, 0.0], [0.0, ln3]]])
    query = torch.tensor([[[0.0, 0.0], [5.0, 1.0]]])
    output, weights = layer(query, key, need_weights=True)
    assert_near(weights, torch.tensor([[[[0.5, 0.5], [0.5, 0.5]], [[0.5, 0.5], [0.25, 0.75]]]]))
    assert_near(output, torch.tensor([[[5 * ln3, 100 + ln3 / 2], [7.5 * ln3, 100 + 0.75 * ln3]]]))


@pytest.mark.parametrize("kind", MASK_KINDS)
@pytest.mark.parametrize("options", [{}, {"causal": True}, {"causal": True, "window": 3}, {"window": 2}], ids=str)
def test_equals_the_formula_head_by_head(kind, options):
    layer, inputs = layer_and_inputs()
    mask = mask_of_kind(kind, L, S)
    expected, weights = head_by_head(layer, *inputs, mask, **options)
    shown = layer(*inputs, mask, **options, need_weights=True)
    assert_near(layer(*inputs, mask, **options).output, expected)
    assert_near(shown.output, expected)
    assert_near(shown.weights, weights)


@pytest.mark.parametrize("num_kv_heads", [1, 2, 3, 6])
@pytest.mark.parametrize("bias", [True, False])
def test_grouped_heads(num_kv_heads, bias):
    layer, inputs = layer_and_inputs(6, num_kv_heads=num_kv_heads, bias=bias)
    expected, weights = head_by_head(layer, *inputs, causal=True)
    output, found = layer(*inputs, causal=True, need_weights=True)
    assert_near(output, expected)
    assert_near(found, weights)
    assert layer.w_k.out_features == layer.w_v.out_features == 5 * num_kv_heads


def test_key_and_value_default_to_the_one_before():
    layer = MultiHeadAttention(15, 3).double()
    x, y = torch.randn(B, L, 15, dtype=torch.float64), torch.randn(B, S, 15, dtype=torch.float64)
    assert torch.equal(layer(x).output, layer(x, x, x).output)
    assert torch.equal(layer(x, y).output, layer(x, y, y).output)
    assert not torch.equal(layer(x, y).output, layer(x).output)


def test_parameters():
    shapes = {name: tuple(p.shape) for name, p in MultiHeadAttention(15, 3, d_key=11, d_value=13).named_parameters()}
    assert shapes == {
        "w_q.weight": (15, 15), "w_q.bias": (15,), "w_k.weight": (15, 11), "w_k.bias": (15,),
        "w_v.weight": (15, 13), "w_v.bias": (15,), "w_o.weight": (15, 15), "w_o.bias": (15,),
    }  # fmt: skip
    assert not any("bias" in name for name, _ in MultiHeadAttention(15, 3, bias=False).named_parameters())
    counts = {sum(p.numel() for p in MultiHeadAttention(64, h).parameters()) for h in (1, 2, 4, 8)}
    assert counts == {16640}  # more heads are not more parameters


def test_fresh_parameters():
    layer = MultiHeadAttention(60, 5)
    for projection in (layer.w_q, layer.w_k, layer.w_v, layer.w_o):
        assert (projection.bias == 0).all()
        limit = (6 / 120) ** 0.5
        assert 0.9 * limit < projection.weight.abs().max() <= limit
    before = layer.w_q.weight.clone()
    layer.reset_parameters()
    assert not torch.equal(layer.w_q.weight, before)


def test_one_output_sums_the_heads():
    layer, inputs = layer_and_inputs(bias=False)
    _, weights = layer(*inputs, need_weights=True)
    total = sum(
        weights[:, h] @ layer.w_v(inputs[2])[..., 5 * h : 5 * h + 5] @ layer.w_o.weight[:, 5 * h : 5 * h + 5].T
        for h in range(3)
    )
    assert_near(layer(*inputs).output, total)


def test_padding_does_not_matter():
    layer = MultiHeadAttention(15, 3).double()
    x = torch.randn(B, S, 15, dtype=torch.float64)
    x[0, 4:] *= 100
    together = layer(x, mask=padding_mask([4, S])).output
    assert_near(together[:1, :4], layer(x[:1, :4]).output)


def test_the_past_ignores_the_future():
    layer = MultiHeadAttention(15, 3).double()
    x = torch.randn(B, S, 15, dtype=torch.float64, requires_grad=True)
    for need_weights in (False, True):
        output = layer(x, causal=True, need_weights=need_weights).output
        (gradient,) = torch.autograd.grad(output[:, 3].sum(), x)
        assert (gradient[:, 4:] == 0).all()
        assert (gradient[:, :4].abs().sum(-1) > 0).all()


@pytest.mark.parametrize("need_weights", [False, True])
def test_gradcheck(need_weights):
    layer = MultiHeadAttention(4, 2, num_kv_heads=1, d_key=3).double()
    query, key = torch.randn(1, 2, 4).double().requires_grad_(), torch.randn(1, 3, 3).double().requires_grad_()
    value = torch.randn(1, 3, 4).double().requires_grad_()
    parameters = dict(layer.named_parameters())

    def output_of(query, key, value, *tensors):
        state = dict(zip(parameters, tensors, strict=True))
        options = {"causal": True, "need_weights": need_weights}
        return torch.func.functional_call(layer, state, (query, key, value), options).output

    assert torch.autograd.gradcheck(output_of, (query, key, value, *parameters.values()), fast_mode=True)


def test_dropout_only_while_training_and_never_on_the_weights():
    layer, inputs = layer_and_inputs(dropout_p=0.5)
    torch.manual_seed(1)
    trained, weights = layer(*inputs, need_weights=True)
    torch.manual_seed(1)
    assert torch.equal(layer(*inputs, need_weights=True).output, trained)
    layer.eval()
    expected, expected_weights = head_by_head(layer, *inputs)
    assert_near(layer(*inputs).output, expected)
    assert_near(weights, expected_weights)
    assert (trained - expected).abs().max() > 0.01
    assert torch.equal(layer(*inputs).output, layer(*inputs).output)


def test_dropout_acts_without_weights_too():
    layer, inputs = layer_and_inputs(dropout_p=0.5)
    assert not torch.equal(layer(*inputs).output, layer(*inputs).output)


@pytest.mark.parametrize("options", [{}, {"need_weights": True, "causal": True}, {"window": 2}], ids=str)
@pytest.mark.parametrize("training", [True, False])
def test_nothing_is_left_on_the_module_and_inputs_stay(options, training):
    layer, inputs = layer_and_inputs(dropout_p=0.1)
    layer.train(training)
    inputs.append(padding_mask([4, S]))

    def everything():
        return {
            name: {key: repr(entry) for key, entry in vars(module).items()} for name, module in layer.named_modules()
        }

    before, copies = everything(), [tensor.clone() for tensor in inputs]
    layer(*inputs, **options).output.sum().backward()
    layer.zero_grad(set_to_none=True)
    assert everything() == before
    assert [name for name, _ in layer.named_buffers()] == []
    assert all(
        tensor._version == 0 and torch.equal(tensor, copied) for tensor, copied in zip(inputs, copies, strict=True)
    )


@pytest.mark.parametrize("training", [True, False])
def test_copies_behave_the_same(training):
    layer, inputs = layer_and_inputs(6, num_kv_heads=2, dropout_p=0.2)
    layer.train(training)
    other, _ = layer_and_inputs(6, num_kv_heads=2, dropout_p=0.2)
    assert other.load_state_dict(layer.state_dict()).missing_keys == []
    for copied in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer)), other.train(training)):
        assert copied.training == training
        results = []
        for module in (copied, layer):
            torch.manual_seed(5)
            results.append(module(*inputs, causal=True).output)
        assert torch.equal(*results)


def test_repr_names_the_options():
    text = repr(MultiHeadAttention(12, 6, num_kv_heads=2, dropout_p=0.25))
    assert "num_heads=6, num_kv_heads=2, dropout_p=0.25" in text


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((10, 3), {}, "d_model=10 is not divisible by num_heads=3; choose d_model=9 or 12"),
        ((12, 0), {}, "num_heads=0 must be a whole number, 1 or more"),
        ((12, 6), {"num_kv_heads": 4}, r"num_heads=6 is not a multiple of num_kv_heads=4; .* \[1, 2, 3, 6\]"),
        ((12, 6), {"num_kv_heads": 0}, r"num_heads=6 is not a multiple of num_kv_heads=0; .* \[1, 2, 3, 6\]"),
        ((12, 6), {"dropout_p": 1.0}, r"dropout_p=1.0 must be in \[0, 1\): the probability of dropping a weight"),
        ((12, 6), {"dropout_p": -0.5}, r"dropout_p=-0.5 must be in \[0, 1\)"),
    ],
)
def test_arguments_that_do_not_fit(arguments, options, message):
    with pytest.raises(OptionError, match=message):
        MultiHeadAttention(*arguments, **options)


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ([(5, 15)], r"query has shape \(5, 15\); .*batch-first, \(B, length, 15\): .*query.unsqueeze\(0\)"),
        (
            [(2, 5, 14)],
            r"axis d_model is 14 in query but 15 in this layer; .*\(2, 5, 14\); build .*d_model=14 or project query",
        ),
        (
            [(2, 5, 15), (2, 7, 12)],
            "axis d_key is 12 in key but 11 in this layer; .*build the layer with d_key=12 or project key",
        ),
        (
            [(2, 5, 15), (2, 7, 11), (2, 7, 12)],
            "axis d_value is 12 in value but 13 in this layer; .*d_value=12 or project value",
        ),
        (
            [(2, 5, 15), (3, 7, 11), (3, 7, 13)],
            r"axis B is 2 in query but 3 in key; .*\(3, 7, 11\); inputs are batch-first",
        ),
        (
            [(2, 5, 15), (2, 7, 11), (3, 7, 13)],
            r"axis B is 2 in key but 3 in value; .*\(3, 7, 13\); inputs are batch-first",
        ),
        (
            [(2, 5, 15), (2, 7, 11), (2, 3, 13)],
            r"axis S is 7 in key but 3 in value; shapes \(2, 7, 11\) and \(2, 3, 13\)",
        ),
    ],
)
def test_inputs_that_do_not_fit(shapes, message):
    layer, _ = layer_and_inputs()
    with pytest.raises(ShapeError, match=message):
        layer(*(torch.zeros(shape) for shape in shapes))


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (
            torch.ones(2, 5, 7) > 0,
            r"\(2, 5, 7\) has 3 axes, .* \(2, 3, 5, 7\); allowed .*mask\[:, None\] .*mask\[None\]",
        ),
        (torch.ones(7) > 0, r"mask of shape \(7,\) has 1 axes, .* are \(2, 3, 5, 7\)"),
        (
            torch.ones(2, 7) > 0,
            r"\(2, 7\) does not .* \(2, 3, 5, 7\); a \(B, S\) padding mask .*mask\[:, None, None, :\]",
        ),
        (causal_mask(5), r"\(5, 5\) does not broadcast .* \(2, 3, 5, 7\): it covers 5 keys, there are 7"),
        (torch.ones(5, 7, dtype=torch.int32), "dtype torch.int32; use a boolean mask"),
        (torch.ones(2, 5, 5, 7) > 0, r"\(2, 5, 5, 7\) does not broadcast .* \(2, 3, 5, 7\); allowed are"),
        ([[True]], "mask is a list, not a torch.Tensor"),
    ],
)
def test_masks_that_do_not_fit(mask, message):
    layer, inputs = layer_and_inputs()
    with pytest.raises(MaskError, match=message):
        layer(*inputs, mask)


@pytest.mark.bad_input
def test_options_that_do_not_fit():
    layer = MultiHeadAttention(15, 3)
    x = torch.zeros(B, L, 15)
    with pytest.raises(OptionError, match="window=0 must be a whole number of keys"):
        layer(x, window=0)
    with pytest.raises(
        OptionError, match=r"cache is for self-attention, .*leave key and value out, or leave cache out"
    ):
        layer(x, x, causal=True, cache=KVCache())
    with pytest.raises(OptionError, match="cache needs causal=True"):
        layer(x, cache=KVCache())
