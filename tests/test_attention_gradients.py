"""Gradients: against finite differences in float64, across paths, and finite where no key is allowed."""

import pytest
import torch
from support import MASK_KINDS, assert_near, mask_of_kind, random_inputs

from attention_lib import attention, attention_weights

SMALL = {"batch": 2, "heads": 2, "query_length": 3, "key_length": 5}


def small_inputs(dtype=torch.float64):
    inputs = random_inputs(3, 5, leading=(2, 2), d_k=2, d_v=3, dtype=dtype)
    return [tensor.requires_grad_() for tensor in inputs]


@pytest.mark.parametrize("options", [{}, {"causal": True}, {"causal": True, "window": 2}, {"scale": 0.3}], ids=str)
@pytest.mark.parametrize("kind", MASK_KINDS)
@pytest.mark.parametrize("need_weights", [False, True])
def test_gradcheck(kind, need_weights, options):
    mask = mask_of_kind(kind, **SMALL)

    def output_of(query, key, value):
        return attention(query, key, value, mask, **options, need_weights=need_weights).output

    assert torch.autograd.gradcheck(output_of, small_inputs(), fast_mode=True)


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("lengths", [(3, 3), (3, 5), (5, 3)], ids=str)
def test_gradcheck_of_every_entry(need_weights, lengths):
    inputs = [tensor.requires_grad_() for tensor in random_inputs(*lengths, leading=(1, 2), d_k=2, d_v=3)]
    assert torch.autograd.gradcheck(lambda *qkv: attention(*qkv, causal=True, need_weights=need_weights).output, inputs)


@pytest.mark.parametrize("axes", ["L S", "B 1 L S", "B H L S"])
@pytest.mark.parametrize("name", ["bias", "bias with -inf"])
@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("causal", [False, True])
def test_gradcheck_of_a_learned_bias(name, axes, need_weights, causal):
    bias = mask_of_kind(f"{name} of {axes}", **SMALL)
    learned, fixed = torch.randn_like(bias).requires_grad_(), bias.isinf()

    def output_of(query, key, value, learned):
        mask = learned.masked_fill(fixed, -torch.inf)
        return attention(query, key, value, mask, causal=causal, need_weights=need_weights).output

    assert torch.autograd.gradcheck(output_of, (*small_inputs(), learned), fast_mode=True)


def test_gradcheck_of_the_weights_and_of_chosen_rows():
    query, key, _ = small_inputs()
    mask = mask_of_kind("bool of B 1 L S", **SMALL)
    assert torch.autograd.gradcheck(lambda q, k: attention_weights(q, k, mask), (query, key))
    assert torch.autograd.gradcheck(lambda q, k: attention_weights(q, k, mask, rows=[2, 0]), (query, key))
    assert torch.autograd.gradcheck(lambda *qkv: attention(*qkv, mask, need_weights=True).weights, small_inputs()[:3])


@pytest.mark.parametrize("need_weights", [False, True])
def test_gradcheck_of_grouped_heads(need_weights):
    inputs = random_inputs(3, 5, leading=(1, 6), kv_leading=(1, 2), d_k=2, d_v=3)
    inputs = [tensor.requires_grad_() for tensor in inputs]
    assert torch.autograd.gradcheck(lambda *qkv: attention(*qkv, need_weights=need_weights).output, inputs)


@pytest.mark.parametrize("leading", [(), (3,), (2, 1, 3)], ids=str)
def test_gradcheck_of_other_ranks(leading):
    inputs = [tensor.requires_grad_() for tensor in random_inputs(3, 5, leading=leading, d_k=2, d_v=3)]
    assert torch.autograd.gradcheck(lambda *qkv: attention(*qkv, causal=True).output, inputs, fast_mode=True)


def test_gradcheck_twice():
    inputs = [tensor.requires_grad_() for tensor in random_inputs(2, 3, leading=(), d_k=2, d_v=1)]
    assert torch.autograd.gradgradcheck(lambda *qkv: attention(*qkv, causal=True, need_weights=True).output, inputs)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("kind", ["bool of L S", "bool of B 1 1 S", "bias with -inf of B H L S"])
def test_rows_without_a_key_are_zero_forward_and_backward(dtype, need_weights, kind):
    query, key, value = small_inputs(dtype)
    mask = mask_of_kind(kind, **SMALL)
    empty = ~(mask.any(-1) if mask.dtype == torch.bool else mask.isfinite().any(-1))
    empty = empty.expand(2, 2, 3)
    assert empty.any()
    output, weights = attention(query, key, value, mask, need_weights=need_weights)
    assert (output[empty] == 0).all()
    if need_weights:
        assert (weights[empty] == 0).all()
        assert (weights[~empty].sum(-1).float() - 1).abs().max() < 0.02
    output.float().pow(2).sum().backward()
    for tensor in (query, key, value):
        assert tensor.grad.isfinite().all()
        assert tensor.grad.any()
    assert (query.grad[empty] == 0).all()


def test_gradients_of_both_paths_agree_in_float32():
    for kind in MASK_KINDS:
        mask = mask_of_kind(kind, **SMALL)
        inputs = small_inputs(torch.float32)
        gradients = [
            torch.autograd.grad(attention(*inputs, mask, need_weights=shown).output.square().sum(), inputs)
            for shown in (False, True)
        ]
        for fused, explicit in zip(*gradients, strict=True):
            assert_near(fused, explicit)


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("kind", ["none", "bool of L S", "bias of L S"])
def test_vmap_and_grad(need_weights, kind):
    mask = mask_of_kind(kind)
    query, key, value = random_inputs(leading=(3, 2))

    def one(query, key, value):
        return attention(query, key, value, mask, causal=True, need_weights=need_weights).output

    assert_near(torch.func.vmap(one)(query, key, value), one(query, key, value))
    assert_near(torch.func.vmap(one, in_dims=(1, 1, 1), out_dims=1)(query, key, value), one(query, key, value))
    gradient = torch.func.grad(lambda query: one(query, key, value).square().sum())(query)
    seen = query.clone().requires_grad_()
    one(seen, key, value).square().sum().backward()
    assert_near(gradient, seen.grad)
    per_sample = torch.func.vmap(torch.func.grad(lambda *qkv: one(*qkv).square().sum()))(query, key, value)
    assert_near(per_sample, seen.grad)
