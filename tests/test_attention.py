"""``attention`` and ``attention_weights``: by hand, then every path against the plain-Python oracle."""

import math

import pytest
import torch
from support import D_V, MASK_KINDS, B, H, L, S, assert_near, mask_of_kind, oracle, random_inputs

from attention_lib import attention, attention_weights

LENGTHS = [(7, 7), (5, 7), (7, 5), (1, 7), (7, 1), (0, 7), (5, 0), (0, 0)]
OPTIONS = [
    {},
    {"causal": True},
    {"window": 1},
    {"window": 3},
    {"window": 4},
    {"causal": True, "window": 1},
    {"causal": True, "window": 3},
    {"scale": 1.0},
    {"scale": -0.3, "causal": True},
]


def compare_with_oracle(query, key, value, mask, options, tolerance=None):
    """Fused path, explicit path and the weights alone."""
    output, weights = oracle(query, key, value, mask, **options)
    fused = attention(query, key, value, mask, **options)
    shown = attention(query, key, value, mask, **options, need_weights=True)
    assert fused.weights is None
    assert fused.output.dtype == shown.output.dtype == shown.weights.dtype == query.dtype
    assert_near(fused.output, output, tolerance)
    assert_near(shown.output, output, tolerance)
    assert_near(shown.weights, weights, tolerance)
    assert_near(attention_weights(query, key, mask, **options), weights, tolerance)


def test_by_hand():
    # scores 0 and ln 3, weights 1/4 and 3/4, output (4 + 3 * 8) / 4
    query = torch.tensor([[1.0, 0.0, 0.0, 0.0]], dtype=torch.float64)
    key = torch.tensor([[0.0, 5, 0, 0], [2 * math.log(3), 0, 5, 0]], dtype=torch.float64)
    output, weights = attention(query, key, torch.tensor([[4.0], [8.0]], dtype=torch.float64), need_weights=True)
    assert weights.tolist() == [pytest.approx([0.25, 0.75], abs=1e-15)]
    assert output.tolist() == [[pytest.approx(7.0, abs=1e-14)]]


def test_causal_by_hand_is_aligned_bottom_right():
    # identical scores: query i, the last but 1 - i, averages the first 2 + i values
    output, weights = attention(
        torch.zeros(2, 1), torch.zeros(3, 1), torch.tensor([[3.0], [6.0], [9.0]]), causal=True, need_weights=True
    )
    assert weights.tolist() == [[0.5, 0.5, 0.0], [pytest.approx(1 / 3)] * 3]
    assert output.tolist() == [[4.5], [6.0]]


@pytest.mark.parametrize("causal", [True, False])
def test_one_query_over_a_cache_sees_every_key(causal):
    query, key, value = random_inputs(1, S)
    assert_near(attention(query, key, value, causal=causal).output, attention(query, key, value).output)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
@pytest.mark.parametrize("kind", MASK_KINDS)
def test_every_path_equals_the_oracle(kind, lengths, options):
    mask = mask_of_kind(kind, *lengths)
    compare_with_oracle(*random_inputs(*lengths), mask, options)


@pytest.mark.parametrize("options", [{}, {"causal": True}, {"causal": True, "window": 17}, {"window": 18}], ids=str)
@pytest.mark.parametrize("kind", ["none", "bool of L S", "bool of B 1 1 S", "bias with -inf of B H L S"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
def test_longer_than_a_vector_register(dtype, kind, options):
    """Kernels take other code there, and some of torch's mistakes show only there."""
    mask = mask_of_kind(kind, 37, 43, batch=2, heads=1, dtype=torch.float32)
    compare_with_oracle(*random_inputs(37, 43, leading=(2, 1), d_k=19, d_v=17, dtype=dtype), mask, options)


@pytest.mark.parametrize("options", [{}, {"causal": True}, {"causal": True, "window": 3}], ids=str)
@pytest.mark.parametrize("lengths", [(5, 7), (7, 5), (7, 7)], ids=str)
@pytest.mark.parametrize("kind", ["none", "bool of B H L S", "bias with -inf of L S"])
def test_float32_equals_the_oracle(kind, lengths, options):
    mask = mask_of_kind(kind, *lengths, dtype=torch.float32)
    compare_with_oracle(*random_inputs(*lengths, dtype=torch.float32), mask, options)


@pytest.mark.parametrize(
    ("leading", "kv_leading"),
    [
        ((), ()),
        ((3,), (3,)),
        ((3,), (1,)),
        ((1,), (3,)),
        ((2, 3), (1, 3)),
        ((2, 3), (1, 1)),
        ((1, 3), (2, 1)),
        ((2, 1), (2, 3)),
        ((2, 1, 3), (2, 5, 3)),
        ((2, 5, 3), (1, 5, 1)),
    ],
    ids=str,
)
@pytest.mark.parametrize("options", [{}, {"causal": True}], ids=str)
@pytest.mark.parametrize("lengths", [(5, 7), (7, 7)], ids=str)
def test_leading_axes_of_any_number_are_shared(leading, kv_leading, options, lengths):
    inputs = random_inputs(*lengths, leading=leading, kv_leading=kv_leading)
    compare_with_oracle(*inputs, None, options)
    compare_with_oracle(*inputs, mask_of_kind("bool of L S", *lengths), options)


@pytest.mark.parametrize("heads", [(6, 3), (6, 2), (6, 1), (6, 6)], ids=str)
@pytest.mark.parametrize("kind", ["none", "bool of B 1 1 S", "bias of B H L S"])
@pytest.mark.parametrize("options", [{}, {"causal": True}, {"causal": True, "window": 2}], ids=str)
def test_grouped_heads(heads, kind, options):
    inputs = random_inputs(leading=(B, heads[0]), kv_leading=(B, heads[1]))
    compare_with_oracle(*inputs, mask_of_kind(kind, heads=heads[0]), options)


def test_grouped_heads_with_five_axes():
    compare_with_oracle(*random_inputs(leading=(2, 5, 6), kv_leading=(2, 5, 3)), None, {"causal": True})


@pytest.mark.parametrize(
    "mask",
    [torch.tensor([True, False, True, True, False, False, True]), torch.tensor(True), torch.tensor([[False]]),
     torch.tensor(0.5), torch.zeros(L, 1), torch.zeros(1, S)],
    ids=lambda mask: f"{mask.dtype} {tuple(mask.shape)}",
)  # fmt: skip
def test_small_masks_are_shared_by_all(mask):
    compare_with_oracle(*random_inputs(), mask, {})
    compare_with_oracle(*random_inputs(), mask, {"causal": True})


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("kind", ["none", "bool of B 1 L S", "bias of B H L S"])
def test_non_contiguous_inputs(need_weights, kind):
    query, key, value = random_inputs()
    mask = mask_of_kind(kind)
    expected = attention(query, key, value, mask, need_weights=need_weights).output
    strided = [tensor.transpose(-2, -1).contiguous().transpose(-2, -1) for tensor in (query, key, value)]
    heads_last = [tensor.transpose(1, 2).contiguous().transpose(1, 2) for tensor in (query, key, value)]
    every_other = [torch.stack((tensor, tensor * 9), dim=-1).flatten(-2)[..., ::2] for tensor in (query, key, value)]
    if mask is not None:
        mask = mask.transpose(-2, -1).contiguous().transpose(-2, -1)
    for inputs in (strided, heads_last, every_other):
        assert not any(tensor.is_contiguous() for tensor in inputs)
        assert_near(attention(*inputs, mask, need_weights=need_weights).output, expected)


@pytest.mark.parametrize(
    "rows", [[2], [4, 0, 0], [-1, 1], [], slice(1, None, 2), slice(None), torch.tensor([3, -5])], ids=str
)
@pytest.mark.parametrize("options", [{}, {"causal": True}, {"causal": True, "window": 2}, {"scale": 2.0}], ids=str)
@pytest.mark.parametrize("kind", ["none", "bool of L S", "bool of B 1 1 S", "bias of B H L S"])
def test_weights_of_some_rows_are_those_rows_of_all(rows, options, kind):
    query, key, _ = random_inputs(leading=(B, 6), kv_leading=(B, 3))
    mask = mask_of_kind(kind, heads=6)
    every = attention_weights(query, key, mask, **options)
    some = attention_weights(query, key, mask, **options, rows=rows)
    assert_near(some, every[..., rows, :])


def test_chosen_rows_of_a_mask_shared_by_all_rows():
    query, key, _ = random_inputs(1, S)  # L = 1: the mask's single row is row 0, not "every row"
    mask = mask_of_kind("bool of B 1 1 S")
    assert_near(
        attention_weights(query, key, mask, rows=[0, -1])[..., 1, :], attention_weights(query, key, mask)[..., 0, :]
    )


def test_integer_rows_of_a_narrow_dtype():
    query, key, _ = random_inputs()
    assert_near(
        attention_weights(query, key, rows=torch.tensor([1], dtype=torch.uint8)),
        attention_weights(query, key)[..., [1], :],
    )


def test_output_does_not_change_with_need_weights():
    query, key, value = random_inputs(dtype=torch.float32)
    for kind in MASK_KINDS:
        mask = mask_of_kind(kind)
        shown = attention(query, key, value, mask, need_weights=True)
        assert_near(attention(query, key, value, mask).output, shown.output)


def test_d_v_may_be_one_or_wider_than_d_k():
    for d_v in (1, D_V):
        compare_with_oracle(*random_inputs(d_k=1, d_v=d_v), None, {"causal": True})


def test_no_batch_entries():
    output, weights = attention(*random_inputs(leading=(0, H)), need_weights=True)
    assert output.shape == (0, H, L, D_V)
    assert weights.shape == (0, H, L, S)
    assert attention(*random_inputs(leading=(0, H))).output.shape == (0, H, L, D_V)
