"""Additive scores: by hand, as a loop, with masks, and their errors."""

import math

import pytest
import torch
from torch import nn

from attention_lib.errors import MaskError, ShapeError
from attention_lib.layers.additive import AdditiveScores, additive_attention
from attention_lib.steps.masks import padding_mask

B, L, S, D_QUERY, D_KEY, D_HIDDEN, D_V = 2, 5, 7, 3, 11, 13, 17


def inputs():
    query = torch.randn(B, L, D_QUERY, dtype=torch.float64)
    return query, torch.randn(B, S, D_KEY, dtype=torch.float64), torch.randn(B, S, D_V, dtype=torch.float64)


def test_by_hand():
    scores = AdditiveScores(1, 1, 2).double()
    scores.w_q.weight.data = torch.tensor([[1.0], [2.0]], dtype=torch.float64)
    scores.w_k.weight.data = torch.tensor([[-1.0], [0.5]], dtype=torch.float64)
    scores.v.data = torch.tensor([3.0, -1.0], dtype=torch.float64)
    query, key = torch.full((1, 1, 1), 0.4).double(), torch.full((1, 1, 1), 0.1).double()
    expected = 3 * math.tanh(0.4 - 0.1) - math.tanh(0.8 + 0.05)
    assert scores(query, key).item() == pytest.approx(expected, abs=1e-7)


def test_equal_to_a_loop():
    scores = AdditiveScores(D_QUERY, D_KEY, D_HIDDEN).double()
    query, key, _ = inputs()
    got = scores(query, key)
    assert got.shape == (B, L, S)
    for b, i, j in ((0, 0, 0), (1, 4, 6), (0, 2, 5)):
        inside = scores.w_q.weight @ query[b, i] + scores.w_k.weight @ key[b, j]
        assert got[b, i, j].item() == pytest.approx((scores.v @ inside.tanh()).item(), abs=1e-12)


def test_no_score_leaves_the_range_that_v_allows():
    scores = AdditiveScores(D_QUERY, D_KEY, D_HIDDEN).double()
    query, key, _ = inputs()
    assert scores(100 * query, 100 * key).abs().max() <= scores.v.abs().sum()


def test_projected_keys_give_the_same_scores():
    scores = AdditiveScores(D_QUERY, D_KEY, D_HIDDEN).double()
    query, key, _ = inputs()
    torch.testing.assert_close(scores.from_projected(query, scores.project_keys(key)), scores(query, key))


def test_masked_keys_get_no_weight_and_an_empty_row_is_zero():
    scores = AdditiveScores(D_QUERY, D_KEY, D_HIDDEN).double()
    query, key, value = inputs()
    mask = padding_mask([0, 4], S)[:, 0]  # (B, 1, S)
    output, weights = additive_attention(scores(query, key), value, mask)
    torch.testing.assert_close(weights[1].sum(dim=-1), torch.ones(L, dtype=torch.float64))
    assert not weights[0].any()
    assert not output[0].any()
    assert not weights[1, :, 4:].any()
    changed = key.clone()
    changed[1, 4:] = 99.0
    torch.testing.assert_close(additive_attention(scores(query, changed), value, mask).output, output)


def test_gradients():
    scores = AdditiveScores(2, 3, 2).double()
    query, key = torch.randn(1, 2, 2, dtype=torch.float64), torch.randn(1, 3, 3, dtype=torch.float64)
    assert torch.autograd.gradcheck(scores, (query.requires_grad_(), key.requires_grad_()))
    nn.init.zeros_(scores.v)
    assert not scores(query, key).any()


@pytest.mark.bad_input
def test_errors_name_both_values():
    scores = AdditiveScores(D_QUERY, D_KEY, D_HIDDEN)
    with pytest.raises(ShapeError, match=r"d_query is 4 in query but 3 in AdditiveScores"):
        scores(torch.zeros(B, L, 4), torch.zeros(B, S, D_KEY))
    with pytest.raises(ShapeError, match=r"d_key is 4 in key but 11 in AdditiveScores; shape \(2, 7, 4\)"):
        scores(torch.zeros(B, L, D_QUERY), torch.zeros(B, S, 4))
    with pytest.raises(MaskError, match="covers 6 keys, there are 7"):
        additive_attention(torch.zeros(L, S), torch.zeros(S, D_V), torch.ones(L, 6, dtype=torch.bool))
