"""One case measured: memory and error of every variant once, then all of them in turn, round after round."""

from __future__ import annotations

import contextlib
import ctypes
import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from attention_lib.bench.case import OURS, Absent, Built, Case, Setting
from attention_lib.bench.kernels import kernel_shares
from attention_lib.experiments.control import digits
from attention_lib.experiments.peak_memory import peak_memory
from attention_lib.experiments.stopwatch import interleaved, settle_threads, threads

__all__ = ["Measured", "Variant", "measure_case"]

SLOW = 0.5  # seconds; less may be what torch and its profiler set up in the very first call


@dataclass
class Variant:
    """What was measured of one way to compute a case.

    ``seconds`` has one list a number of threads, with one entry a round; ``error`` is the largest difference from
    float64 over the largest entry; ``failure`` says why there is nothing; ``first_call`` are the seconds of the first.
    ``kernels`` are the shares of the largest, where they were asked for.
    """

    name: str
    seconds: dict[str, list[float]] = field(default_factory=dict)
    peak_bytes: int | None = None
    error: float | None = None
    failure: str = ""
    first_call: float = 0.0
    kernels: dict[str, float] = field(default_factory=dict)

    def median(self, threads: str) -> float:
        return statistics.median(self.seconds[threads])


@dataclass
class Measured:
    """A case with all its variants, and what the table needs to judge it."""

    row: int
    title: str
    variants: list[Variant]
    absent: dict[str, str]
    sizes: dict[str, int]
    error_peer: str
    multiplications: int
    bytes: int
    weights: int = 0

    def variant(self, name: str) -> Variant | None:
        return next((each for each in self.variants if each.name == name), None)


def measure_case(
    case: Case,
    setting: Setting,
    *,
    rounds: int,
    thread_counts: list[int],
    least: float = 0.01,
    most: float = math.inf,
    settle: float = 0.0,
    tick: Callable[[], object] = lambda: None,
) -> Measured:
    """Build, check and time a case.

    Args:
        case: One line of the table.
        setting: Device and size.
        rounds: How often each variant is timed, for each number of threads.
        thread_counts: Numbers of torch threads, one after the other.
        least: Seconds that one timing lasts at least.
        most: Seconds after which no further round begins.
        settle: Seconds of calls that do not count, before those with several threads.
        tick: Called after each round.

    Returns:
        :class:`Measured`. A variant that raises is kept with its message; the others are measured all the same.
    """
    _empty_heap()
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        try:
            built = case.build(setting)
        except Absent as reason:  # this case cannot exist here at all
            return Measured(case.row, case.title, [], {OURS: str(reason)}, {}, "", 0, 0)
        except (ValueError, RuntimeError, MemoryError) as error:
            return Measured(case.row, case.title, [Variant(OURS, failure=_sentence(error))], {}, {}, "", 0, 0)
        variants = [_looked_at(name, call, built, setting) for name, call in built.variants.items()]
        alive = {each.name: built.variants[each.name] for each in variants if not each.failure}
        plan = {"rounds": rounds, "least": least, "most": most, "after_round": tick}
        for number in thread_counts:
            _time(variants, alive, setting, number, settle=settle, **plan)
        if OURS in alive and setting.device.type == "cpu" and any(each.measure == "time" for each in case.targets):
            with threads(1):
                variants[list(built.variants).index(OURS)].kernels = kernel_shares(alive[OURS])
    return Measured(
        case.row,
        case.title,
        variants,
        built.absent,
        built.sizes,
        built.error_peer,
        built.multiplications,
        built.bytes,
        built.weights,
    )


def _empty_heap() -> None:
    """Give back what the C library of Linux keeps of freed memory.

    A large table that finds room there costs half of one that must be asked for: without this, the cases before would
    decide which of them do.
    """
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def _looked_at(name: str, call: Callable[[], Any], built: Built, setting: Setting) -> Variant:
    """The first call, which also warms up: its peak memory, and how far its result is from float64."""
    variant = Variant(name)
    try:
        start = time.process_time()
        peak = peak_memory(call, setting.device)
        variant.first_call = digits(time.process_time() - start, 3)
        variant.peak_bytes = peak.bytes
        if built.reference is not None and name not in built.incomparable:
            variant.error = _relative_error(built.judged(peak.returned), built.true())
    except Exception as error:  # whatever a peer raises, the bench goes on
        variant.failure = _sentence(error)
    return variant


def _time(
    variants: list[Variant], calls: dict[str, Callable[[], Any]], setting: Setting, number: int, *, settle: float,
    **plan: Any,
) -> None:  # fmt: skip
    """Time the calls with so many threads; ``plan`` is what ``interleaved`` takes."""
    slow = {each.name: 1 for each in variants if each.first_call > SLOW}  # no need to try how slow
    with threads(number):
        if number > 1:
            settle_threads(calls, settle)
        taken = interleaved(calls, device=setting.device, repeats=slow, **plan)
    for each in variants:
        if each.name in taken:
            each.seconds[str(number)] = digits(taken[each.name], 4)


def _relative_error(result: Tensor, true: Tensor) -> float:
    result = result.detach().double()
    if result.shape != true.shape:
        raise ValueError(f"the result has shape {tuple(result.shape)}, the reference {tuple(true.shape)}")
    return digits(((result - true).abs().max() / true.abs().max()).item(), 3)


def _sentence(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0][:160]}"
