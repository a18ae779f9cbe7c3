"""Row 13, the other half: the window and the cache cost in proportion to the length."""

from __future__ import annotations

import torch

from attention_lib.bench.table import GROWTH
from attention_lib.bench.verdict import Verdict
from attention_lib.experiments.length_growth import LINEAR, LengthGrowth, run

__all__ = ["growth_verdicts", "measure_growth"]

MUST_BE_LINEAR = ["window", "cached step"]


def measure_growth(device: torch.device, rounds: int) -> LengthGrowth:
    """Both ways from 2,048 to 65,536."""
    return run("full", ways=MUST_BE_LINEAR, rounds=rounds, device=device)


def growth_verdicts(growth: LengthGrowth) -> list[Verdict]:
    """One verdict a way: the slope of log(time) against log(length)."""
    return [
        Verdict(
            GROWTH, f"{way}, 2,048 to 65,536", f"slope of log time against log n at most {LINEAR}",
            {"": LINEAR / growth.time_slope(way)}, "met" if growth.time_slope(way) <= LINEAR else "missed",
            f"slope {growth.time_slope(way):.2f}",
        )
        for way in growth.lengths
    ]  # fmt: skip
