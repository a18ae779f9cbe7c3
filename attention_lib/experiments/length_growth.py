"""How time and memory of one attention grow with the length: dense, in a window, and decoding with a cache.

Counted is the slope of log(cost) against log(length): 1 is in proportion, 2 is with the square. Times are processor
seconds of this machine: cite the slopes.
"""

from __future__ import annotations

import math
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attention_lib.attention import attention
from attention_lib.errors import OptionError
from attention_lib.experiments.control import chosen, digits, progress_bar, seeded
from attention_lib.experiments.peak_memory import peak_memory
from attention_lib.experiments.stopwatch import interleaved

__all__ = ["WAYS", "LengthGrowth", "run", "slope"]

DEVICE = f"cpu with {os.cpu_count()} cores, 1 thread"
HEADS, WIDTH, WINDOW = 2, 64, 256
CACHED_HEADS = 16  # more: a short cache of few heads would fit into the processor's own, and only a long one not
LINEAR = 1.1  # a slope up to here counts as "in proportion"
FROM = 2048  # below, fixed costs hide the growth
LONGEST = 6.0  # seconds for one length; long calls get fewer rounds


def _weights(query: Tensor, key: Tensor, value: Tensor) -> Any:
    return attention(query, key, value, causal=True, need_weights=True)


def _dense(query: Tensor, key: Tensor, value: Tensor) -> Any:
    return attention(query, key, value, causal=True)


def _window(query: Tensor, key: Tensor, value: Tensor) -> Any:
    return attention(query, key, value, causal=True, window=WINDOW)


def _cached(query: Tensor, key: Tensor, value: Tensor) -> Any:
    return attention(query[..., -1:, :], key, value, causal=True)


WAYS: dict[str, Callable[[Tensor, Tensor, Tensor], Any]] = {
    "weights stored": _weights,
    "dense": _dense,
    "window": _window,
    "cached step": _cached,
}


class Budget(NamedTuple):
    rounds: int
    lengths: dict[str, list[int]]  # of each way


def _lengths(first: int, last: int) -> list[int]:
    return [2**power for power in range(first, last + 1)]


BUDGETS = {
    "smoke": Budget(
        1,
        {"weights stored": _lengths(9, 11), **{name: _lengths(11, 13) for name in ("dense", "window", "cached step")}},
    ),
    "full": Budget(
        9,
        {"weights stored": _lengths(10, 13), **{name: _lengths(10, 16) for name in ("dense", "window", "cached step")}},
    ),
}


@dataclass(frozen=True)
class LengthGrowth:
    """``milliseconds[way]`` and ``peak_bytes[way]``, one number a length of ``lengths[way]``.

    The least of several times is kept, since other work can only add.
    """

    budget: str
    seeds: list[int]
    lengths: dict[str, list[int]]
    milliseconds: dict[str, list[float]]
    peak_bytes: dict[str, list[int]]

    def time_slope(self, way: str) -> float:
        """Slope of log(time) against log(length), from 2,048 on where there are three such lengths."""
        return slope(self.lengths[way], self.milliseconds[way], self._least(way))

    def memory_slope(self, way: str) -> float:
        """The same of the peak memory."""
        return slope(self.lengths[way], self.peak_bytes[way], self._least(way))

    def _least(self, way: str) -> int:
        return FROM if sum(n >= FROM for n in self.lengths[way]) >= 3 else 0

    def summary(self) -> dict[str, object]:
        """Both slopes of each way."""
        lines: dict[str, object] = {}
        for way in self.lengths:
            lines[f"{way}, slope of time"] = digits(self.time_slope(way), 3)
            lines[f"{way}, slope of memory"] = digits(self.memory_slope(way), 3)
        return lines


RESULT = LengthGrowth


def slope(lengths: list[int], costs: list[float] | list[int], least: int = 0) -> float:
    """Least-squares slope of log(cost) against log(length).

    Example:
        >>> slope([1, 2, 4, 8], [7, 3, 12, 48], least=2)  # 3, 12, 48: four times for twice
        2.0
    """
    points = [(math.log2(n), math.log2(max(cost, 1e-12))) for n, cost in zip(lengths, costs, strict=True) if n >= least]
    x, y = (statistics.fmean(axis) for axis in zip(*points, strict=True))
    return sum((a - x) * (b - y) for a, b in points) / sum((a - x) ** 2 for a, _ in points)


def run(
    budget: str = "smoke",
    *,
    seeds: list[int] | None = None,
    progress: bool = False,
    ways: list[str] | None = None,
    rounds: int | None = None,
    device: torch.device | str = "cpu",
) -> LengthGrowth:
    """Measure every way at every length; the ways take turns, and longer lengths come later.

    Args:
        budget: "smoke" (2,048 to 8,192; stored weights from 512) or "full" (1,024 to 65,536; stored weights to 8,192).
        seeds: One seed, of the inputs; neither time nor memory depends on it.
        progress: Show a bar.
        ways: Some of ``WAYS``; None is all.
        rounds: Timings of each; None is the budget's.
        device: Where to measure.

    Returns:
        A :class:`LengthGrowth`.

    Raises:
        OptionError: Another budget, or a way that is not one of ``WAYS``.
    """
    plan = chosen(BUDGETS, budget)
    seeds = [0] if seeds is None else list(seeds)
    unknown = [name for name in ways or () if name not in WAYS]
    if unknown:
        raise OptionError(f"ways has {unknown[0]!r}; choose from {', '.join(WAYS)}")
    lengths = {name: plan.lengths[name] for name in (WAYS if ways is None else ways)}
    milliseconds: dict[str, list[float]] = {name: [] for name in lengths}
    peaks: dict[str, list[int]] = {name: [] for name in lengths}
    with seeded(seeds[0]) as generator, torch.no_grad():
        for n in progress_bar(sorted({n for each in lengths.values() for n in each}), "length_growth", show=progress):
            qkv = torch.randn(3, 1, HEADS, n, WIDTH, generator=generator).to(device)
            calls = {name: _call(name, qkv) for name in lengths if n in lengths[name]}
            repeats = {}
            for name, call in calls.items():
                start = time.process_time()
                peaks[name].append(peak_memory(call, device).bytes)
                if time.process_time() - start > 0.5:
                    repeats[name] = 1  # no need to try how long it takes
            times = interleaved(
                calls, plan.rounds if rounds is None else rounds, device=device, most=LONGEST, repeats=repeats
            )
            for name, taken in times.items():
                milliseconds[name].append(digits(1000 * min(taken), 4))
    return LengthGrowth(budget, seeds, lengths, milliseconds, peaks)


def _call(name: str, qkv: Tensor) -> Callable[[], Any]:
    if name == "cached step":
        qkv = qkv.repeat(1, 1, CACHED_HEADS // HEADS, 1, 1)
    return lambda: WAYS[name](*qkv)
