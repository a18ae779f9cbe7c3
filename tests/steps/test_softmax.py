"""Step 3: masked softmax."""

import math

import pytest
import torch
from support import MASK_KINDS, B, H, L, S, assert_near, mask_of_kind

from attention_lib import MaskError, ShapeError, masked_softmax, reference

LN3 = math.log(3.0)


def test_by_hand():
    scores = torch.tensor([[0.0, LN3, 9.0], [LN3, LN3, LN3]], dtype=torch.float64)
    mask = torch.tensor([[True, True, False], [False, True, False]])
    assert_near(masked_softmax(scores, mask), torch.tensor([[0.25, 0.75, 0.0], [0.0, 1.0, 0.0]]))
    assert_near(masked_softmax(scores[1:]), torch.full((1, 3), 1 / 3, dtype=torch.float64))


def test_a_float_mask_is_added():
    scores = torch.tensor([[LN3, 0.0]], dtype=torch.float64)
    bias = torch.tensor([0.0, 2 * LN3], dtype=torch.float64)  # ln 3 and 2 ln 3: 3 against 9
    assert_near(masked_softmax(scores, bias), torch.tensor([[0.25, 0.75]]))


@pytest.mark.parametrize("kind", MASK_KINDS)
def test_equals_the_oracle(kind):
    scores, mask = 3 * torch.randn(B, H, L, S, dtype=torch.float64), mask_of_kind(kind)
    weights = masked_softmax(scores, mask)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else scores + mask
    for row, expected in zip(weights.flatten(0, 2).tolist(), scores.flatten(0, 2).tolist(), strict=True):
        assert row == pytest.approx(reference.softmax(expected), abs=1e-15)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("additive", [False, True])
def test_rows_without_a_key_are_zero_and_so_are_their_gradients(dtype, additive):
    scores = torch.randn(L, S).to(dtype).requires_grad_()
    mask = torch.ones(L, S, dtype=torch.bool)
    mask[1], mask[2, 3:] = False, False
    if additive:
        mask = torch.zeros(L, S, dtype=dtype).masked_fill(~mask, -math.inf)
    weights = masked_softmax(scores, mask)
    (weights[:, 0] * torch.arange(1.0, L + 1)).sum().backward()
    assert weights.dtype == dtype
    assert (weights[1] == 0).all()
    assert (weights[2, 3:] == 0).all()
    assert scores.grad.isfinite().all()
    assert (scores.grad[1] == 0).all()
    assert (scores.grad[[0, 2, 3, 4]].abs().sum(-1) > 0).all()


def test_scores_that_are_already_minus_infinity():
    scores = torch.tensor([[0.0, -math.inf], [-math.inf, -math.inf]])
    assert masked_softmax(scores).tolist() == [[1.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_large_scores_do_not_overflow(dtype):
    top = torch.finfo(dtype).max
    assert masked_softmax(torch.tensor([[1000.0, 1000.0]], dtype=dtype)).tolist() == [[0.5, 0.5]]
    assert masked_softmax(torch.tensor([[top, -top]], dtype=dtype)).tolist() == [[1.0, 0.0]]


def test_adding_a_number_to_a_row_changes_nothing():
    scores = torch.randn(L, S, dtype=torch.float64)
    assert_near(masked_softmax(scores + torch.randn(L, 1, dtype=torch.float64)), masked_softmax(scores))


@pytest.mark.parametrize("kind", MASK_KINDS)
def test_gradcheck(kind):
    scores = torch.randn(2, 2, 3, 5, dtype=torch.float64, requires_grad=True)
    mask = mask_of_kind(kind, 3, 5, batch=2, heads=2)
    assert torch.autograd.gradcheck(lambda scores: masked_softmax(scores, mask), scores)


def test_no_keys_at_all():
    assert masked_softmax(torch.zeros(3, 0)).shape == (3, 0)


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("scores", "dtype"), [((7,), torch.float32), ((), torch.float32), ((5, 7), torch.int64)], ids=str
)
def test_scores_need_two_axes_and_floating_point(scores, dtype):
    with pytest.raises(ShapeError, match=rf"shape \({', '.join(map(str, scores))},?\) and dtype {dtype}; .*\(L, S\)"):
        masked_softmax(torch.zeros(scores, dtype=dtype))


@pytest.mark.bad_input
def test_mask_errors_are_raised_here_too():
    with pytest.raises(MaskError, match=r"\(5, 3\) does not broadcast .* \(5, 7\): it covers 3 keys, there are 7"):
        masked_softmax(torch.zeros(5, 7), torch.ones(5, 3, dtype=torch.bool))
    with pytest.raises(MaskError, match=r"dtype torch.int64; use a boolean mask"):
        masked_softmax(torch.zeros(5, 7), torch.ones(5, 7, dtype=torch.int64))
