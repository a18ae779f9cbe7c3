"""Which key head a query head reads."""

import pytest
import torch
from support import assert_near, oracle, random_inputs

from attention_lib import attention
from attention_lib.experiments.work_counts import work_of
from attention_lib.paths.grouped import expand_groups, fits_fold, folded_attention


def heads_of(*leading):
    """A tensor whose every entry is the number of its head."""
    return torch.arange(float(leading[-1]))[:, None, None].expand(*leading, 5, 2)


@pytest.mark.parametrize(
    ("heads", "groups", "read"),
    [(6, 3, [0, 0, 1, 1, 2, 2]), (6, 2, [0, 0, 0, 1, 1, 1]), (4, 4, [0, 1, 2, 3]), (4, 2, [0, 0, 1, 1])],
)
@pytest.mark.parametrize("before", [(3,), (2, 3)], ids=str)
def test_head_h_reads_group_h_over_group_size(before, heads, groups, read):
    expanded = expand_groups(torch.zeros(*before, heads, 7, 2), heads_of(*before, groups))
    assert expanded.shape == (*before, heads, 5, 2)
    assert expanded[..., 0, 0].flatten(0, -2)[-1].tolist() == read


@pytest.mark.parametrize("query", [(3, 6, 7, 2), (3, 1, 7, 2), (6, 7, 2), (7, 2)], ids=str)
def test_nothing_is_copied_where_nothing_is_grouped(query):
    for heads in (1, query[-3] if len(query) > 2 else 1):
        key = torch.zeros(*query[:-3], heads, 5, 2) if len(query) > 2 else torch.zeros(5, 2)
        assert expand_groups(torch.zeros(query), key) is key
    if query[1] == 1:
        several = torch.zeros(3, 6, 5, 2)
        assert expand_groups(torch.zeros(query), several) is several


@pytest.mark.parametrize("queries", [1, 2, 5])
@pytest.mark.parametrize("groups", [1, 2, 3])
@pytest.mark.parametrize(
    "mask",
    [None, (1, 1), (5, 7), (2, 1, 1, 7), (2, 6, 1, 7), (2, 1, 5, 7), (2, 6, 5, 7), (1, 6, 5, 1), (7,), ()],
    ids=str,
)
@pytest.mark.parametrize("biased", [False, True])
def test_folded_equals_the_oracle(groups, queries, mask, biased):
    query, key, value = random_inputs(queries, 7, leading=(2, 6), kv_leading=(2, groups))
    if mask is not None:
        sizes = [queries if size == 5 else size for size in mask]
        mask = torch.randn(sizes, dtype=torch.float64) if biased else torch.rand(sizes) < 0.6
    assert fits_fold(query, key)
    expected, _ = oracle(query, key, value, mask)
    assert_near(folded_attention(query, key, value, mask, scale=None), expected)
    expected, _ = oracle(query, key, value, mask, causal=True, window=3)
    assert_near(attention(query, key, value, mask, causal=True, window=3).output, expected)


def test_folding_copies_no_keys():
    query, key = torch.zeros(1, 8, 1, 4), torch.zeros(1, 2, 1024, 4)
    for mask in (None, torch.ones(1, 1, 1, 1024, dtype=torch.bool)):
        work = work_of(lambda mask=mask: attention(query, key, key, mask, causal=True))
        assert work.largest < key.nbytes
        assert work.multiplications == 8 * 1024 * (4 + 4)


def test_folding_is_for_few_queries_over_groups():
    def fits(queries, heads, groups, *, batch=2):
        return fits_fold(torch.zeros(2, heads, queries, 3), torch.zeros(batch, groups, 40, 3))

    assert fits(1, 6, 2)
    assert fits(16, 6, 1)
    assert not fits(17, 6, 2)
    assert not fits(1, 6, 6)
    assert not fits(1, 6, 2, batch=1)
    assert not fits_fold(torch.zeros(6, 1, 3), torch.zeros(2, 40, 3))


def test_gradcheck_of_folded_heads():
    inputs = random_inputs(2, 5, leading=(1, 6), kv_leading=(1, 2), d_k=2, d_v=3)
    inputs = [tensor.requires_grad_() for tensor in inputs]
    mask = torch.rand(6, 2, 5)[None] < 0.7
    assert torch.autograd.gradcheck(lambda *qkv: attention(*qkv, mask, causal=True).output, inputs)
