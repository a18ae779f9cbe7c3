"""The same equality on CUDA, where other kernels run."""

import pytest
import torch
from support import assert_near, mask_of_kind, oracle, random_inputs

from attention_lib import (
    AttentionMemoryError,
    KVCache,
    MultiHeadAttention,
    attention,
    attention_weights,
    averaged_weights,
    causal_mask,
    default_device,
    padding_mask,
    ragged_attention,
    window_mask,
)
from attention_lib.paths.dropout import Seen, piecewise_dropout
from attention_lib.paths.grouped import fits_fold
from attention_lib.paths.lean import fits_lean
from attention_lib.paths.windowed import fits_window

pytestmark = pytest.mark.gpu

TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}


@pytest.fixture(autouse=True)
def _full_precision_matmul():
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = False
    yield
    torch.backends.cuda.matmul.allow_tf32 = before


def on_cuda(*tensors):
    return [None if tensor is None else tensor.cuda() for tensor in tensors]


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("lengths", [(5, 7), (7, 5), (7, 7)], ids=str)
@pytest.mark.parametrize("options", [{}, {"causal": True}, {"causal": True, "window": 3}], ids=str)
@pytest.mark.parametrize("kind", ["none", "bool of L S", "bool of B 1 1 S", "bias with -inf of B H L S"])
def test_every_path_equals_the_oracle(kind, options, lengths, dtype):
    inputs = random_inputs(*lengths, d_k=16, d_v=16, dtype=dtype)
    mask = mask_of_kind(kind, *lengths, dtype=dtype)
    output, weights = oracle(*inputs, mask, **options)
    query, key, value, mask = on_cuda(*inputs, mask)
    fused, shown = (attention(query, key, value, mask, **options, need_weights=flag) for flag in (False, True))
    assert fused.output.device.type == shown.weights.device.type == "cuda"
    assert fused.output.dtype == dtype
    for actual, expected in ((fused.output, output), (shown.output, output), (shown.weights, weights)):
        assert_near(actual.cpu(), expected, TOLERANCE[dtype])
    assert_near(attention_weights(query, key, mask, **options).cpu(), weights, TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("kind", ["none", "bool of B 1 1 S", "bool of L S", "bias with -inf of B H L S"])
@pytest.mark.parametrize("need_weights", [False, True])
def test_gradients_equal_those_of_the_cpu(kind, dtype, need_weights):
    inputs = random_inputs(7, 7, d_k=16, d_v=16, dtype=dtype)
    mask = mask_of_kind(kind, 7, 7, dtype=dtype)
    exact = [tensor.double().requires_grad_() for tensor in inputs]
    wanted = torch.autograd.grad(attention(*exact, mask, causal=True).output.square().sum(), exact)
    inputs = [tensor.requires_grad_() for tensor in on_cuda(*inputs)]
    output = attention(*inputs, *on_cuda(mask), causal=True, need_weights=need_weights).output
    for gradient, want in zip(torch.autograd.grad(output.float().square().sum(), inputs), wanted, strict=True):
        assert gradient.isfinite().all()
        assert_near(gradient.cpu(), want, 5 * TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("kv_heads", [1, 2, 6])
def test_grouped_heads(dtype, kv_heads):
    inputs = random_inputs(leading=(2, 6), kv_leading=(2, kv_heads), d_k=16, d_v=16, dtype=dtype)
    expected, _ = oracle(*inputs, causal=True)
    assert_near(attention(*on_cuda(*inputs), causal=True).output.cpu(), expected, TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("need_weights", [False, True])
def test_half_precision_error_is_at_most_twice_that_of_the_plain_formula(dtype, need_weights):
    low = on_cuda(*random_inputs(61, 61, d_k=64, d_v=64, dtype=dtype))
    query, key, value = (tensor.double() for tensor in low)
    exact = torch.softmax(query @ key.mT / 8, dim=-1) @ value
    plain = torch.softmax(low[0] @ low[1].mT / 8, dim=-1) @ low[2]
    ours = attention(*low, need_weights=need_weights).output
    errors = [(result.double() - exact).square().mean().sqrt() for result in (ours, plain)]
    assert errors[0] <= 2 * errors[1]


@pytest.mark.parametrize("need_weights", [False, True])
def test_scores_beyond_float16_do_not_overflow(need_weights):
    query = torch.full((2, 3, 5, 16), 200.0, dtype=torch.float16, device="cuda")
    value = torch.randn(2, 3, 5, 16, device="cuda").half()
    output = attention(query, query, value, need_weights=need_weights).output
    assert_near(output.cpu(), value.double().mean(-2, keepdim=True).expand_as(output).cpu(), 1e-2)


def test_layer_and_cache():
    layer, x = MultiHeadAttention(12, 6, num_kv_heads=2).double(), torch.randn(2, 7, 12, dtype=torch.float64)
    expected = layer(x, causal=True).output
    layer, x, cache = layer.cuda(), x.cuda(), KVCache()
    assert_near(layer(x, causal=True).output.cpu(), expected, 1e-10)
    chunks = [layer(part, causal=True, cache=cache).output for part in x.split([3, 1, 3], dim=1)]
    assert_near(torch.cat(chunks, dim=1).cpu(), expected, 1e-10)
    module = layer.to_torch()
    assert module.out_proj.weight.device.type == "cuda"
    assert_near(module(x, x, x, attn_mask=~causal_mask(7, device="cuda"))[0].cpu(), expected, 1e-10)


def test_masks_are_built_where_asked():
    assert causal_mask(3, device="cuda").is_cuda
    assert window_mask(3, window=2, device="cuda").is_cuda
    assert padding_mask(torch.tensor([1, 2], device="cuda")).is_cuda


def test_the_default_device(monkeypatch):
    monkeypatch.delenv("ATTENTION_DEVICE", raising=False)
    assert default_device().type == "cuda"


def gradients_of(output, inputs):
    torch.manual_seed(1)
    direction = torch.randn(output.shape, dtype=torch.float64).to(output)
    return torch.autograd.grad(output, inputs, direction)


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("kind", ["none", "bool of L S", "bool of B 1 1 S", "bias with -inf of B H L S"])
def test_windows_in_blocks_equal_the_dense_way(kind, causal, dtype):
    inputs, mask = random_inputs(300, 331, d_k=16, d_v=16, dtype=dtype), mask_of_kind(kind, 300, 331)
    exact = [tensor.double().requires_grad_() for tensor in inputs]
    expected = attention(*exact, mask, causal=causal, window=17, need_weights=True).output
    inputs = [tensor.requires_grad_() for tensor in on_cuda(*inputs)]
    (mask,) = on_cuda(mask)
    assert fits_window(*inputs[:2], mask, 17)
    output = attention(*inputs, mask, causal=causal, window=17).output
    assert_near(output.cpu(), expected, TOLERANCE[dtype])
    for one, other in zip(gradients_of(output, inputs), gradients_of(expected, exact), strict=True):
        assert_near(one.cpu(), other, 5 * TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("causal", [True, False])
def test_large_tables_equal_the_oracle(causal, dtype):
    inputs = random_inputs(256, 257, leading=(1, 2), d_k=16, d_v=16, dtype=dtype)
    query, key, value = on_cuda(*inputs)
    assert fits_lean(query, key)
    exact = attention(*(tensor.double() for tensor in inputs), causal=causal, need_weights=True)
    ours = attention(query, key, value, causal=causal, need_weights=True)
    assert_near(ours.weights.cpu(), exact.weights, TOLERANCE[dtype])
    assert_near(ours.output.cpu(), exact.output, TOLERANCE[dtype])
    assert_near(averaged_weights(query, key, causal=causal).cpu(), exact.weights.mean(1), TOLERANCE[dtype])


@pytest.mark.parametrize("options", [(False, None), (True, None), (True, 40)], ids=str)
@pytest.mark.parametrize("kind", ["none", "bool of B 1 1 S", "bias with -inf of B H L S"])
def test_dropout_in_pieces_is_the_formula_for_its_coins(kind, options):
    query, key, value = (tensor.requires_grad_() for tensor in on_cuda(*random_inputs(300, 331, d_k=8, d_v=8)))
    (mask,) = on_cuda(mask_of_kind(kind, 300, 331))
    seen = Seen(mask, *options)

    def dropped(value):
        torch.manual_seed(5)
        return piecewise_dropout(query, key, value, seen, scale=None, dropout_p=0.25)

    eye = torch.eye(331, dtype=torch.float64, device="cuda").expand(2, 3, 331, 331)
    weights = attention_weights(query, key, mask, causal=options[0], window=options[1])
    kept = dropped(eye) != 0
    assert 0.7 < kept[weights > 0].double().mean() < 0.8
    output, expected = dropped(value), (kept * weights / 0.75) @ value
    assert_near(output, expected, 1e-10)
    for one, other in zip(*(gradients_of(o, (query, key, value)) for o in (output, expected)), strict=True):
        assert_near(one, other, 1e-9)


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
def test_folded_heads_and_ragged_batches(dtype):
    inputs = random_inputs(1, 61, leading=(2, 6), kv_leading=(2, 3), d_k=16, d_v=16, dtype=dtype)
    query, key, value = on_cuda(*inputs)
    assert fits_fold(query, key)
    expected, _ = oracle(*inputs, causal=True)
    assert_near(attention(query, key, value, causal=True).output.cpu(), expected, TOLERANCE[dtype])
    expected, _ = oracle(*inputs, padding_mask([61, 7], 61))
    assert_near(ragged_attention(query, key, value, [61, 7]).output.cpu(), expected, TOLERANCE[dtype])


@pytest.mark.bad_input
def test_tables_larger_than_the_device_are_refused():
    x = torch.zeros(1, 1, 1, 1, device="cuda").expand(1, 8, 10**6, 1)
    with pytest.raises(AttentionMemoryError, match=r"needs 32,000,000,000,000 bytes .* are left on cuda"):
        attention(x, x, x, need_weights=True)
