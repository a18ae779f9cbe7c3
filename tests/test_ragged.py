"""Padded batches without the padding: equal to the mask, and to each sequence alone."""

import pytest
import torch
from support import assert_near, random_inputs

from attention_lib import MaskError, OptionError, ShapeError, attention, padding_mask, ragged_attention
from attention_lib.experiments.work_counts import work_of

OPTIONS = [{}, {"causal": True}, {"causal": True, "window": 3}, {"window": 2}, {"scale": 0.4}]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("lengths", [[7, 2, 5], [7, 7, 7], [0, 1, 7], [0, 0, 0]], ids=str)
@pytest.mark.parametrize("queries", [7, 5, 11])
@pytest.mark.parametrize("groups", [1, 2, 6])
def test_equals_the_padding_mask_with_gradients(lengths, queries, groups, options):
    inputs = random_inputs(queries, 7, leading=(3, 6), kv_leading=(3, groups))
    inputs = [tensor.requires_grad_() for tensor in inputs]
    ours = ragged_attention(*inputs, torch.tensor(lengths), **options)
    expected = attention(*inputs, padding_mask(lengths, 7), **options).output
    assert ours.weights is None
    assert_near(ours.output, expected)
    direction = torch.randn_like(expected)
    for one, other in zip(*(torch.autograd.grad(o, inputs, direction) for o in (ours.output, expected)), strict=True):
        assert_near(one, other)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_each_sequence_stands_alone_and_padding_is_zero(options):
    inputs, lengths = random_inputs(7, 7, leading=(3, 2)), [7, 2, 5]
    output = ragged_attention(*inputs, lengths, query_lengths=lengths, **options).output
    for b, length in enumerate(lengths):
        alone = attention(*(tensor[b, :, :length] for tensor in inputs), **options).output
        assert_near(output[b, :, :length], alone)
        assert (output[b, :, length:] == 0).all()


def test_cross_attention_with_both_lengths():
    inputs = random_inputs(5, 7, leading=(3, 2))
    output = ragged_attention(*inputs, [7, 2, 5], query_lengths=[1, 5, 0]).output
    expected = attention(*inputs, padding_mask([7, 2, 5], 7)).output
    keep = padding_mask([1, 5, 0], 5).transpose(-2, -1)
    assert_near(output, expected * keep)


def test_padding_is_not_read():
    query, key, value = random_inputs(5, 7, leading=(2, 3))
    key[1, :, 2:], value[1, :, 2:] = torch.nan, torch.inf
    assert ragged_attention(query, key, value, [7, 2]).output.isfinite().all()


def test_only_real_cells_are_computed():
    x = torch.zeros(2, 3, 64, 5)
    work = work_of(lambda: ragged_attention(x, x, x, [64, 16], query_lengths=[64, 16]))
    assert work.multiplications == 3 * (64 * 64 + 16 * 16) * (5 + 5)


def test_an_empty_batch_dropout_and_gradcheck():
    x = torch.zeros(0, 3, 5, 2)
    assert ragged_attention(x, x, x, []).output.shape == (0, 3, 5, 2)
    inputs = [tensor.requires_grad_() for tensor in random_inputs(3, 5, leading=(2, 1), d_k=2, d_v=3)]
    assert not torch.equal(*(ragged_attention(*inputs, [5, 2], dropout_p=0.5).output for _ in range(2)))
    assert torch.autograd.gradcheck(
        lambda *qkv: ragged_attention(*qkv, [5, 2], query_lengths=[3, 1], causal=True).output, inputs
    )


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("shape", "lengths", "options", "error", "message"),
    [
        ((2, 3, 5, 2), [6, 1], {}, MaskError, "lengths run from 1 to 6, but the padded length is 5"),
        ((2, 3, 5, 2), [5, -1], {}, MaskError, "lengths run from -1 to 5"),
        ((2, 3, 5, 2), [5, 1], {"query_lengths": [9, 1]}, MaskError, "query_lengths run from 1 to 9, but .* is 5"),
        ((2, 3, 5, 2), [5, 1, 2], {}, ShapeError, "lengths has 3 entries for B = 2 sequences; give one for each"),
        ((2, 3, 5, 2), [0.5, 1.0], {}, MaskError, "dtype torch.float32; it takes B whole numbers"),
        ((2, 3, 5, 2), "ab", {}, MaskError, "lengths='ab' is not a row of whole numbers"),
        ((2, 5, 2), [5, 1], {}, ShapeError, r"shapes \(2, 5, 2\) and \(2, 5, 2\); ragged_attention takes \(B, H, L"),
        ((2, 3, 5, 2), [5, 1], {"window": 0}, OptionError, "window=0 must be"),
        ((2, 3, 5, 2), [5, 1], {"dropout_p": 1.0}, OptionError, "dropout_p=1.0 must be"),
    ],
)
def test_bad_input(shape, lengths, options, error, message):
    x = torch.zeros(shape)
    with pytest.raises(error, match=message):
        ragged_attention(x, x, x, lengths, **options)
