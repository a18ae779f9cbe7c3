"""The most memory that torch's tensors take during a call, above what was there before: exact, and the same each time.

Every allocation and release that torch's allocator makes is recorded, the temporary buffers inside kernels too.
(What a process occupies, as the system counts it, would miss memory that was freed before and is used again.)
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch.profiler import ProfilerActivity, profile

__all__ = ["Peak", "peak_memory"]


class Peak(NamedTuple):
    """``bytes`` at the peak, and what the call returned."""

    bytes: int
    returned: Any


def peak_memory(call: Callable[[], Any], device: torch.device | str = "cpu") -> Peak:
    """Call once and watch torch's allocator.

    Args:
        call: Function without arguments. What it returns is alive at the end, and so part of the peak.
        device: "cpu" or a CUDA device.

    Returns:
        :class:`Peak`.

    Example:
        >>> peak_memory(lambda: torch.ones(1000).sum() + torch.ones(500).sum()).bytes // 1000  # 4 bytes a number
        4
    """
    if torch.device(device).type == "cuda":
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        returned = call()
        torch.cuda.synchronize()
        return Peak(torch.cuda.max_memory_allocated() - before, returned)
    return _peak_on_cpu(call)


def _peak_on_cpu(call: Callable[[], Any]) -> Peak:
    profiler = profile(activities=[ProfilerActivity.CPU], profile_memory=True)
    with _quiet():
        profiler.start()
    try:
        returned = call()
    finally:
        with _quiet():
            profiler.stop()
    held = most = 0
    events: Any = profiler.profiler.kineto_results.events()  # type: ignore[union-attr]
    changes = ((event.start_ns(), event.nbytes()) for event in events if event.name() == "[memory]")
    for _, change in sorted(changes, key=lambda pair: pair[0]):
        held += change
        most = max(most, held)
    return Peak(most, returned)


@contextmanager
def _quiet() -> Iterator[None]:
    """No words on the error channel: torch's profiler announces its start and end there, whatever it is told."""
    sys.stderr.flush()
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(nowhere)
        os.close(kept)
