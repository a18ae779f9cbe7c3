"""Large tables ask for large pages, where there are any; elsewhere nothing changes."""

import sys

import pytest
import torch

from attention_lib import attention_weights
from attention_lib.paths import large_pages
from attention_lib.paths.large_pages import FROM_BYTES, new_table


@pytest.fixture
def asked(monkeypatch):
    """What the system was asked for: (start, bytes, advice)."""
    calls = []
    monkeypatch.setattr(large_pages, "_madvise", lambda: lambda *call: calls.append(call) or 0)
    return calls


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_a_large_table_asks_for_pages_inside_it(asked, dtype):
    table = new_table(torch.empty(1, dtype=dtype), 3, FROM_BYTES // 8, 3)
    assert (table.shape, table.dtype) == ((3, FROM_BYTES // 8, 3), dtype)
    ((start, size, advice),) = asked
    assert start % large_pages.mmap.PAGESIZE == size % large_pages.mmap.PAGESIZE == 0
    assert table.data_ptr() <= start
    assert start + size <= table.data_ptr() + table.nbytes
    assert size > table.nbytes - 2 * large_pages.mmap.PAGESIZE
    assert advice == large_pages._LARGE_PAGES


def test_a_small_one_and_one_without_memory_do_not(asked):
    new_table(torch.empty(1), FROM_BYTES // 4 - 1)
    assert new_table(torch.empty(1, device="meta"), FROM_BYTES).device.type == "meta"
    with torch._subclasses.FakeTensorMode() as mode:
        assert new_table(mode.from_tensor(torch.empty(1)), FROM_BYTES).shape == (FROM_BYTES,)
    assert asked == []


def test_a_system_without_the_call_or_that_refuses_gives_the_same_weights(monkeypatch):
    query, key = torch.randn(2, 2, 2200, 3).unbind()  # 2 x 2200 x 2200 x 4 bytes
    expected = attention_weights(query, key)
    for madvise in (None, lambda *call: -1):
        monkeypatch.setattr(large_pages, "_madvise", lambda madvise=madvise: madvise)
        assert torch.equal(attention_weights(query, key), expected)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="madvise is asked on Linux")
def test_the_system_accepts_the_request():
    table = torch.empty(FROM_BYTES // 4)
    page = large_pages.mmap.PAGESIZE
    start = -(-table.data_ptr() // page) * page
    assert large_pages._madvise()(start, page, 0) == 0  # MADV_NORMAL: known to every kernel
    assert large_pages._madvise()(start + 1, page, 0) == -1  # not the start of a page: answers, and does not crash
