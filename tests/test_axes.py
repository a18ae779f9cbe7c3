"""The checks that several entry points share."""

import numpy as np
import pytest
import torch

from attention_lib import (
    MultiHeadAttention,
    OptionError,
    SelfAttention,
    ShapeError,
    attention,
    attention_weights,
    causal_mask,
    seed_everything,
    window_mask,
)
from attention_lib.axes import check_dropout, check_seed, is_whole
from attention_lib.experiments.control import seeded
from attention_lib.layers.feed_forward import FeedForward
from attention_lib.layers.rotary_attention import RotarySelfAttention

pytestmark = pytest.mark.bad_input


@pytest.mark.parametrize("number", [3, np.int64(3), np.uint8(3)])
def test_whole_numbers_of_numpy_count(number):
    assert is_whole(number)
    assert causal_mask(number).shape == (3, 3)
    assert window_mask(number, np.int32(5), window=number).sum().item() == 9
    x = torch.zeros(2, 5, 6)
    assert MultiHeadAttention(np.int64(6), number, num_kv_heads=np.int64(1))(x, window=number).output.shape == x.shape
    seed_everything(number)
    with seeded(number):
        check_seed(number)


@pytest.mark.parametrize("number", [True, np.bool_(True), 3.0, np.float64(3), "3", None])
def test_nothing_else_is_a_whole_number(number):
    assert not is_whole(number)
    with pytest.raises(OptionError, match=r"seed=.* must be a whole number from 0 to 4294967295"):
        check_seed(number)


@pytest.mark.parametrize("dropout_p", [None, "0.1", True, 1.0, -0.1, float("nan"), np.float64(1.5), 1, [0.1]])
@pytest.mark.parametrize(
    "entry",
    [
        lambda p: attention(*torch.zeros(3, 5, 2), dropout_p=p),
        lambda p: MultiHeadAttention(6, 3, dropout_p=p),
        lambda p: FeedForward(6, 3, dropout_p=p),
    ],
    ids=["attention", "MultiHeadAttention", "FeedForward"],
)
def test_dropout_p(entry, dropout_p):
    with pytest.raises(OptionError) as caught:
        entry(dropout_p)
    assert str(caught.value).startswith(f"dropout_p={dropout_p!r} must be in [0, 1): the probability of dropping a")


def test_dropout_p_of_numpy_and_zero():
    for dropout_p in (0, 0.0, np.float32(0.25), 0.999):
        check_dropout(dropout_p)


@pytest.mark.parametrize("kv_heads", [0, -1, 4, 12, 2.0, True])
def test_more_or_uneven_key_heads(kv_heads):
    with pytest.raises(
        OptionError, match=rf"num_heads=6 is not a multiple of num_kv_heads={kv_heads}; .*\[1, 2, 3, 6\]"
    ):
        MultiHeadAttention(12, 6, num_kv_heads=kv_heads)


@pytest.mark.parametrize("given", [[[[0.0] * 6]], np.zeros((1, 1, 6), dtype=np.float32)], ids=["list", "ndarray"])
@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda x: MultiHeadAttention(6, 3)(x), "query"),
        (lambda x: MultiHeadAttention(6, 3)(torch.zeros(1, 1, 6), x), "key"),
        (lambda x: MultiHeadAttention(6, 3)(torch.zeros(1, 1, 6), torch.zeros(1, 1, 6), x), "value"),
        (lambda x: SelfAttention(6)(x), "x"),
        (lambda x: RotarySelfAttention(6, 3)(x), "x"),
        (lambda x: attention(x, x, x), "query"),
    ],
)
def test_lists_and_arrays_are_named(call, name, given):
    with pytest.raises(
        ShapeError, match=rf"{name} is a (list|ndarray), not a torch.Tensor; use torch.as_tensor\({name}\)"
    ):
        call(given)


def test_rows_from_the_end_to_the_start():
    query, key = torch.randn(5, 3), torch.randn(7, 3)
    every = attention_weights(query, key)
    for rows in (slice(None, None, -1), slice(3, 0, -2), slice(9, 2), slice(-2, None)):
        assert torch.equal(attention_weights(query, key, rows=rows), every[range(5)[rows]])
