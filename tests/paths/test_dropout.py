"""Dropout piece by piece: exact for the coins that were thrown, in both directions, and fair."""

import pytest
import torch
from support import assert_near, mask_of_kind, random_inputs

from attention_lib import MultiHeadAttention, attention, attention_weights
from attention_lib.experiments.work_counts import work_of
from attention_lib.paths import dropout
from attention_lib.paths.dropout import Seen, fits_pieces, piecewise_dropout

KINDS = ["none", "bool of L S", "bool of B 1 1 S", "bool of B H L S", "bias of L S", "bias with -inf of B H L S"]


def dropped(query, key, value, mask=None, *, p=0.3, causal=False, window=None, scale=None, seed=5):
    torch.manual_seed(seed)
    return piecewise_dropout(query, key, value, Seen(mask, causal, window), scale=scale, dropout_p=p)


def coins_of(query, key, **options):
    """What was thrown for ``seed=5``, ``(..., L, S)``: the output for values that are the unit vectors shows it."""
    S = key.shape[-2]
    eye = torch.eye(S, dtype=query.dtype).expand(*key.shape[:-2], S, S)
    shown = dropped(query.detach(), key.detach(), eye, **options)
    plain = {name: option for name, option in options.items() if name != "p"}
    weights = attention_weights(query.detach(), key.detach(), **plain)
    return shown, weights


@pytest.mark.parametrize("options", [{}, {"causal": True}, {"causal": True, "window": 40}, {"window": 9}], ids=str)
@pytest.mark.parametrize("lengths", [(300, 300), (257, 331), (331, 257)], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_it_is_the_formula_for_the_coins_thrown(kind, lengths, options):
    inputs = [tensor.requires_grad_() for tensor in random_inputs(*lengths, d_k=5, d_v=7)]
    mask = mask_of_kind(kind, *lengths)
    shown, weights = coins_of(*inputs[:2], mask=mask, **options)
    kept = shown != 0
    assert_near(shown, torch.where(kept, weights / 0.7, 0.0), 1e-5)  # 0.3 to the nearest 1/65536
    ours = dropped(*inputs, mask, **options)
    explicit = attention_weights(*inputs[:2], mask, **options)
    expected = (kept * explicit / (1 - round(0.3 * 65536) / 65536)) @ inputs[2]
    assert_near(ours, expected)
    direction = torch.randn_like(ours)
    for one, other in zip(*(torch.autograd.grad(o, inputs, direction) for o in (ours, expected)), strict=True):
        assert_near(one, other, 1e-11)


@pytest.mark.parametrize("p", [0.001, 0.1, 0.5, 0.9])
def test_the_share_kept_and_the_mean_are_right(p):
    same = torch.zeros(1, 512, 4, dtype=torch.float64)
    value = torch.eye(512, dtype=torch.float64)[None]
    output = dropped(same, same, value, p=p)
    count = 512 * 512
    kept = (output != 0).double().mean().item()
    assert abs(kept - (1 - p)) < 5 * (p * (1 - p) / count) ** 0.5 + 1 / 65536
    assert output.sum(-1).mean().item() == pytest.approx(1.0, abs=5 * (p / (1 - p) / count) ** 0.5 + 1e-12)


def test_coins_are_independent_between_rows_heads_and_pieces():
    same = torch.zeros(2, 600, 4)
    kept = dropped(same, same, torch.eye(600).expand(2, 600, 600), p=0.5) != 0
    signs = kept.float() * 2 - 1
    for one, other in ((signs[0], signs[1]), (signs[:, 1:], signs[:, :-1]), (signs[..., 1:], signs[..., :-1])):
        assert abs((one * other).mean().item()) < 5 / one.numel() ** 0.5
    assert not torch.equal(kept[0, :100], kept[0, 437:537])


def test_deterministic_given_the_seed_and_moved_on_by_each_call():
    inputs = random_inputs(300, 300)
    torch.manual_seed(2)
    first, second = (attention(*inputs, dropout_p=0.4).output for _ in range(2))
    torch.manual_seed(2)
    assert torch.equal(attention(*inputs, dropout_p=0.4).output, first)
    assert not torch.equal(first, second)
    assert_near(dropped(*inputs, p=0.4, seed=2), first)


def test_backward_after_other_draws_throws_the_same_coins():
    inputs = [tensor.requires_grad_() for tensor in random_inputs(300, 300)]
    output = dropped(*inputs)
    straight = torch.autograd.grad(output.sum(), inputs, retain_graph=True)
    torch.randn(100)
    for one, other in zip(torch.autograd.grad(output.sum(), inputs), straight, strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("kind", ["none", "bool of B 1 1 S"])
@pytest.mark.parametrize("options", [{}, {"causal": True, "window": 11}], ids=str)
def test_gradcheck_under_a_fixed_seed(kind, options):
    inputs = [tensor.requires_grad_() for tensor in random_inputs(256, 257, leading=(2, 2), d_k=2, d_v=3)]
    mask = mask_of_kind(kind, 256, 257, batch=2, heads=2)
    assert fits_pieces(*inputs, mask)
    assert torch.autograd.gradcheck(lambda *qkv: dropped(*qkv, mask, **options), inputs, fast_mode=True)


@pytest.mark.parametrize("cells", [2**14, 2**16])
def test_pieces_of_any_size_agree(monkeypatch, cells):
    """The coins depend on the pieces, the function does not."""
    inputs = [tensor.requires_grad_() for tensor in random_inputs(300, 300)]
    monkeypatch.setattr(dropout, "CELLS_ON_CPU", cells)
    shown, weights = coins_of(*inputs[:2], causal=True)
    expected = torch.where(shown != 0, weights, 0.0) / (1 - round(0.3 * 65536) / 65536) @ inputs[2]
    assert_near(dropped(*inputs, causal=True), expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_dtypes_and_layouts(dtype):
    inputs = [t.transpose(1, 2).contiguous().transpose(1, 2) for t in random_inputs(300, 300, d_k=16, d_v=16)]
    exact = dropped(*(tensor.to(dtype).double() for tensor in inputs), causal=True)
    low = [tensor.to(dtype).requires_grad_() for tensor in inputs]
    output = dropped(*low, causal=True)
    assert output.dtype == dtype
    assert_near(output, exact, {torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 1e-2}[dtype])
    for gradient, tensor in zip(torch.autograd.grad(output.float().sum(), low), low, strict=True):
        assert gradient.dtype == dtype
        assert gradient.shape == tensor.shape


def test_empty_rows_are_zero_forward_and_backward():
    inputs = [tensor.requires_grad_() for tensor in random_inputs(400, 300)]
    output = dropped(*inputs, causal=True)  # the first hundred queries see nothing
    assert (output[..., :100, :] == 0).all()
    gradients = torch.autograd.grad(output.square().sum(), inputs)
    assert all(gradient.isfinite().all() for gradient in gradients)
    assert (gradients[0][..., :100, :] == 0).all()


def test_no_table_of_all_weights_is_made():
    query = torch.zeros(1, 4, 2048, 8)
    work = work_of(lambda: attention(query, query, query, dropout_p=0.1))
    assert work.largest <= dropout.CELLS_ON_CPU * 4 < 2048 * 2048


def test_vmap_throws_coins_as_its_randomness_says():
    query, key, _ = random_inputs(300, 300, leading=(1, 2))
    query, key = (tensor.expand(4, 2, *tensor.shape[-2:]) for tensor in (query[0], key[0]))
    eye = torch.eye(300, dtype=query.dtype).expand(4, 2, 300, 300)

    def one(query, key, value):
        return attention(query, key, value, dropout_p=0.4).output

    weights = attention_weights(query, key)
    for randomness in ("different", "same"):
        shown = torch.func.vmap(one, randomness=randomness)(query, key, eye)
        kept = shown != 0
        assert_near(shown, torch.where(kept, weights / 0.6, 0.0))
        assert abs(kept.double().mean().item() - 0.6) < 0.01
        assert all(torch.equal(kept[0], each) == (randomness == "same") for each in kept[1:])
    gradients = torch.func.vmap(torch.func.grad(lambda *qkv: one(*qkv).square().sum()), randomness="same")
    assert gradients(query, key, eye).abs().sum() > 0


@pytest.mark.bad_input
@pytest.mark.parametrize("length", [20, 300])
def test_vmap_without_randomness_names_the_argument(length):
    inputs = random_inputs(length, length)
    with pytest.raises(RuntimeError, match="'same' or 'different' randomness"):
        torch.func.vmap(lambda *qkv: attention(*qkv, dropout_p=0.4).output)(*inputs)


def test_only_long_plain_calls_come_here():
    inputs = random_inputs(300, 300)
    assert fits_pieces(*inputs, None)
    assert not fits_pieces(*random_inputs(200, 300), None)  # whose coins stay what they were
    assert not fits_pieces(*inputs, torch.zeros(300, 300, requires_grad=True))
    assert not fits_pieces(*random_inputs(300, 300, leading=(2, 3), kv_leading=(1, 3)), None)
    shown = attention(*inputs, dropout_p=0.5, need_weights=True)
    assert_near(shown.weights, attention_weights(*inputs[:2]))


def test_a_layer_trains_with_it_and_evaluates_without():
    layer, x = MultiHeadAttention(6, 3, num_kv_heads=1, dropout_p=0.3), torch.randn(2, 300, 6)
    assert not torch.equal(layer(x).output, layer(x).output)
    layer(x, causal=True).output.sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in layer.parameters())
    assert torch.equal(layer.eval()(x).output, layer(x).output)


def test_no_gradient_of_a_gradient():
    inputs = [tensor.requires_grad_() for tensor in random_inputs(300, 300, leading=())]
    (gradient,) = torch.autograd.grad(dropped(*inputs).square().sum(), inputs[:1], create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()
