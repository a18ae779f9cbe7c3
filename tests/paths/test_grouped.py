"""Which key head a query head reads."""

import pytest
import torch

from attention_lib.paths.grouped import expand_groups


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
