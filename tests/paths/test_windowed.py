"""Windows in blocks of queries: equal to the dense way everywhere, and cheaper where they are used."""

import pytest
import torch
from support import assert_near, mask_of_kind, oracle, random_inputs

from attention_lib import attention, window_mask
from attention_lib.experiments.work_counts import work_of
from attention_lib.paths.windowed import fits_window, windowed_attention

LENGTHS = [(300, 300), (257, 331), (128, 263), (130, 1009)]
WINDOWS = [1, 2, 7, 32]
KINDS = ["none", "bool of L S", "bool of B 1 1 S", "bool of B H L S", "bias of L S", "bias with -inf of B H L S"]


def dense(query, key, value, mask=None, *, causal, window, scale=None):
    """The same through the path that shows weights."""
    options = {"causal": causal, "window": window, "scale": scale}
    return attention(query, key, value, mask, **options, need_weights=True).output


def windowed(query, key, value, mask=None, *, causal, window, scale=None):
    assert fits_window(query, key, mask, window)
    return windowed_attention(query, key, value, mask, causal=causal, window=window, scale=scale)


def test_by_hand():
    # identical scores: each query averages the positions of the three keys it sees, itself the last
    same, position = torch.zeros(1, 200, 1), torch.arange(200.0)[None, :, None]
    output = attention(same, same, position, causal=True, window=3).output
    assert output[0, :3, 0].tolist() == [0.0, 0.5, 1.0]
    assert_near(output[:, 2:], position[:, 2:] - 1)
    around = attention(same, same, position, window=3).output
    assert_near(around[:, 1:-1], position[:, 1:-1])
    assert around[0, -1, 0].item() == pytest.approx(198.5)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("kind", ["none", "bool of L S", "bool of B 1 1 S"])
def test_equals_the_oracle(kind, causal):
    inputs = random_inputs(130, 149, leading=(2, 1), d_k=3, d_v=2)
    mask = mask_of_kind(kind, 130, 149, heads=1)
    expected, _ = oracle(*inputs, mask, causal=causal, window=5)
    assert_near(windowed(*inputs, mask, causal=causal, window=5), expected)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_equals_the_dense_way_with_gradients(kind, lengths, window, causal):
    inputs = [tensor.requires_grad_() for tensor in random_inputs(*lengths, d_k=5, d_v=7)]
    mask = mask_of_kind(kind, *lengths)
    options = {"causal": causal, "window": window, "scale": 0.7}
    ours, expected = windowed(*inputs, mask, **options), dense(*inputs, mask, **options)
    assert_near(ours, expected)
    direction = torch.randn_like(ours)
    for one, other in zip(*(torch.autograd.grad(o, inputs, direction) for o in (ours, expected)), strict=True):
        if window == 1:  # a weight of 1 whatever the score: these gradients are 0, up to rounding
            torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-13)
        else:
            assert_near(one, other)


@pytest.mark.parametrize(
    ("leading", "kv_leading"), [((), ()), ((3,), (3,)), ((3,), (1,)), ((2, 1, 3), (2, 5, 3)), ((2, 6), (2, 3))], ids=str
)
def test_leading_axes_are_shared_and_heads_grouped(leading, kv_leading):
    inputs = random_inputs(200, 211, leading=leading, kv_leading=kv_leading, d_k=5, d_v=7)
    for mask in (None, torch.rand(200, 211) < 0.6, torch.rand(211) < 0.5):
        ours = attention(*inputs, mask, causal=True, window=6).output
        assert_near(ours, dense(*inputs, mask, causal=True, window=6))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("layout", ["heads last", "every other", "expanded"])
def test_dtypes_and_non_contiguous_inputs(dtype, layout):
    inputs = random_inputs(200, 200, d_k=16, d_v=16, dtype=dtype)
    turn = {
        "heads last": lambda t: t.transpose(1, 2).contiguous().transpose(1, 2),
        "every other": lambda t: torch.stack((t, t * 9), dim=-1).flatten(-2)[..., ::2],
        "expanded": lambda t: t[:1].expand(2, -1, -1, -1),
    }[layout]
    inputs = [turn(tensor) for tensor in inputs]
    ours = attention(*inputs, causal=True, window=9).output
    exact = dense(*(tensor.double() for tensor in inputs), causal=True, window=9)
    assert ours.dtype == dtype
    assert_near(ours, exact, {torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 1e-2}[dtype])


def test_empty_rows_are_zero_forward_and_backward():
    inputs = [tensor.requires_grad_() for tensor in random_inputs(160, 160)]
    mask = torch.ones(160, 160, dtype=torch.bool)
    mask[70] = False
    output = attention(*inputs, mask, causal=True, window=4).output
    assert (output[..., 70, :] == 0).all()
    for gradient in torch.autograd.grad(output.square().sum(), inputs):
        assert gradient.isfinite().all()


@pytest.mark.parametrize("causal", [True, False])
def test_gradcheck(causal):
    inputs = [tensor.requires_grad_() for tensor in random_inputs(130, 149, leading=(2,), d_k=2, d_v=3)]
    mask = torch.rand(149) < 0.8
    for given in (None, mask):
        assert torch.autograd.gradcheck(
            lambda *qkv, given=given: attention(*qkv, given, causal=causal, window=5).output, inputs, fast_mode=True
        )


def test_a_learned_bias_takes_the_dense_way():
    inputs, bias = random_inputs(200, 200), torch.zeros(200, 200, dtype=torch.float64, requires_grad=True)
    assert not fits_window(*inputs[:2], bias, 4)
    attention(*inputs, bias, causal=True, window=4).output.sum().backward()
    assert (bias.grad[~window_mask(200, window=4)] == 0).all()


@pytest.mark.parametrize("kind", ["none", "bool of L S"])
def test_vmap_and_grad(kind):
    query, key, value = random_inputs(150, 150, leading=(3, 2))
    mask = mask_of_kind(kind, 150, 150)

    def one(query, key, value):
        return attention(query, key, value, mask, causal=True, window=4).output

    assert_near(torch.func.vmap(one)(query, key, value), one(query, key, value))
    seen = query.clone().requires_grad_()
    (expected,) = torch.autograd.grad(one(seen, key, value).square().sum(), seen)
    assert_near(torch.func.grad(lambda query: one(query, key, value).square().sum())(query), expected)


@pytest.mark.parametrize("window", [3, 16, 100, 256])
def test_work_and_memory_grow_with_the_length_alone(window):
    def measured(n):
        return work_of(lambda: attention(*torch.zeros(3, 1, 2, n, 8), causal=True, window=window))

    short, long = measured(4096), measured(8192)
    assert short.multiplications < 2 * 2 * 8 * 4096 * max(64, 3 * window)
    assert long.multiplications < 2.1 * short.multiplications
    assert long.largest < 2.1 * short.largest


@pytest.mark.parametrize(
    ("length", "window", "blocks"),
    [(300, 40, True), (300, 60, False), (511, 256, False), (512, 256, True), (1024, 256, True), (1024, 704, True),
     (1024, 705, False)],
)  # fmt: skip
def test_where_the_blocks_begin_to_pay(length, window, blocks):
    query, key, value = random_inputs(length, length, leading=(1,), dtype=torch.float32)
    assert fits_window(query, key, None, window) == blocks

    def multiplications(width):
        return work_of(lambda: attention(query, key, value, window=width)).multiplications

    assert (multiplications(window) < multiplications(length - 1)) == blocks


@pytest.mark.parametrize("widths", [(3, 8), (8, 3)], ids=str)
def test_keys_and_values_of_other_widths_need_no_table_either(widths):
    query, key, value = random_inputs(2048, 2048, leading=(1,), d_k=widths[0], d_v=widths[1], dtype=torch.float32)
    equal = work_of(lambda: attention(key, key, key, causal=True, window=64)).largest
    work = work_of(lambda: attention(query, key, value, causal=True, window=64))
    assert work.largest <= max(equal, 4 * 2048 * 8)


def test_a_wide_window_takes_the_dense_way():
    query, key, _ = random_inputs(300, 300)
    assert not fits_window(query, key, None, 200)
    assert not fits_window(*random_inputs(300, 200)[:2], None, 2)  # some queries would stand before the first key
    assert not fits_window(*random_inputs(61, 61)[:2], None, 2)
