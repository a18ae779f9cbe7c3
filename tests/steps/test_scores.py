"""Step 1 and 2: dot products, scaled."""

import math

import pytest
import torch
from support import D_K, B, H, L, S, assert_near, random_inputs

from attention_lib import ShapeError, dot_product_scores, reference


def test_by_hand():
    query = torch.tensor([[1.0, 2.0, 0.0, 0.0], [0.0, 0.0, 0.0, 6.0]])
    key = torch.tensor([[3.0, 4.0, 0.0, 0.0], [0.0, 0.0, 5.0, 7.0], [2.0, -1.0, 9.0, 0.0]])
    assert dot_product_scores(query, key).tolist() == [[5.5, 0.0, 0.0], [0.0, 21.0, 0.0]]
    assert dot_product_scores(query, key, scale=1.0).tolist() == [[11.0, 0.0, 0.0], [0.0, 42.0, 0.0]]
    assert dot_product_scores(query, key, scale=-2.0)[0, 0].item() == -22.0


@pytest.mark.parametrize("scale", [None, 1.0, 0.3])
def test_equals_the_oracle(scale):
    query, key, _ = random_inputs()
    scores = dot_product_scores(query, key, scale=scale)
    assert scores.shape == (B, H, L, S)
    for b in range(B):
        for h in range(H):
            expected = reference.scores(query[b, h].tolist(), key[b, h].tolist(), scale)
            assert_near(scores[b, h], torch.tensor(expected, dtype=torch.float64))


@pytest.mark.parametrize("d_k", [2, 17, 61])
def test_unit_variance_in_unit_variance_out(d_k):
    scores = dot_product_scores(torch.randn(64, 61, d_k), torch.randn(64, 61, d_k))
    assert scores.std().item() == pytest.approx(1.0, rel=0.05)
    assert dot_product_scores(torch.randn(64, 61, d_k), torch.randn(64, 61, d_k), scale=1.0).std().item() == (
        pytest.approx(math.sqrt(d_k), rel=0.05)
    )


def test_symmetric_in_query_and_key():
    query, key, _ = random_inputs()
    assert_near(dot_product_scores(key, query), dot_product_scores(query, key).transpose(-2, -1))


@pytest.mark.parametrize("leading", [((), ()), ((3,), (1,)), ((2, 1, 3), (1, 5, 3))], ids=str)
def test_leading_axes(leading):
    query, key, _ = random_inputs(leading=leading[0], kv_leading=leading[1])
    assert_near(dot_product_scores(query, key), torch.einsum("...id,...jd->...ij", query, key) / math.sqrt(D_K))


def test_gradcheck():
    query, key, _ = (tensor.requires_grad_() for tensor in random_inputs(2, 3, leading=(2,), d_k=5))
    assert torch.autograd.gradcheck(dot_product_scores, (query, key))


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("query", "key", "message"),
    [
        ((2, 7, 8), (2, 5, 4), "axis d_k is 8 in query but 4 in key; shapes (2, 7, 8) and (2, 5, 4); .*project both"),
        ((3, 7, 5), (2, 7, 5), "axis B is 3 in query but 2 in key; shapes .*1 where one is shared"),
        ((2, 6, 7, 5), (2, 3, 7, 5), "axis H is 6 in query but 3 in key; .*same number of heads"),
        ((7, 5), (2, 7, 5), "query has 2 axes but key has 3; shapes (7, 5) and (2, 7, 5); give both the same"),
        ((7, 0), (5, 0), "d_k is 0 .*(7, 0); .*d_k >= 1"),
        ((5,), (7, 5), "query has shape (5,); .*query.unsqueeze"),
    ],
)
def test_shapes_that_do_not_fit(query, key, message):
    pattern = message.replace("(", r"\(").replace(")", r"\)")
    with pytest.raises(ShapeError, match=pattern):
        dot_product_scores(torch.zeros(query), torch.zeros(key))
