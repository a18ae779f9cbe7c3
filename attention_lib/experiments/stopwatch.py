"""Time that other work on the machine disturbs least: processor seconds, all candidates taking turns."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch

__all__ = ["calls_for", "interleaved", "seconds_of", "settle_threads", "threads"]

Call = Callable[[], Any]


@contextmanager
def threads(number: int) -> Iterator[None]:
    """That many torch threads inside the block."""
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def seconds_of(call: Call, calls: int = 1, device: torch.device | str = "cpu") -> float:
    """Seconds for one of ``calls`` calls.

    Args:
        call: Function without arguments.
        calls: How many are measured together, 1 or more.
        device: Where they run.

    Returns:
        On the CPU the process's seconds on all its processors; on a GPU the time between two of its own events.

    Example:
        >>> seconds_of(lambda: sum(range(1000)), calls=3) > 0
        True
    """
    if torch.device(device).type == "cuda":
        return _seconds_on_gpu(call, calls)
    start = time.process_time()
    for _ in range(calls):
        call()
    return (time.process_time() - start) / calls


def _seconds_on_gpu(call: Call, calls: int) -> float:
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda.synchronize()
    start.record()
    for _ in range(calls):
        call()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) / 1000 / calls


def calls_for(call: Call, least: float, device: torch.device | str = "cpu") -> int:
    """How many calls take at least ``least`` seconds together; a shorter stretch would measure the clock.

    Example:
        >>> calls_for(lambda: None, least=0.0)
        1
    """
    return max(1, math.ceil(least / max(seconds_of(call, 1, device), 1e-7)))


def settle_threads(calls: Mapping[str, Call], seconds: float) -> None:
    """Call in turn, uncounted: woken threads share one core until the system has spread them, and cost up to twice.

    Args:
        calls: name -> function without arguments.
        seconds: No further turn begins after so long; one second is enough.
    """
    stop = time.perf_counter() + seconds
    while calls and time.perf_counter() < stop:
        for call in calls.values():
            call()


def interleaved(
    calls: Mapping[str, Call],
    rounds: int,
    *,
    device: torch.device | str = "cpu",
    least: float = 0.01,
    most: float = math.inf,
    repeats: Mapping[str, int] | None = None,
    after_round: Callable[[], object] = lambda: None,
) -> dict[str, list[float]]:
    """Time every call once a round, for several rounds, each round starting with another one.

    What changes while the rounds go on, heat or other programs, then meets all candidates alike.

    Args:
        calls: name -> function without arguments. Call each once before: the first call is not like the others.
        rounds: Number of rounds, 1 or more.
        device: Where the calls run.
        least: Seconds that one measurement lasts at least, by repeating short calls.
        most: After so many seconds no further round begins; at least one is complete.
        repeats: name -> calls that make one measurement, where that is known; others are found by trying.
        after_round: Called after each round, to move a progress bar.

    Returns:
        name -> seconds of one call, one number a round.

    Example:
        >>> taken = interleaved({"sum": lambda: sum(range(9)), "max": lambda: max(range(9))}, 3, least=0.0)
        >>> {name: len(seconds) for name, seconds in taken.items()}
        {'sum': 3, 'max': 3}
    """
    names = list(calls)
    times = {name: (repeats or {}).get(name) or calls_for(calls[name], least, device) for name in names}
    taken: dict[str, list[float]] = {name: [] for name in names}
    collecting = gc.isenabled()
    gc.disable()
    try:
        for turn in range(rounds):
            first = turn % max(1, len(names))
            for name in names[first:] + names[:first]:
                taken[name].append(seconds_of(calls[name], times[name], device))
            after_round()
            if sum(times[name] * sum(taken[name]) for name in names) > most:
                break
    finally:
        if collecting:
            gc.enable()
    return taken
