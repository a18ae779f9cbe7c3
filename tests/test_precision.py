"""Half precision: at most twice the error of the plain formula, no overflow, nothing that is not finite."""

import math

import pytest
import torch
from support import assert_near, random_inputs

from attention_lib import (
    MultiHeadAttention,
    attention,
    attention_weights,
    dot_product_scores,
    masked_softmax,
    weighted_sum,
)

HALVES = [torch.float16, torch.bfloat16]


@pytest.fixture(params=HALVES, ids=str)
def half(request):
    return request.param


def root_mean_square(tensor):
    return tensor.double().square().mean().sqrt()


def plain(query, key, value):
    return torch.softmax(query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1]), dim=-1) @ value


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("spread", [0.1, 1.0, 4.0])
def test_error_is_at_most_twice_that_of_the_plain_formula(half, need_weights, spread):
    inputs = [spread * tensor for tensor in random_inputs(31, 37, d_k=17, d_v=17)]
    low = [tensor.to(half) for tensor in inputs]
    exact = plain(*(tensor.double() for tensor in low))
    ours = attention(*low, need_weights=need_weights).output
    assert ours.dtype == half
    assert root_mean_square(ours - exact) <= 2 * root_mean_square(plain(*low) - exact)
    assert root_mean_square(ours - exact) > 0  # half precision it is


@pytest.mark.parametrize("need_weights", [False, True])
def test_gradient_error_is_at_most_twice_that_of_the_plain_formula(half, need_weights):
    low = [tensor.to(half).requires_grad_() for tensor in random_inputs(31, 37, d_k=17, d_v=17)]
    exact = [tensor.detach().double().requires_grad_() for tensor in low]
    wanted = torch.autograd.grad(plain(*exact).square().sum(), exact)
    theirs = torch.autograd.grad(plain(*low).double().square().sum(), low)
    ours = torch.autograd.grad(attention(*low, need_weights=need_weights).output.double().square().sum(), low)
    for mine, plain_one, want in zip(ours, theirs, wanted, strict=True):
        assert root_mean_square(mine - want) <= 2 * root_mean_square(plain_one - want)


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_scores_beyond_float16_do_not_overflow(half, need_weights, masked):
    query = torch.full((2, 3, 5, 16), 200.0, dtype=half)  # scores 200 * 200 * 16 / 4 = 160,000 > 65,504
    key, value = query.clone(), torch.randn(2, 3, 5, 7).to(half)
    mask = torch.zeros(5, 5, dtype=half) if masked else None
    output = attention(query, key, value, mask, need_weights=need_weights).output
    assert_near(output, value.double().mean(-2, keepdim=True).expand_as(output), 1e-2)
    assert_near(attention_weights(query, key, mask), torch.full((2, 3, 5, 5), 0.2), 1e-2)


@pytest.mark.parametrize("need_weights", [False, True])
def test_scores_beyond_float16_keep_their_order(need_weights):
    query = torch.full((1, 16), 200.0, dtype=torch.float16)
    key = torch.stack((query[0], query[0] * 0.5))  # 160,000 and 80,000: both beyond 65,504, yet not equal
    value = torch.tensor([[1.0], [5.0]], dtype=torch.float16)
    assert attention(query, key, value, need_weights=need_weights).output.item() == 1.0


def test_steps_stay_finite(half):
    query = torch.full((3, 16), 6e4, dtype=half)
    scores = dot_product_scores(query, query)
    assert scores.dtype == half
    assert scores.isfinite().all()
    weights = masked_softmax(scores)
    assert weights.dtype == half
    assert_near(weights, torch.full((3, 3), 1 / 3), 1e-2)
    value = torch.full((3, 2), 6e4, dtype=half)
    assert weighted_sum(weights, value).isfinite().all()


def test_a_bias_is_added_in_float32(half):
    scores = torch.full((1, 2), 2048.0, dtype=half)  # beside it, half precision loses a 1
    weights = masked_softmax(scores, torch.tensor([[1.0, 0.0]]))
    assert_near(weights, torch.tensor([[1.0, 0.0]]).softmax(-1), 1e-2)


def test_weighted_sum_adds_in_float32(half):
    weights = torch.full((1, 2048), 2.0**-11, dtype=half)  # each addend is lost beside a sum near 1 in half precision
    value = torch.ones(2048, 1, dtype=half)
    assert weighted_sum(weights, value).item() == 1.0


@pytest.mark.parametrize("need_weights", [False, True])
def test_float64_stays_float64(need_weights):
    query, key, value = random_inputs(1, 2, leading=(), d_k=1, d_v=1)
    value[0], value[1] = 1.0, 1.0 + 1e-12  # float32 cannot tell them apart
    assert attention(query, key, value, need_weights=need_weights).output.item() > 1.0


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("need_weights", [False, True])
def test_huge_scores_are_stable(dtype, need_weights):
    query = torch.tensor([[1e4]], dtype=dtype)
    key = torch.tensor([[1e4], [1e4], [-1e4]], dtype=dtype)
    value = torch.tensor([[3.0], [5.0], [100.0]], dtype=dtype)
    assert attention(query, key, value, need_weights=need_weights).output.item() == 4.0


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("causal", [False, True])
def test_a_layer_in_half_precision(half, need_weights, causal):
    layer = MultiHeadAttention(33, 3).to(half)
    x = torch.randn(2, 5, 33).to(half)
    output, weights = layer(x, causal=causal, need_weights=need_weights)
    assert output.dtype == half
    assert weights is None or weights.dtype == half
    wide = MultiHeadAttention(33, 3)
    wide.load_state_dict(layer.state_dict())
    assert_near(output, wide(x.float(), causal=causal).output, 0.02)


@pytest.mark.parametrize("need_weights", [False, True])
def test_autocast(need_weights):
    layer, x = MultiHeadAttention(33, 3), torch.randn(2, 5, 33)
    exact = layer(x, causal=True).output
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output = layer(x, causal=True, need_weights=need_weights).output
    assert_near(output, exact, 0.03)
