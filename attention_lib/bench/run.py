"""The whole bench: rows in turn, verdicts, and all it takes to repeat them."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any

import torch

from attention_lib.bench.case import Case, Setting
from attention_lib.bench.growth import growth_verdicts, measure_growth
from attention_lib.bench.inputs import SEED
from attention_lib.bench.limits import explained_verdicts
from attention_lib.bench.machine import describe, load
from attention_lib.bench.measure import Measured, measure_case
from attention_lib.bench.roof import Roof, measure_roof
from attention_lib.bench.verdict import Verdict
from attention_lib.experiments.length_growth import LengthGrowth
from attention_lib.experiments.peak_memory import peak_memory

__all__ = ["Report", "run_bench"]


@dataclass
class Report:
    """A run: what it was asked, on what, what came out. ``load`` is before and after."""

    command: str
    date: str
    torch: str
    seed: int
    rounds: int
    threads: list[int]
    quick: bool
    machine: dict[str, object]
    load: list[float | None]
    roof: Roof
    cases: list[Measured]
    growth: LengthGrowth | None
    verdicts: list[Verdict]

    def as_json(self) -> dict[str, Any]:
        """Plain numbers, names and lists."""
        plain = asdict(self)
        plain["roof"] = self.roof._asdict()
        return plain

    def failed(self) -> bool:
        """Whether a variant of ours raised."""
        return any("ours raised" in verdict.why for verdict in self.verdicts)


def run_bench(
    cases: list[Case],
    setting: Setting,
    *,
    rounds: int,
    thread_counts: list[int],
    growth: bool,
    command: str = "",
    tick: Callable[[str], object] = lambda what: None,
) -> Report:
    """Measure the cases one after the other and judge them.

    Args:
        cases: Of the table.
        setting: Device and size.
        rounds: Timings of every variant for each number of threads; three are enough where no target is of time.
        thread_counts: Numbers of torch threads.
        growth: Whether to measure the slopes of row 13.
        command: What was typed, for the record.
        tick: Told what is measured, once a round.

    Returns:
        A :class:`Report`.
    """
    before = load()
    peak_memory(lambda: None, setting.device)  # sets the profiler up, which takes a second
    roof = measure_roof(setting.device, thread_counts, quick=setting.quick)
    measured, verdicts = [], []
    for case in cases:
        result = measure_case(
            case, setting, rounds=case.rounds(rounds), thread_counts=thread_counts,
            least=0.003 if setting.quick else 0.02, most=1.5 if setting.quick else math.inf,
            settle=0.2 if setting.quick else 1.0, tick=functools.partial(tick, case.title),
        )  # fmt: skip
        measured.append(result)
        verdicts += explained_verdicts(result, case.targets, roof)
    slopes = None
    if growth:
        tick("growth with the length")
        slopes = measure_growth(setting.device, min(rounds, 5))
        verdicts += growth_verdicts(slopes)
    verdicts.sort(key=lambda verdict: verdict.row)
    return Report(
        command, date.today().isoformat(), torch.__version__.split("+")[0], SEED, rounds, thread_counts, setting.quick,
        describe(setting.device), [before, load()], roof, measured, slopes, verdicts,
    )  # fmt: skip
