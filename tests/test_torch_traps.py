"""Each trap of torch that the book warns of: torch falls into it, this library does not.

What torch does is asserted where it is stable from 2.4 on; where it changed between versions, only from 2.13 on.
"""

import math

import pytest
import torch
from support import assert_near, oracle, random_inputs
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from attention_lib import (
    MultiHeadAttention,
    attention,
    attention_weights,
    causal_mask,
    dot_product_scores,
    masked_softmax,
    masks,
    padding_mask,
    weighted_sum,
    window_mask,
)
from attention_lib.paths import fused

RELEASE = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
RECENT = RELEASE >= (2, 13)
both_paths = pytest.mark.parametrize("need_weights", [False, True])


@both_paths
def test_a_float32_mask_beside_float64_inputs(need_weights):
    # longer than one vector register: on five keys torch happens to be right
    query, key, value = (tensor.requires_grad_() for tensor in random_inputs(31, 37, d_v=11))
    bias = torch.randn(31, 37)
    expected, _ = oracle(query.detach(), key.detach(), value.detach(), bias)
    output = attention(query, key, value, bias, need_weights=need_weights).output
    assert_near(output, expected)
    gradients = torch.autograd.grad(output.sum(), (query, key, value))
    wanted = torch.autograd.grad(attention(query, key, value, bias.double()).output.sum(), (query, key, value))
    for gradient, want in zip(gradients, wanted, strict=True):
        assert_near(gradient, want)
    if RECENT:  # silently wrong; older versions refuse it
        theirs = scaled_dot_product_attention(query, key, value, attn_mask=bias)
        assert (theirs - expected).abs().max() > 1e-3


@both_paths
@pytest.mark.parametrize("mask_dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_a_float_mask_of_any_dtype(dtype, mask_dtype, need_weights):
    query, key, value = (tensor.to(dtype) for tensor in random_inputs())
    bias = torch.randn(5, 7).to(mask_dtype)
    output = attention(query, key, value, bias, need_weights=need_weights).output
    assert output.dtype == dtype
    exact, _ = oracle(query, key, value, bias.to(dtype) if dtype == torch.float32 else bias)
    assert_near(output, exact, {torch.float16: 2e-3, torch.bfloat16: 2e-2}.get(dtype))


@both_paths
def test_a_row_without_a_key_in_a_layer(need_weights):
    module = nn.MultiheadAttention(6, 3, batch_first=True)
    layer, x = MultiHeadAttention.from_torch(module), torch.randn(2, 5, 6, requires_grad=True)
    mask = padding_mask([5, 0])
    for training in (True, False):
        output, weights = layer.train(training)(x, mask=mask, need_weights=need_weights)
        assert_near(output[1], layer.w_o.bias.expand(5, 6))  # attention gives 0, the projection adds its bias
        assert weights is None or (weights[1] == 0).all()
        (gradient,) = torch.autograd.grad(output.square().sum(), x)
        assert gradient.isfinite().all()
        if RECENT and need_weights:
            assert module.train(training)(x, x, x, **masks.to_torch_mha(mask))[0].isnan().any()


def test_gradients_stay_finite_where_plain_softmax_makes_them_nan():
    query, key, value = (tensor.requires_grad_() for tensor in random_inputs(3, 2, leading=()))
    mask = causal_mask(3, 2)  # query 0 sees nothing

    def plain():
        scores = (query @ key.T / math.sqrt(11)).masked_fill(~mask, -math.inf)
        return torch.softmax(scores, dim=-1) @ value

    assert torch.autograd.grad(plain()[1:].sum(), value)[0].isnan().any()  # valid rows only, and NaN even so
    for need_weights in (False, True):
        output = attention(query, key, value, mask, need_weights=need_weights).output
        for gradient in torch.autograd.grad(output[1:].sum(), (query, key, value)):
            assert gradient.isfinite().all()


@both_paths
def test_an_empty_row_is_no_average_over_padding(need_weights):
    query, key, value = random_inputs(1, 3, leading=(), d_v=1)
    nothing = torch.zeros(1, 3, dtype=torch.bool)
    filled = torch.softmax((query @ key.T).masked_fill(~nothing, -1e9), dim=-1)
    assert_near(filled, torch.full((1, 3), 1 / 3).double(), 1e-6)  # the "safe" large negative number
    assert attention(query, key, value, nothing, need_weights=need_weights).output.item() == 0.0


@both_paths
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_blocking_in_half_precision(dtype, need_weights):
    query, key, value = (tensor.to(dtype) for tensor in random_inputs(5, 5))
    if dtype == torch.float16:
        with pytest.raises(RuntimeError, match="overflow"):
            torch.zeros(2, dtype=dtype).masked_fill(torch.tensor([True, False]), -1e9)
    output = attention(query, key, value, causal=True, need_weights=need_weights).output
    assert torch.equal(output[..., 0, :], value[..., 0, :])
    assert output.isfinite().all()


@both_paths
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_finfo_min_as_a_mask(dtype, need_weights):
    lowest = torch.finfo(dtype).min
    assert torch.tensor(lowest, dtype=dtype) + torch.tensor(lowest, dtype=dtype) == -math.inf
    query, key, value = (tensor.to(dtype) for tensor in random_inputs(5, 5))
    bias = torch.zeros(5, 5, dtype=dtype).masked_fill(~causal_mask(5), lowest)
    output = attention(query, key, value, bias, need_weights=need_weights).output
    assert_near(output, attention(query, key, value, causal=True).output, 1e-2)
    assert torch.equal(masks.from_additive(bias), causal_mask(5))
    twice = attention(query, key, value, bias + bias, causal=True, need_weights=need_weights).output
    assert twice.isfinite().all()


@both_paths
def test_a_blocked_score_never_wins(need_weights):
    query, key, value = torch.tensor([[3e2]]), torch.tensor([[1e2], [0.0]]), torch.tensor([[7.0], [5.0]])
    finite = (query @ key.T) + torch.tensor([[-1e4, 0.0]])
    assert torch.softmax(finite, dim=-1)[0, 0] == 1.0  # 30,000 - 10,000 still beats 0
    output = attention(query, key, value, torch.tensor([[False, True]]), need_weights=need_weights).output
    assert output.item() == 5.0


def test_true_means_may_attend_in_ours_and_sdpa_but_blocked_in_mha():
    query, key, value = random_inputs()
    mask = torch.rand(5, 7) < 0.5
    mask[:, 0] = True
    assert_near(
        attention(query, key, value, mask).output, scaled_dot_product_attention(query, key, value, attn_mask=mask)
    )
    module, x = nn.MultiheadAttention(6, 3, batch_first=True).double(), torch.randn(2, 5, 6, dtype=torch.float64)
    ours = MultiHeadAttention.from_torch(module)(x, causal=True).output
    assert_near(ours, module(x, x, x, attn_mask=~causal_mask(5))[0])
    assert not torch.allclose(ours[:, 1:-1], module(x, x, x, attn_mask=~causal_mask(5).T)[0][:, 1:-1])


def test_a_mask_of_zeros_and_ones_is_added_so_the_library_wants_it_converted():
    query = key = torch.zeros(4, 1)
    ones = causal_mask(4).float()
    added = scaled_dot_product_attention(query, key, torch.eye(4), attn_mask=ones)
    future = added[~causal_mask(4)]
    assert future.mean().item() > 0.1  # torch lets the future in
    assert_near(attention(query, key, torch.eye(4), ones).output, added)  # a float mask is a bias, here too
    converted = masks.from_attention_mask_01(ones[None])[0, 0]
    assert (attention(query, key, torch.eye(4), converted).output[~causal_mask(4)] == 0).all()


@both_paths
def test_is_causal_is_top_left_in_torch_and_bottom_right_here(need_weights):
    query, key, value = random_inputs(1, 5)
    theirs = scaled_dot_product_attention(query, key, value, is_causal=True)
    assert_near(theirs, value[..., :1, :])  # one query over a cache of five sees only the first
    ours = attention(query, key, value, causal=True, need_weights=need_weights).output
    assert_near(ours, attention(query, key, value).output)
    query, key, value = random_inputs(5, 3)  # and with more queries than keys the first two see none
    assert (attention(query, key, value, causal=True, need_weights=need_weights).output[..., :2, :] == 0).all()


def test_dropout_is_off_in_eval():
    query, key, value = random_inputs()
    once, again = (scaled_dot_product_attention(query, key, value, dropout_p=0.5) for _ in range(2))
    assert not torch.equal(once, again)  # torch drops whenever it is given a number
    layer = MultiHeadAttention(15, 3, dropout_p=0.5).eval()
    x = torch.randn(2, 5, 15)
    for need_weights in (False, True):
        outputs = [layer(x, need_weights=need_weights).output for _ in range(2)]
        assert torch.equal(*outputs)


def test_weights_are_those_before_dropout():
    layer, x = MultiHeadAttention(15, 3, dropout_p=0.5), torch.randn(2, 5, 15)
    weights = layer(x, need_weights=True).weights
    assert_near(weights.sum(-1), torch.ones(2, 3, 5))
    module = layer.to_torch()
    if RECENT:  # torch returns what is left after dropout
        assert not torch.allclose(module(x, x, x)[1].sum(-1), torch.ones(2, 5))


def test_weights_are_per_head():
    module, x = nn.MultiheadAttention(15, 3, batch_first=True), torch.randn(2, 5, 15)
    assert module(x, x, x)[1].shape == (2, 5, 5)
    assert MultiHeadAttention.from_torch(module)(x, need_weights=True).weights.shape == (2, 3, 5, 5)


def test_a_mask_a_batch_entry_is_repeated_head_by_head():
    layer = MultiHeadAttention(6, 3).double()
    module, x = layer.to_torch(), torch.randn(2, 5, 6, dtype=torch.float64)
    mask = torch.stack((causal_mask(5), causal_mask(5).T))[:, None]
    ours = layer(x, mask=mask).output
    assert_near(ours, module(x, x, x, **masks.to_torch_mha(mask, 3))[0])
    wrong = module(x, x, x, attn_mask=(~mask[:, 0]).repeat(3, 1, 1))[0]
    assert not torch.allclose(ours, wrong)


class WatchedProducts(torch.overrides.TorchFunctionMode):
    """Collects the dtypes that go into matrix products and fused attention."""

    def __init__(self):
        super().__init__()
        self.dtypes = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if "matmul" in function.__name__ or function.__name__ == "scaled_dot_product_attention":
            self.dtypes.extend(arg.dtype for arg in args if isinstance(arg, torch.Tensor))
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize(
    "call",
    [
        lambda query, key, value: attention(query, key, value).output,
        lambda query, key, value: attention(query, key, value, causal=True, need_weights=True).output,
        lambda query, key, value: attention(query, key, value, window=2).output,
        lambda query, key, value: attention_weights(query, key),
        lambda query, key, value: dot_product_scores(query, key),
        lambda query, key, value: weighted_sum(key.mT, value),
    ],
    ids=["fused", "explicit", "window", "weights", "scores", "weighted_sum"],
)
def test_half_precision_is_computed_in_float32_on_the_cpu(dtype, call):
    """50 times faster on a CPU without native half precision, and more exact."""
    inputs = [tensor.to(dtype) for tensor in random_inputs()]
    with WatchedProducts() as watched:
        output = call(*inputs)
    assert output.dtype == dtype
    assert len(watched.dtypes) >= 2
    assert set(watched.dtypes) == {torch.float32}


def test_a_window_has_w_keys_not_one_more():
    for window in (1, 2, 3):
        assert window_mask(7, window=window).sum(-1).max() == window
        assert (attention_weights(torch.zeros(7, 1), torch.zeros(7, 1), causal=True, window=window) > 0).sum(-1)[
            -1
        ] == window


def test_a_fresh_layer_starts_with_scores_of_unit_spread():
    """Linear's own initialisation would make them three times smaller, rand's saturated."""
    x = torch.randn(13, 61, 60)
    layer = MultiHeadAttention(60, 5)
    spread = _scores_of(layer, x).std().item()
    assert spread == pytest.approx(1.0, rel=0.15)
    for projection in (layer.w_q, layer.w_k):
        projection.reset_parameters()  # nn.Linear's default
    assert _scores_of(layer, x).std().item() == pytest.approx(1 / 3, rel=0.15)
    for projection in (layer.w_q, layer.w_k):
        nn.init.uniform_(projection.weight)  # torch.rand
    assert layer(x, need_weights=True).weights.amax(-1).mean() > 0.9


def _scores_of(layer, x):
    query, key = (projection(x).unflatten(-1, (5, 12)).transpose(1, 2) for projection in (layer.w_q, layer.w_k))
    return query @ key.transpose(-2, -1) / math.sqrt(12)


def test_a_padding_mask_is_not_expanded_before_the_kernel(monkeypatch):
    """(B, 1, 1, n) reaches the kernel as it is: expanded to (B, H, n, n) it costs twice the time."""
    seen = {}

    def watched(*args, attn_mask=None, **options):
        seen["mask"] = attn_mask
        return scaled_dot_product_attention(*args, attn_mask=attn_mask, **options)

    monkeypatch.setattr(fused, "scaled_dot_product_attention", watched)
    attention(*random_inputs(), padding_mask([7, 3]))
    assert seen["mask"].shape == (2, 1, 1, 7)


def test_softmax_of_a_thousand():
    naive = torch.tensor([[1000.0, 1000.0]]).exp()
    assert (naive / naive.sum()).isnan().all()
    assert masked_softmax(torch.tensor([[1000.0, 1000.0]])).tolist() == [[0.5, 0.5]]
