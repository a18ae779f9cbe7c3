"""Step 4: the weighted sum."""

import pytest
import torch
from support import D_V, B, H, L, S, assert_near

from attention_lib import ShapeError, weighted_sum


def test_by_hand():
    weights = torch.tensor([[0.25, 0.75], [1.0, 0.0], [0.0, 0.0]])
    value = torch.tensor([[4.0, -1.0, 0.0], [8.0, 3.0, 2.0]])
    assert weighted_sum(weights, value).tolist() == [[7.0, 2.0, 1.5], [4.0, -1.0, 0.0], [0.0, 0.0, 0.0]]


def test_equals_loops():
    weights = torch.rand(B, H, L, S, dtype=torch.float64)
    value = torch.randn(B, H, S, D_V, dtype=torch.float64)
    output = weighted_sum(weights, value)
    expected = torch.zeros(B, H, L, D_V, dtype=torch.float64)
    for j in range(S):
        for c in range(D_V):
            expected[..., c] += weights[..., j] * value[..., j, c, None]
    assert_near(output, expected)


@pytest.mark.parametrize("leading", [((3,), (1,)), ((2, 1), (1, 5))], ids=str)
def test_leading_axes_are_shared(leading):
    weights, value = torch.rand(*leading[0], L, S), torch.randn(*leading[1], S, D_V)
    assert_near(weighted_sum(weights, value), torch.einsum("...ij,...jc->...ic", weights, value))


def test_moving_keys_with_their_weights_changes_nothing():
    weights, value, order = torch.rand(L, S, dtype=torch.float64), torch.randn(S, D_V).double(), torch.randperm(S)
    assert_near(weighted_sum(weights[:, order], value[order]), weighted_sum(weights, value))


def test_gradcheck():
    weights = torch.rand(2, 3, 5, dtype=torch.float64, requires_grad=True)
    value = torch.randn(2, 5, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(weighted_sum, (weights, value))


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("weights", "value", "message"),
    [
        ((5, 7), (5, 13), r"axis S is 7 in weights but 5 in value; shapes \(5, 7\) and \(5, 13\)"),
        ((2, 5, 7), (7, 13), r"weights has 3 axes but value has 2; both need \(..., length, width\)"),
        ((7,), (7,), r"weights has 1 axes but value has 1; both need \(..., length, width\)"),
        ((2, 5, 7), (3, 7, 13), r"axis B is 2 in weights but 3 in value; shapes \(2, 5, 7\) and \(3, 7, 13\)"),
    ],
)
def test_shapes_that_do_not_fit(weights, value, message):
    with pytest.raises(ShapeError, match=message):
        weighted_sum(torch.zeros(weights), torch.zeros(value))


@pytest.mark.bad_input
def test_dtypes_that_differ():
    with pytest.raises(ShapeError, match=r"torch.float32 in weights but torch.float64 in value; .*value.to\(weights.d"):
        weighted_sum(torch.zeros(5, 7), torch.zeros(7, 13, dtype=torch.float64))
