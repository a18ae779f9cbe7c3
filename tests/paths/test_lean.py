"""Large tables of weights: the same numbers as the four plain steps, with one table in memory."""

import pytest
import torch
from support import assert_near, mask_of_kind, random_inputs

from attention_lib import attention, attention_weights, dot_product_scores, masked_softmax
from attention_lib.experiments.work_counts import work_of
from attention_lib.paths.lean import fits_lean, lean_weights

KINDS = ["none", "bool of L S", "bool of B 1 1 S", "bool of B H L S", "bias of L S", "bias with -inf of B H L S"]


def plain_weights(query, key, mask, scale=None):
    return masked_softmax(dot_product_scores(query, key, scale=scale), mask)


@pytest.mark.parametrize("lengths", [(257, 263), (300, 300), (263, 257)], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_equals_the_plain_steps_with_gradients(kind, lengths):
    query, key, _ = (tensor.requires_grad_() for tensor in random_inputs(*lengths, d_k=5))
    mask = mask_of_kind(kind, *lengths)
    assert fits_lean(query, key)
    ours, expected = lean_weights(query, key, mask, scale=0.3), plain_weights(query, key, mask, 0.3)
    assert_near(ours, expected)
    direction = torch.randn_like(ours)
    for one, other in zip(*(torch.autograd.grad(o, (query, key), direction) for o in (ours, expected)), strict=True):
        assert_near(one, other)


@pytest.mark.parametrize("axes", ["L S", "B 1 L S", "B H L S"])
def test_a_learned_bias_gets_its_gradient(axes):
    query, key, _ = random_inputs(256, 256)
    bias = mask_of_kind(f"bias of {axes}", 256, 256).requires_grad_()
    direction = torch.randn(2, 3, 256, 256, dtype=torch.float64)
    gradients = [
        torch.autograd.grad(weights, bias, direction)[0]
        for weights in (attention_weights(query, key, bias), plain_weights(query, key, bias))
    ]
    assert_near(*gradients)


def test_gradcheck_once_and_twice():
    query, key, value = (t.requires_grad_() for t in random_inputs(256, 257, leading=(), d_k=2, d_v=1))
    mask = torch.rand(256, 257) < 0.7

    def output_of(query, key, value):
        return attention(query, key, value, mask, need_weights=True).output

    assert torch.autograd.gradcheck(output_of, (query, key, value), fast_mode=True)
    assert torch.autograd.gradgradcheck(output_of, (query, key, value), fast_mode=True)


@pytest.mark.parametrize("kind", ["none", "bool of L S"])
def test_vmap_and_grad(kind):
    query, key, value = random_inputs(256, 256, leading=(3, 2))
    mask = mask_of_kind(kind, 256, 256)

    def one(query, key, value):
        return attention(query, key, value, mask, need_weights=True).output

    assert_near(torch.func.vmap(one)(query, key, value), one(query, key, value))
    assert_near(
        torch.func.vmap(one, in_dims=(0, None, 0))(query, key[0], value), one(query, key[:1].expand_as(key), value)
    )
    seen = query.clone().requires_grad_()
    (expected,) = torch.autograd.grad(one(seen, key, value).square().sum(), seen)
    gradient = torch.func.vmap(torch.func.grad(lambda *qkv: one(*qkv).square().sum()))(query, key, value)
    assert_near(gradient, expected)


def test_vmap_over_the_mask():
    query, key, _ = random_inputs(256, 256, leading=(3, 2))
    for shape in ((5, 256, 256), (5, 256), (5, 3, 1, 256, 256)):
        masks = torch.rand(shape) < 0.6
        mapped = torch.func.vmap(lambda mask: attention_weights(query, key, mask))(masks)
        assert_near(mapped, torch.stack([attention_weights(query, key, mask) for mask in masks]))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_precision_is_computed_in_float32(dtype):
    query, key, value = random_inputs(256, 256, dtype=dtype)
    output, weights = attention(query, key, value, need_weights=True)
    assert output.dtype == weights.dtype == dtype
    assert_near(weights, plain_weights(query.double(), key.double(), None), 1e-2)


def test_non_contiguous_inputs():
    query, key, _ = (t.transpose(1, 2).contiguous().transpose(1, 2) for t in random_inputs(256, 256))
    assert_near(attention_weights(query, key), plain_weights(query, key, None))


def test_empty_rows_are_zero():
    query, key, value = (t.requires_grad_() for t in random_inputs(300, 256))
    output, weights = attention(query, key, value, causal=True, need_weights=True)
    assert (weights[..., :44, :] == 0).all()
    assert (output[..., :44, :] == 0).all()
    assert all(g.isfinite().all() for g in torch.autograd.grad(output.square().sum(), (query, key, value)))


def test_one_table_is_made():
    query = torch.zeros(1, 2, 512, 8)
    made = []
    real = torch.Tensor.new_empty

    def watched(self, *size, **options):
        made.append(size)
        return real(self, *size, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.Tensor, "new_empty", watched)
        attention_weights(query, query)
    assert made == [(2, 512, 512)]
    assert work_of(lambda: attention_weights(query, query)).largest == 2 * 512 * 512 * 4
