"""``nn.MultiheadAttention`` and ours: converted both ways, compared in outputs, weights and gradients."""

import pytest
import torch
from support import assert_near
from torch import nn

from attention_lib import DecoderLayer, EncoderLayer, MultiHeadAttention, OptionError, masks, padding_mask

B, H, L, S, WIDTH = 2, 3, 5, 7, 15


def torch_module(*, batch_first=True, dtype=torch.float64, **options):
    module = nn.MultiheadAttention(WIDTH, H, batch_first=batch_first, **options).to(dtype)
    for name, parameter in module.named_parameters():
        if "bias" in name:
            nn.init.normal_(parameter)  # torch starts them at 0, where a lost bias shows no difference
    return module


def random_inputs(module, query_length=L, key_length=S):
    dtype = module.out_proj.weight.dtype
    sizes = (query_length, module.embed_dim), (key_length, module.kdim), (key_length, module.vdim)
    return [torch.randn(B, *size, dtype=dtype) for size in sizes]


def call_torch(module, query, key, value, **options):
    """Call a module of either layout with batch-first tensors."""
    if module.batch_first:
        return module(query, key, value, **options)
    output, weights = module(*(tensor.transpose(0, 1) for tensor in (query, key, value)), **options)
    return output.transpose(0, 1), weights


def mask_with_a_key_in_every_row(*shape):
    mask = torch.rand(shape) < 0.6
    mask[..., 0] = True
    return mask


MASKS = {
    "none": lambda: None,
    "(L, S)": lambda: mask_with_a_key_in_every_row(L, S),
    "(B, 1, 1, S)": lambda: padding_mask([S, 3]),
    "(B, 1, L, S)": lambda: mask_with_a_key_in_every_row(B, 1, L, S),
    "(B, H, L, S)": lambda: mask_with_a_key_in_every_row(B, H, L, S),
}


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize("widths", [{}, {"kdim": 11, "vdim": 13}, {"vdim": 13}], ids=str)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("batch_first", [True, False])
def test_from_torch(batch_first, bias, widths, kind, training):
    module = torch_module(batch_first=batch_first, bias=bias, **widths).train(training)
    layer, inputs, mask = MultiHeadAttention.from_torch(module), random_inputs(module), MASKS[kind]()
    options = masks.to_torch_mha(mask, H)
    output, weights = layer(*inputs, mask, need_weights=True)
    for no_grad in (False, True):  # torch takes another path for each
        with torch.set_grad_enabled(not no_grad):
            expected, averaged = call_torch(module, *inputs, **options)
            assert_near(output, expected)
            assert_near(weights.mean(1), averaged)
            expected, per_head = call_torch(module, *inputs, **options, average_attn_weights=False)
            assert_near(output, expected)
            assert_near(weights, per_head)
            assert_near(layer(*inputs, mask).output, call_torch(module, *inputs, **options, need_weights=False)[0])


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize("widths", [{}, {"d_key": 11, "d_value": 13}, {"d_key": 11}], ids=str)
@pytest.mark.parametrize("bias", [True, False])
def test_to_torch(bias, widths, kind, training):
    layer = MultiHeadAttention(WIDTH, H, bias=bias, **widths).double().train(training)
    for projection in (layer.w_q, layer.w_k, layer.w_v, layer.w_o):
        if bias:
            nn.init.normal_(projection.bias)
    module, mask = layer.to_torch(), MASKS[kind]()
    assert module.batch_first
    inputs = random_inputs(module)
    expected, weights = module(*inputs, **masks.to_torch_mha(mask, H), average_attn_weights=False)
    assert_near(layer(*inputs, mask).output, expected)
    assert_near(layer(*inputs, mask, need_weights=True).weights, weights)


@pytest.mark.parametrize("lengths", [(1, 7), (7, 5), (5, 5)], ids=str)
@pytest.mark.parametrize("training", [True, False])
def test_other_lengths(lengths, training):
    module = torch_module().train(training)
    inputs = random_inputs(module, *lengths)
    assert_near(MultiHeadAttention.from_torch(module)(*inputs).output, module(*inputs)[0])


@pytest.mark.parametrize("training", [True, False])
def test_self_attention_causal(training):
    module, x = torch_module().train(training), torch.randn(B, L, WIDTH, dtype=torch.float64)
    blocked = nn.Transformer.generate_square_subsequent_mask(L, dtype=torch.float64)
    layer = MultiHeadAttention.from_torch(module)
    for no_grad in (False, True):
        with torch.set_grad_enabled(not no_grad):
            expected = module(x, x, x, attn_mask=blocked, is_causal=True, need_weights=False)[0]
            assert_near(layer(x, causal=True).output, expected)
            assert_near(layer(x, mask=blocked).output, expected)


def test_padding_and_causal_together():
    module, x = torch_module(), torch.randn(B, L, WIDTH, dtype=torch.float64)
    blocked, padding = torch.ones(L, L).triu(1) > 0, torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    expected, weights = module(x, x, x, attn_mask=blocked, key_padding_mask=padding)
    ours = MultiHeadAttention.from_torch(module)(
        x, mask=masks.from_key_padding_mask(padding), causal=True, need_weights=True
    )
    assert_near(ours.output, expected)
    assert_near(ours.weights.mean(1), weights)


@pytest.mark.parametrize("shape", [(L, S), (B * H, L, S)], ids=str)
def test_a_float_mask(shape):
    module = torch_module()
    inputs, bias = random_inputs(module), torch.randn(shape, dtype=torch.float64)
    expected, weights = module(*inputs, attn_mask=bias, average_attn_weights=False)
    ours = bias if bias.ndim == 2 else bias.unflatten(0, (B, H))
    layer = MultiHeadAttention.from_torch(module)
    assert_near(layer(*inputs, ours).output, expected)
    assert_near(layer(*inputs, ours, need_weights=True).weights, weights)


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("widths", [{}, {"kdim": 11, "vdim": 13}], ids=str)
def test_gradients(need_weights, widths):
    module = torch_module(**widths)
    layer, inputs, mask = MultiHeadAttention.from_torch(module), random_inputs(module), MASKS["(B, H, L, S)"]()
    inputs = [tensor.requires_grad_() for tensor in inputs]
    ours = layer(*inputs, mask, need_weights=need_weights).output.square().sum()
    theirs = module(*inputs, **masks.to_torch_mha(mask, H), need_weights=need_weights)[0].square().sum()
    gradients = torch.autograd.grad(ours, inputs, retain_graph=True)
    for gradient, expected in zip(gradients, torch.autograd.grad(theirs, inputs, retain_graph=True), strict=True):
        assert_near(gradient, expected, 1e-10)
    ours.backward()
    theirs.backward()
    assert_near(layer.w_o.weight.grad, module.out_proj.weight.grad, 1e-10)
    if widths:
        expected = module.k_proj_weight.grad
        in_biases = module.in_proj_bias.grad.chunk(3)
    else:
        expected = module.in_proj_weight.grad.chunk(3)[1]
        in_biases = module.in_proj_bias.grad.chunk(3)
    assert_near(layer.w_k.weight.grad, expected, 1e-10)
    assert_near(layer.w_v.bias.grad, in_biases[2], 1e-10)
    assert_near(layer.w_q.bias.grad, in_biases[0], 1e-10)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("widths", [{}, {"kdim": 11, "vdim": 13}], ids=str)
@pytest.mark.parametrize("bias", [True, False])
def test_round_trip_keeps_weights_dtype_mode_and_dropout(dtype, training, widths, bias):
    module = torch_module(dtype=dtype, dropout=0.3, bias=bias, **widths).train(training)
    layer = MultiHeadAttention.from_torch(module)
    back = layer.to_torch()
    assert layer.dropout_p == back.dropout == 0.3
    assert layer.training == back.training == training
    assert {p.dtype for p in layer.parameters()} == {p.dtype for p in back.parameters()} == {dtype}
    state = module.state_dict()
    assert back.state_dict().keys() == state.keys()
    assert all(torch.equal(tensor, state[name]) for name, tensor in back.state_dict().items())


def test_conversion_copies():
    module = torch_module()
    layer = MultiHeadAttention.from_torch(module)
    back, before = layer.to_torch(), layer.w_q.weight.clone()
    with torch.no_grad():
        module.in_proj_weight.zero_()
        back.in_proj_weight.zero_()
    assert torch.equal(layer.w_q.weight, before)
    assert all(parameter.requires_grad for parameter in (*layer.parameters(), *back.parameters()))


def test_float32():
    module = torch_module(dtype=torch.float32)
    inputs = random_inputs(module)
    assert_near(MultiHeadAttention.from_torch(module)(*inputs).output, module(*inputs)[0])


@pytest.mark.parametrize("num_kv_heads", [1, 2])
@pytest.mark.parametrize("bias", [True, False])
def test_grouped_heads_to_torch(num_kv_heads, bias):
    layer = MultiHeadAttention(20, 4, num_kv_heads=num_kv_heads, d_key=11, bias=bias).double()
    if bias:
        nn.init.normal_(layer.w_k.bias)
        nn.init.normal_(layer.w_v.bias)
    module = layer.to_torch()
    inputs = random_inputs(module)
    output, weights = module(*inputs, average_attn_weights=False)
    assert_near(layer(*inputs).output, output)
    assert_near(layer(*inputs, need_weights=True).weights, weights)


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"add_bias_kv": True}, "add_bias_kv=True and add_zero_attn=False attends to an extra key .*both False"),
        ({"add_zero_attn": True}, "add_bias_kv=False and add_zero_attn=True attends to an extra key .*both False"),
    ],
)
def test_modules_with_an_extra_key_are_refused(options, message):
    with pytest.raises(OptionError, match=message):
        MultiHeadAttention.from_torch(nn.MultiheadAttention(WIDTH, H, **options))


@pytest.mark.parametrize(
    ("copy", "original"),
    [
        (MultiHeadAttention.from_torch, lambda: nn.MultiheadAttention(6, 3)),
        (MultiHeadAttention.to_torch, lambda: MultiHeadAttention(6, 3)),
        (EncoderLayer.from_torch, lambda: nn.TransformerEncoderLayer(6, 3, 5)),
        (DecoderLayer.from_torch, lambda: nn.TransformerDecoderLayer(6, 3, 5)),
    ],
)
def test_copies_draw_no_random_numbers(copy, original):
    original = original()
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    copied = copy(original)
    assert torch.equal(torch.rand(3), expected)
    assert all(not parameter.is_meta for parameter in copied.parameters())


@pytest.mark.bad_input
@pytest.mark.parametrize("module", [nn.Linear(6, 6), None, "attention"])
def test_another_class_is_named(module):
    with pytest.raises(OptionError, match=rf"needs an nn.MultiheadAttention, got {type(module).__name__}"):
        MultiHeadAttention.from_torch(module)
