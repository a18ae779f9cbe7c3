"""Which kernels take the time of a call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.profiler import ProfilerActivity, profile

__all__ = ["kernel_shares"]

SHOWN = 4


def kernel_shares(call: Callable[[], Any]) -> dict[str, float]:
    """The largest kernels of a call and their shares of its time, as the profiler of torch sees them; on a CPU.

    Example:
        >>> import torch
        >>> square = torch.ones(500, 500)
        >>> next(iter(kernel_shares(lambda: square @ square)))
        'mm'
    """
    call()
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        call()
    times = {each.key.removeprefix("aten::"): each.self_cpu_time_total for each in seen.key_averages()}
    largest = sorted(times, key=lambda name: -times[name])[:SHOWN]
    return {name: round(times[name] / max(sum(times.values()), 1e-9), 3) for name in largest}
