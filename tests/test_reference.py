"""The oracle itself: by hand, and against torch's own softmax in float64. Nothing else vouches for it."""

import math

import pytest
import torch

from attention_lib import reference

LN3 = math.log(3.0)


def test_scores_by_hand():
    assert reference.scores([[1.0, 2.0, 0.0, 0.0]], [[3.0, 4.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]]) == [[5.5, 1.0]]
    assert reference.scores([[1.0, 2.0]], [[3.0, 4.0]], scale=2.0) == [[22.0]]
    assert reference.scores([[1.0]], []) == [[]]


def test_softmax_by_hand():
    assert reference.softmax([0.0, LN3]) == pytest.approx([0.25, 0.75], abs=1e-15)
    assert reference.softmax([1000.0, 1000.0]) == [0.5, 0.5]
    assert reference.softmax([-math.inf, 3.0]) == [0.0, 1.0]
    assert reference.softmax([-math.inf, -math.inf]) == [0.0, 0.0]
    assert reference.softmax([]) == []


@pytest.mark.parametrize(
    ("options", "weights"),
    [
        ({}, [[1 / 3, 1 / 3, 1 / 3], [1 / 3, 1 / 3, 1 / 3]]),
        ({"causal": True}, [[1 / 2, 1 / 2, 0], [1 / 3, 1 / 3, 1 / 3]]),
        ({"causal": True, "window": 2}, [[1 / 2, 1 / 2, 0], [0, 1 / 2, 1 / 2]]),
        ({"causal": True, "window": 1}, [[0, 1, 0], [0, 0, 1]]),
        ({"window": 2}, [[1 / 2, 1 / 2, 0], [0, 1 / 2, 1 / 2]]),
        ({"window": 1}, [[0, 1, 0], [0, 0, 1]]),
        ({"window": 3}, [[1 / 3, 1 / 3, 1 / 3], [0, 1 / 2, 1 / 2]]),
        ({"mask": [[True, False, True], [False, False, False]]}, [[1 / 2, 0, 1 / 2], [0, 0, 0]]),
        ({"mask": [[LN3, 0.0, -math.inf], [0.0, 0.0, 0.0]]}, [[3 / 4, 1 / 4, 0], [1 / 3, 1 / 3, 1 / 3]]),
        ({"mask": [[True, False, True], [True] * 3], "causal": True}, [[1, 0, 0], [1 / 3, 1 / 3, 1 / 3]]),
    ],
    ids=str,
)
def test_attention_by_hand(options, weights):
    """Two equal queries at the positions 1 and 2 of three, scores all 0."""
    value = [[6.0, 0.0], [12.0, 1.0], [24.0, 0.0]]
    output, found = reference.attention([[0.0]] * 2, [[1.0]] * 3, value, **options)
    for row, found_row, output_row in zip(weights, found, output, strict=True):
        assert found_row == pytest.approx(row, abs=1e-15)
        expected = [sum(w * v[c] for w, v in zip(row, value, strict=True)) for c in range(2)]
        assert output_row == pytest.approx(expected, abs=1e-14)


def test_more_queries_than_keys():
    _, weights = reference.attention([[0.0]] * 3, [[0.0]] * 2, [[1.0]] * 2, causal=True)
    assert weights == [[0.0, 0.0], [1.0, 0.0], [0.5, 0.5]]


def test_against_torch_softmax():
    query, key, value = (torch.randn(size, dtype=torch.float64) for size in ((5, 3), (7, 3), (7, 2)))
    expected = torch.softmax(query @ key.T / math.sqrt(3), dim=-1)
    output, weights = reference.attention(query.tolist(), key.tolist(), value.tolist())
    assert torch.allclose(torch.tensor(weights, dtype=torch.float64), expected, rtol=1e-13)
    assert torch.allclose(torch.tensor(output, dtype=torch.float64), expected @ value, rtol=1e-12)


def test_inputs_are_not_changed():
    query, key, value, mask = [[1.0]], [[2.0], [3.0]], [[4.0], [5.0]], [[True, False]]
    reference.attention(query, key, value, mask, causal=True)
    assert (query, key, value, mask) == ([[1.0]], [[2.0], [3.0]], [[4.0], [5.0]], [[True, False]])


def test_ragged_rows_are_refused():
    with pytest.raises(ValueError, match="shorter"):
        reference.attention([[1.0, 2.0]], [[1.0, 2.0], [3.0]], [[1.0], [2.0]])
    with pytest.raises(ValueError, match="longer"):
        reference.attention([[1.0]], [[1.0]], [[1.0], [2.0]])
