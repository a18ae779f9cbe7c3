"""What must hold for any input: hypothesis draws the sizes and the seeds."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support import assert_near, mask_of_kind, random_inputs

from attention_lib import attention, attention_weights, causal_mask, padding_mask, window_mask

sizes = st.integers(1, 7)
seeds = st.integers(0, 2**16)
flags = st.booleans()


def draw_inputs(seed, *lengths, **options):
    torch.manual_seed(seed)
    return random_inputs(*lengths, **options)


@given(
    seeds, sizes, sizes, flags, st.none() | sizes, st.sampled_from(["none", "bool of L S", "bias with -inf of B H L S"])
)
def test_rows_sum_to_one_or_to_zero(seed, L, S, causal, window, kind):
    query, key, value = draw_inputs(seed, L, S)
    mask = mask_of_kind(kind, L, S)
    weights = attention(query, key, value, mask, causal=causal, window=window, need_weights=True).weights
    assert (weights >= 0).all()
    sums = weights.sum(-1)
    assert torch.minimum(sums.abs(), (sums - 1).abs()).max() < 1e-12
    assert (weights[(sums < 0.5)] == 0).all()


@given(seeds, sizes, sizes, flags)
def test_output_lies_between_the_values(seed, L, S, need_weights):
    query, key, value = draw_inputs(seed, L, S)
    output = attention(query, key, value, need_weights=need_weights).output
    assert (output <= value.amax(-2, keepdim=True) + 1e-12).all()
    assert (output >= value.amin(-2, keepdim=True) - 1e-12).all()


@given(seeds, sizes, sizes, flags)
def test_permuting_keys_with_values_and_mask_changes_nothing(seed, L, S, need_weights):
    query, key, value = draw_inputs(seed, L, S)
    mask, order = mask_of_kind("bool of B H L S", L, S), torch.randperm(S)
    output, weights = attention(query, key, value, mask, need_weights=need_weights)
    moved = attention(query, key[..., order, :], value[..., order, :], mask[..., order], need_weights=need_weights)
    assert_near(moved.output, output)
    if need_weights:
        assert_near(moved.weights, weights[..., order])


@given(seeds, sizes, sizes, flags)
def test_permuting_queries_permutes_outputs(seed, L, S, need_weights):
    query, key, value = draw_inputs(seed, L, S)
    order = torch.randperm(L)
    output = attention(query, key, value, need_weights=need_weights).output
    assert_near(attention(query[..., order, :], key, value, need_weights=need_weights).output, output[..., order, :])


@given(seeds, sizes, sizes, flags, flags)
def test_the_past_ignores_the_future(seed, L, extra, need_weights, windowed):
    S = L + extra - 1
    query, key, value = draw_inputs(seed, L, S)
    options = {"causal": True, "window": 2 if windowed else None, "need_weights": need_weights}
    before = attention(query, key, value, **options).output
    row = seed % L
    later = torch.arange(S) > S - L + row
    key, value = (torch.where(later[:, None], 100 * torch.randn_like(tensor), tensor) for tensor in (key, value))
    after = attention(query, key, value, **options).output
    assert torch.equal(after[..., : row + 1, :], before[..., : row + 1, :])
    if later.any():
        assert not torch.equal(after, before)


@given(seeds, sizes, flags, st.integers(0, 3))
def test_a_window_of_the_whole_length_is_no_window(seed, L, need_weights, more):
    query, key, value = draw_inputs(seed, L, L)
    full = attention(query, key, value, causal=True, need_weights=need_weights).output
    wide = attention(query, key, value, causal=True, window=L + more, need_weights=need_weights).output
    assert_near(wide, full)
    around = attention(query, key, value, window=2 * L + more, need_weights=need_weights).output
    assert_near(around, attention(query, key, value, need_weights=need_weights).output)


@given(sizes, sizes, sizes, flags)
def test_a_window_counts_exactly_its_keys(L, extra, window, causal):
    S = L + 20 + extra  # far from both ends when the window is around
    seen = window_mask(L, S, window=window, causal=causal)
    away_from_the_end = seen[: L if causal else max(0, L - 4)]
    assert (away_from_the_end.sum(-1) == window).all()
    assert seen.diagonal(S - L).all()  # itself included
    weights = attention_weights(torch.zeros(L, 1), torch.zeros(S, 1), causal=causal, window=window)
    assert torch.equal(weights > 0, seen)


@given(seeds, sizes, sizes, st.floats(-50, 50))
def test_adding_a_number_to_a_row_of_scores_changes_nothing(seed, L, S, shift):
    query, key, value = draw_inputs(seed, L, S)
    shifts = shift * torch.rand(2, 3, L, 1, dtype=torch.float64)
    expected = attention(query, key, value, need_weights=True)
    assert_near(attention(query, key, value, shifts).output, expected.output)
    assert_near(attention(query, key, value, shifts, need_weights=True).weights, expected.weights)


@given(seeds, st.floats(-3, 3), flags)
def test_scale_multiplies_the_query(seed, scale, need_weights):
    query, key, value = draw_inputs(seed, 5, 7)
    ours = attention(query, key, value, scale=scale, need_weights=need_weights).output
    assert_near(ours, attention(query * scale, key, value, scale=1.0).output)
    default = attention(query, key, value, need_weights=need_weights).output
    assert_near(default, attention(query, key, value, scale=11**-0.5).output)


@given(seeds, flags)
def test_values_enter_linearly(seed, need_weights):
    query, key, value = draw_inputs(seed, 5, 7)
    other = torch.randn_like(value)
    outputs = [attention(query, key, v, need_weights=need_weights).output for v in (value, other, 3 * value - other)]
    assert_near(outputs[2], 3 * outputs[0] - outputs[1])


@given(seeds, st.lists(st.integers(1, 7), min_size=1, max_size=4), flags, flags)
def test_padded_equals_alone(seed, lengths, causal, need_weights):
    """Garbage 100 times larger than the data in the padding, and each sequence alone gives the same."""
    S = max(lengths) + 2
    query, key, value = draw_inputs(seed, S, S, leading=(len(lengths), 3))
    mask = padding_mask(lengths, S)
    padding = ~mask[:, 0, 0, :, None].unsqueeze(1)
    key, value = (tensor + 100 * torch.randn_like(tensor) * padding for tensor in (key, value))
    together = attention(query, key, value, mask, causal=causal, need_weights=need_weights).output
    for entry, length in enumerate(lengths):
        alone = attention(*(tensor[entry, :, :length] for tensor in (query, key, value)), causal=causal).output
        assert_near(together[entry, :, :length], alone)


@given(seeds, flags)
def test_each_batch_entry_and_head_stands_alone(seed, need_weights):
    query, key, value = draw_inputs(seed, 5, 7)
    mask = mask_of_kind("bool of B H L S")
    output = attention(query, key, value, mask, need_weights=need_weights).output
    for b in range(2):
        for h in range(3):
            alone = attention(query[b, h], key[b, h], value[b, h], mask[b, h]).output
            assert_near(output[b, h], alone)


@given(seeds)
def test_boolean_and_additive_masks_agree(seed):
    query, key, value = draw_inputs(seed, 5, 7)
    mask = mask_of_kind("bool of B H L S")
    bias = torch.zeros(mask.shape).masked_fill(~mask, -torch.inf)
    for need_weights in (False, True):
        expected = attention(query, key, value, mask, causal=True, need_weights=need_weights).output
        assert_near(attention(query, key, value, bias, causal=True, need_weights=need_weights).output, expected)


def test_identical_tokens_average_what_they_see():
    value = torch.randn(2, 3, 5, 7, dtype=torch.float64)
    same = torch.ones(2, 3, 5, 11, dtype=torch.float64)
    expected = value.cumsum(-2) / torch.arange(1, 6)[:, None]
    for need_weights in (False, True):
        assert_near(attention(same, same, value, causal=True, need_weights=need_weights).output, expected)


def test_dropout_is_deterministic_under_a_seed_and_right_on_average():
    query, key, value = random_inputs(5, 7, leading=(4096,))
    torch.manual_seed(3)
    first = attention(query[:2], key[:2], value[:2], dropout_p=0.5).output
    torch.manual_seed(3)
    assert torch.equal(first, attention(query[:2], key[:2], value[:2], dropout_p=0.5).output)
    assert not torch.equal(first, attention(query[:2], key[:2], value[:2], dropout_p=0.5).output)
    one = [tensor[:1].expand(4096, -1, -1) for tensor in (query, key, value)]
    plain = attention(*one).output[0]
    draws = attention(*one, dropout_p=0.3).output
    error = draws.std(0) / 64  # of a mean over 4096 draws
    assert ((draws.mean(0) - plain).abs() < 5 * error).all()
    assert (error > 0).all()


def test_dropout_keeps_or_rescales_each_weight():
    query, key, _ = random_inputs(5, 7)
    value = torch.eye(7, dtype=torch.float64).expand(2, 3, 7, 7)  # the output is the weights after dropout
    output, weights = attention(query, key, value, causal=True, dropout_p=0.2, need_weights=True)
    assert_near(weights, attention_weights(query, key, causal=True))  # returned as before dropout
    dropped = output == 0
    assert_near(output, (weights / 0.8).masked_fill(dropped, 0.0))
    assert 0.1 < dropped[weights > 0].double().mean() < 0.35


def test_dropout_acts_on_weights_not_on_outputs():
    query, key, value = random_inputs(d_v=1)
    output, weights = attention(query, key, value.expand(-1, -1, -1, 5), dropout_p=0.5)
    assert weights is None
    assert_near(output, output[..., :1].expand_as(output))  # equal columns of the values stay equal


def test_dropout_leaves_empty_rows_at_zero():
    query, key, value = random_inputs(3, 2)
    output, weights = attention(query, key, value, causal=True, dropout_p=0.4, need_weights=True)
    assert (output[..., 0, :] == 0).all()
    assert (weights[..., 0, :] == 0).all()


def test_no_dropout_unless_asked():
    query, key, value = random_inputs()
    assert torch.equal(attention(query, key, value).output, attention(query, key, value).output)


@pytest.mark.parametrize(
    "options", [{}, {"causal": True}, {"dropout_p": 0.3}, {"need_weights": True, "window": 2}], ids=str
)
@pytest.mark.parametrize("kind", ["none", "bool of L S", "bias with -inf of B H L S", "bool of B 1 1 S"])
def test_inputs_are_not_changed(options, kind):
    inputs = [*random_inputs(5, 5), mask_of_kind(kind, 5, 5)]
    inputs = [tensor for tensor in inputs if tensor is not None]
    before, versions = [tensor.clone() for tensor in inputs], [tensor._version for tensor in inputs]
    attention(*inputs, **options)
    attention_weights(inputs[0], inputs[1], *inputs[3:], causal=True, rows=[1])
    assert [tensor._version for tensor in inputs] == versions
    assert all(torch.equal(now, then) for now, then in zip(inputs, before, strict=True))


def test_printed_digits_hold_on_one_and_two_threads():
    query, key, value = (
        t.requires_grad_() for t in random_inputs(61, 61, leading=(7, 5), d_k=53, d_v=53, dtype=torch.float32)
    )

    def digits():
        output, weights = attention(query, key, value, causal=True, need_weights=True)
        fused = attention(query, key, value, causal_mask(61)).output
        gradients = torch.autograd.grad(fused.square().sum(), (query, key, value))
        return [
            f"{number:.3f}" for part in (output, weights, fused, *gradients) for number in part.flatten()[::97].tolist()
        ]

    one = digits()
    torch.set_num_threads(2)
    try:
        assert digits() == one
    finally:
        torch.set_num_threads(1)
