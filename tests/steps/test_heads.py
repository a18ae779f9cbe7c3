"""Splitting a wide tensor into heads, and merging them again."""

import pytest
import torch

from attention_lib import OptionError, ShapeError, merge_heads, split_heads


def test_split_by_hand():
    x = torch.arange(12.0).reshape(1, 2, 6)  # rows 0..5 and 6..11
    assert split_heads(x, 3).tolist() == [
        [[[0.0, 1.0], [6.0, 7.0]], [[2.0, 3.0], [8.0, 9.0]], [[4.0, 5.0], [10.0, 11.0]]]
    ]


def test_merge_by_hand():
    x = torch.tensor([[[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [[7.0, 8.0], [9.0, 10.0], [11.0, 12.0]]]])
    assert merge_heads(x).tolist() == [[[1.0, 2.0, 7.0, 8.0], [3.0, 4.0, 9.0, 10.0], [5.0, 6.0, 11.0, 12.0]]]


@pytest.mark.parametrize(("num_heads", "d_head"), [(3, 5), (1, 7), (7, 1), (2, 2)])
def test_each_head_is_a_slice_and_merging_undoes_splitting(num_heads, d_head):
    x = torch.randn(2, 11, num_heads * d_head)
    heads = split_heads(x, num_heads)
    assert heads.shape == (2, num_heads, 11, d_head)
    for h in range(num_heads):
        assert torch.equal(heads[:, h], x[..., h * d_head : (h + 1) * d_head])
    assert torch.equal(merge_heads(heads), x)
    assert torch.equal(split_heads(merge_heads(heads), num_heads), heads)


def test_splitting_copies_nothing_and_merging_takes_any_layout():
    x = torch.randn(2, 5, 6)
    assert split_heads(x, 3).data_ptr() == x.data_ptr()
    strided = torch.randn(2, 5, 7, 3).transpose(1, 3)  # (2, 3, 7, 5), not contiguous
    assert torch.equal(merge_heads(strided), merge_heads(strided.contiguous()))


def test_empty_sequences():
    assert merge_heads(split_heads(torch.zeros(2, 0, 6), 3)).shape == (2, 0, 6)


def test_gradcheck():
    x = torch.randn(2, 3, 6, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: merge_heads(split_heads(x, 3).square()), x)


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("width", "num_heads", "message"),
    [
        (10, 3, "d_model=10 is not divisible by num_heads=3; choose d_model=9 or 12"),
        (2, 3, "d_model=2 is not divisible by num_heads=3; choose d_model=3$"),
        (6, 0, "num_heads=0 must be a whole number, 1 or more"),
        (6, -2, "num_heads=-2 must be a whole number, 1 or more"),
        (6, 2.0, r"num_heads=2.0 must be a whole number, 1 or more"),
        (6, True, "num_heads=True must be a whole number, 1 or more"),
    ],
)
def test_heads_that_do_not_divide(width, num_heads, message):
    with pytest.raises(OptionError, match=message):
        split_heads(torch.zeros(2, 5, width), num_heads)


@pytest.mark.bad_input
def test_wrong_number_of_axes():
    with pytest.raises(ShapeError, match=r"shape \(5, 6\); split_heads takes three axes, \(B, L, d_model\)"):
        split_heads(torch.zeros(5, 6), 3)
    with pytest.raises(ShapeError, match=r"shape \(5, 6, 2\); merge_heads takes four axes, \(B, H, L, d_head\)"):
        merge_heads(torch.zeros(5, 6, 2))
