"""The mean over heads: equal to the mean of all weights, without making them."""

import pytest
import torch
from support import MASK_KINDS, assert_near, mask_of_kind, random_inputs

from attention_lib import MaskError, OptionError, ShapeError, attention_weights, averaged, averaged_weights
from attention_lib.experiments.work_counts import work_of

OPTIONS = [{}, {"causal": True}, {"causal": True, "window": 2}, {"scale": 2.0}]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("kind", MASK_KINDS)
@pytest.mark.parametrize("cells", [1, 2**20])
def test_equals_the_mean_of_all_weights(monkeypatch, kind, options, cells):
    monkeypatch.setattr(averaged, "CELLS", cells)  # pieces of 16 rows
    query, key, _ = random_inputs(37, 41, leading=(2, 6), kv_leading=(2, 3))
    mask = mask_of_kind(kind, 37, 41, heads=6)
    ours = averaged_weights(query, key, mask, **options)
    assert_near(ours, attention_weights(query, key, mask, **options).mean(1))


@pytest.mark.parametrize("leading", [(1, 3), (2, 5, 3), (2, 1)], ids=str)
@pytest.mark.parametrize("lengths", [(5, 7), (0, 7), (5, 0)], ids=str)
def test_any_leading_axes_and_no_tokens(leading, lengths):
    query, key, _ = random_inputs(*lengths, leading=leading)
    assert_near(averaged_weights(query, key), attention_weights(query, key).mean(-3))


def test_gradients(monkeypatch):
    monkeypatch.setattr(averaged, "CELLS", 1)
    query, key, _ = (tensor.requires_grad_() for tensor in random_inputs(19, 5, leading=(1, 3), d_k=2))
    assert torch.autograd.gradcheck(lambda q, k: averaged_weights(q, k, causal=True), (query, key), fast_mode=True)
    with torch.no_grad():
        assert_near(averaged_weights(query, key), attention_weights(query, key).mean(1))


def test_no_table_a_head_is_made():
    query = torch.zeros(1, 8, 1024, 4)
    assert work_of(lambda: averaged_weights(query, query)).largest == 1024 * 1024 * 4


def test_half_precision():
    query, key, _ = random_inputs(dtype=torch.bfloat16)
    ours = averaged_weights(query, key)
    assert ours.dtype == torch.bfloat16
    assert_near(ours, attention_weights(query.double(), key.double()).mean(1), 1e-2)


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("shapes", "options", "error", "message"),
    [
        (
            [(3, 5, 2), (3, 7, 2)],
            {},
            ShapeError,
            r"query has shape \(3, 5, 2\); the mean .*query\[None\]",
        ),
        ([(1, 3, 5, 2), (1, 3, 7, 4)], {}, ShapeError, "axis d_k is 2 in query but 4 in key"),
        ([(1, 3, 5, 2), (1, 3, 7, 2)], {"window": 0}, OptionError, "window=0"),
        ([(1, 3, 5, 2), (1, 3, 7, 2)], {"mask": torch.ones(5, 6) > 0}, MaskError, r"\(5, 6\) does not broadcast"),
    ],
)
def test_bad_input(shapes, options, error, message):
    with pytest.raises(error, match=message):
        averaged_weights(*map(torch.zeros, shapes), **options)
