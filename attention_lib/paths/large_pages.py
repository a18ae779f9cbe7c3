"""A large table in fewer pages: on Linux, half of the time of writing a new one goes into asking for its memory.

The system hands memory out page by page, when a page is first written: 8,192 times for 32 MiB in pages of 4 KiB, at
1 to 2 microseconds each. Asked in time, it gives pages of 2 MiB instead, where it has them.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import sys
from collections.abc import Callable

import torch
from torch import Tensor

__all__ = ["new_table"]

FROM_BYTES = 2**25  # smaller blocks are kept by the C library when they are freed, and are not new the next time
_LARGE_PAGES = getattr(mmap, "MADV_HUGEPAGE", None)


def new_table(like: Tensor, *shape: int) -> Tensor:
    """Uninitialised, ``shape``, in the dtype and on the device of ``like``."""
    table = like.new_empty(*shape)
    if table.device.type == "cpu" and table.nbytes >= FROM_BYTES and not torch.compiler.is_compiling():
        _advise(table)
    return table


def _advise(table: Tensor) -> None:
    """Ask for large pages. It is advice: a system without them, or one that refuses, leaves everything as it was."""
    advise = _madvise()
    if advise is None or type(table) is not Tensor:  # a subclass may have no memory of its own
        return
    start = -(-table.data_ptr() // mmap.PAGESIZE) * mmap.PAGESIZE
    stop = (table.data_ptr() + table.nbytes) // mmap.PAGESIZE * mmap.PAGESIZE
    advise(start, stop - start, _LARGE_PAGES)


@functools.cache
def _madvise() -> Callable[..., int] | None:
    if not sys.platform.startswith("linux") or _LARGE_PAGES is None:
        return None
    try:
        function = ctypes.CDLL(None).madvise
    except (OSError, AttributeError):
        return None
    function.argtypes, function.restype = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int), ctypes.c_int
    return function
