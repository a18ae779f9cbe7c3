"""Mask builders, and the one check that every entry point makes."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_lib import MaskError, OptionError, causal_mask, combine_masks, padding_mask, window_mask
from attention_lib.steps.mask_checks import check_mask

sizes = st.integers(0, 7)


def bits(mask):
    return ["".join("1" if seen else "0" for seen in row) for row in mask.tolist()]


def test_causal_by_hand():
    assert bits(causal_mask(3)) == ["100", "110", "111"]
    assert bits(causal_mask(2, 5)) == ["11110", "11111"]  # the queries are the last two of five positions
    assert bits(causal_mask(4, 2)) == ["00", "00", "10", "11"]
    assert bits(causal_mask(1, 5)) == ["11111"]


def test_window_by_hand():
    assert bits(window_mask(4, window=2)) == ["1000", "1100", "0110", "0011"]
    assert bits(window_mask(2, 5, window=3)) == ["01110", "00111"]
    assert bits(window_mask(4, window=2, causal=False)) == ["1000", "1100", "0110", "0011"]  # one before, none after
    assert bits(window_mask(4, window=3, causal=False)) == ["1100", "1110", "0111", "0011"]
    assert bits(window_mask(5, window=4, causal=False)) == ["11000", "11100", "11110", "01111", "00111"]
    assert bits(window_mask(3, window=1, causal=False)) == ["100", "010", "001"]


def test_padding_by_hand():
    mask = padding_mask([1, 3, 0])
    assert mask.shape == (3, 1, 1, 3)
    assert bits(mask[:, 0, 0]) == ["100", "111", "000"]
    assert bits(padding_mask(torch.tensor([2]), 5)[:, 0, 0]) == ["11000"]
    assert padding_mask([]).shape == (0, 1, 1, 0)


def test_combine_by_hand():
    mask = combine_masks(causal_mask(2), None, padding_mask([1, 2]))
    assert mask.shape == (2, 1, 2, 2)
    assert bits(mask[0, 0]) == ["10", "10"]
    assert bits(mask[1, 0]) == ["10", "11"]
    assert combine_masks() is None
    assert combine_masks(None, None) is None


@given(sizes, sizes, st.integers(1, 9), st.booleans())
def test_windows_by_formula(L, S, window, causal):
    before, after = (window - 1, 0) if causal else (window // 2, (window - 1) // 2)
    expected = [[-after <= (S - L + i) - j <= before for j in range(S)] for i in range(L)]
    mask = window_mask(L, S, window=window, causal=causal)
    assert mask.shape == (L, S)
    assert mask.dtype == torch.bool
    assert mask.tolist() == expected


@given(sizes, sizes)
def test_causal_by_formula(L, S):
    mask = causal_mask(L, S)
    assert mask.dtype == torch.bool
    assert mask.tolist() == [[j <= S - L + i for j in range(S)] for i in range(L)]
    assert torch.equal(mask, window_mask(L, S, window=max(S, 1)))


@given(st.lists(sizes, min_size=1, max_size=4), st.integers(0, 3))
def test_padding_by_formula(lengths, more):
    mask = padding_mask(lengths, max(lengths) + more)
    assert mask.sum((1, 2, 3)).tolist() == lengths
    assert torch.equal(mask, mask.sort(-1, descending=True).values)  # kept positions come first


def test_order_of_combining_does_not_matter():
    parts = [torch.rand(2, 3, 5, 7) < 0.5, torch.rand(5, 7) < 0.5, torch.rand(2, 1, 1, 7) < 0.5]
    assert torch.equal(combine_masks(*parts), combine_masks(*reversed(parts)))
    assert torch.equal(combine_masks(*parts), parts[0] & parts[1] & parts[2])


def test_masks_are_built_where_asked():
    assert causal_mask(2, device="meta").device.type == "meta"
    assert window_mask(2, window=1, device="meta").device.type == "meta"
    assert causal_mask(2).device.type == "cpu"


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: causal_mask(-1), "L=-1 must be a whole number, 0 or more"),
        (lambda: causal_mask(3, 2.5), "S=2.5 must be a whole number, 0 or more"),
        (lambda: causal_mask(True), "L=True must be a whole number"),
        (lambda: padding_mask([2], 2.5), "S=2.5 must be a whole number, 0 or more"),
        (lambda: padding_mask([2], "3"), "S='3' must be a whole number, 0 or more"),
        (lambda: window_mask(3, -7, window=2), "S=-7 must be a whole number"),
        (
            lambda: window_mask(3, window=0),
            r"window=0 must be a whole number of keys, 1 or more .*window=None turns it",
        ),
        (lambda: window_mask(3, window=1.5), r"window=1.5 must be a whole number of keys"),
        (lambda: window_mask(3, window=True), r"window=True must be a whole number of keys"),
    ],
)
def test_bad_sizes(build, message):
    with pytest.raises(OptionError, match=message):
        build()


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("lengths", "S", "message"),
    [
        ([2, 7], 5, "lengths run from 2 to 7, but the padded length is 5; use 0 <= length <= 5"),
        ([-1, 3], None, "lengths run from -1 to 3, but the padded length is 3; use 0"),
        ("ab", None, "lengths='ab' is not a row of whole numbers, one for each sequence"),
        (None, None, "lengths=None is not a row of whole numbers"),
        ([0.5, 1.0], None, r"shape \(2,\) and dtype torch.float32; .*whole numbers .*from_attention_mask_01"),
        ([True, False], None, r"dtype torch.bool; .*whole numbers"),
        ([[1, 2, 3]], None, r"shape \(1, 3\) and dtype torch.int64; .*B whole numbers"),
    ],
)
def test_bad_lengths(lengths, S, message):
    with pytest.raises(MaskError, match=message):
        padding_mask(lengths, S)


@pytest.mark.bad_input
def test_masks_that_do_not_combine():
    with pytest.raises(
        MaskError, match=r"shapes \(3, 3\) and \(2, 1, 1, 5\) do not broadcast; every axis must be equal or 1"
    ):
        combine_masks(causal_mask(3), padding_mask([5, 2]))
    with pytest.raises(MaskError, match=r"one has dtype torch.float32; additive masks are combined by adding them"):
        combine_masks(causal_mask(3), torch.zeros(3, 3))


@pytest.mark.parametrize("shape", [(), (7,), (5, 7), (1, 7), (5, 1), (2, 1, 1, 7), (2, 3, 5, 7), (1, 3, 1, 1)], ids=str)
def test_masks_that_fit(shape):
    check_mask(torch.ones(shape, dtype=torch.bool), (2, 3, 5, 7))
    check_mask(torch.zeros(shape, dtype=torch.bfloat16), (2, 3, 5, 7))


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("shape", "scores", "message"),
    [
        (
            (2, 5, 7),
            (2, 3, 5, 7),
            r"\(2, 5, 7\) is ambiguous for scores \(2, 3, 5, 7\): .*mask\[:, None\].*mask\[None\]",
        ),
        ((5, 3), (2, 3, 5, 7), r"\(5, 3\) does not broadcast .* = \(2, 3, 5, 7\): it covers 3 keys, there are 7"),
        ((7, 7), (2, 3, 5, 7), r"\(7, 7\) does not broadcast .* \(2, 3, 5, 7\); allowed are \(L, S\)"),
        (
            (2, 7),
            (2, 3, 5, 7),
            r"\(2, 7\) does not .* \(2, 3, 5, 7\); a \(B, S\) padding mask .*mask\[:, None, None, :\]",
        ),
        ((3, 1, 1, 7), (2, 3, 5, 7), r"\(3, 1, 1, 7\) does not broadcast .* \(2, 3, 5, 7\); allowed are"),
        ((1, 2, 3, 5, 7), (2, 3, 5, 7), r"\(1, 2, 3, 5, 7\) has more axes than the scores \(2, 3, 5, 7\); drop"),
        ((3,), (5, 7), r"\(3,\) does not broadcast .* = \(5, 7\): it covers 3 keys, there are 7"),
    ],
)
def test_masks_that_do_not_fit(shape, scores, message):
    for dtype in (torch.bool, torch.float32):
        with pytest.raises(MaskError, match=message):
            check_mask(torch.zeros(shape, dtype=dtype), scores)


@pytest.mark.bad_input
@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8, torch.int32, torch.complex64], ids=str)
def test_masks_that_are_neither_boolean_nor_float(dtype):
    message = rf"\(5, 7\) for scores \(2, 3, 5, 7\) has dtype {dtype}; .*mask.bool\(\).*from_attention_mask_01"
    with pytest.raises(MaskError, match=message):
        check_mask(torch.ones(5, 7, dtype=dtype), (2, 3, 5, 7))


@pytest.mark.bad_input
def test_masks_that_are_no_tensors():
    with pytest.raises(MaskError, match=r"mask is a list, not a torch.Tensor; use torch.as_tensor\(mask\)"):
        check_mask([[True, False]], (1, 2))
