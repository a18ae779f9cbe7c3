"""What one training step of one layer costs, small and large: operations and floats counted, milliseconds measured.

The counts are exact. The times are processor time on one machine on one day, the least of several repetitions: cite
their order of magnitude alone.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch.utils.flop_counter import FlopCounterMode

from attention_lib.experiments.control import chosen, digits, progress_bar, seeded
from attention_lib.layers.blocks import EncoderLayer
from attention_lib.models.arguments import check_count

__all__ = ["Cost", "StepCost", "cost_of", "run"]

DEVICE = f"cpu with {os.cpu_count()} cores, 1 thread"
HEADS, BATCH = 8, 8
SIZES = {"smoke": ((32, 64),), "full": ((32, 64), (32, 512), (512, 64), (512, 512))}
REPETITIONS = {"smoke": 1, "full": 5}


class Cost(NamedTuple):
    """Of one layer and one sequence: operations forward, operations of a step, floats of weights, parameters."""

    forward: int
    step: int
    weights: int
    parameters: int


@dataclass(frozen=True)
class StepCost:
    """``sizes`` are (length, width). ``counted`` is for one sequence, ``milliseconds`` for a step with 8 of them."""

    budget: str
    seeds: list[int]
    sizes: list[list[int]]
    counted: dict[str, list[int]]
    milliseconds: list[float]

    def times_slower(self) -> float:
        """The time at the last size over the time at the first."""
        return self.milliseconds[-1] / self.milliseconds[0]

    def summary(self) -> dict[str, object]:
        """Everything."""
        return {"sizes": self.sizes, **self.counted, "ms": self.milliseconds}


RESULT = StepCost


def cost_of(length: int, width: int, *, heads: int = HEADS) -> Cost:
    """Count what one encoder layer does with one sequence; nothing is computed.

    An operation is an addition or a multiplication inside a matrix product; all else is small beside them.

    Args:
        length: Number of tokens n.
        width: d_model, a multiple of ``heads``; the feed-forward network is four times as wide.
        heads: H.

    Returns:
        A :class:`Cost`. A step is a forward and a backward pass.

    Raises:
        OptionError: A count is not a whole number, 1 or more, or ``heads`` does not divide ``width``.

    Example:
        >>> cost_of(32, 64).forward == 24 * 32 * 64**2 + 4 * 32**2 * 64
        True

    Source: torch.utils.flop_counter.
    """
    check_count(length=length, width=width, heads=heads)
    with torch.device("meta"):
        layer, x = EncoderLayer(width, heads, 4 * width), torch.empty(1, length, width, requires_grad=True)
    with FlopCounterMode(display=False) as forward:
        output, weights = layer(x, need_weights=True)
    with FlopCounterMode(display=False) as backward:
        output.sum().backward()
    done = forward.get_total_flops()
    parameters = sum(parameter.numel() for parameter in layer.parameters())
    return Cost(done, done + backward.get_total_flops(), weights.numel(), parameters)


def _milliseconds(length: int, width: int, repetitions: int, generator: torch.Generator) -> float:
    layer, x = EncoderLayer(width, HEADS, 4 * width), torch.randn(BATCH, length, width, generator=generator)
    optimizer = torch.optim.Adam(layer.parameters())
    times = []
    for _ in range(repetitions + 1):  # the first one warms up
        start = time.process_time()
        optimizer.zero_grad()
        layer(x).output.square().mean().backward()
        optimizer.step()
        times.append(1000 * (time.process_time() - start))
    return digits(min(times[1:]), 3)


def run(budget: str = "smoke", *, seeds: list[int] | None = None, progress: bool = False) -> StepCost:
    """Count and time every size.

    Args:
        budget: "smoke" (the small size, once) or "full" (four sizes, 5 repetitions).
        seeds: One seed, of weights and inputs; neither counts nor times depend on it.
        progress: Show a bar.

    Returns:
        A :class:`StepCost`.

    Raises:
        OptionError: Another budget.
    """
    sizes, repetitions = chosen(SIZES, budget), REPETITIONS[budget]
    seeds = [0] if seeds is None else list(seeds)
    costs = [cost_of(length, width) for length, width in sizes]
    counted = {name: [getattr(cost, name) for cost in costs] for name in Cost._fields}
    with seeded(seeds[0]) as generator:
        milliseconds = [
            _milliseconds(length, width, repetitions, generator)
            for length, width in progress_bar(sizes, "step_cost", show=progress)
        ]
    return StepCost(budget, seeds, [list(size) for size in sizes], counted, milliseconds)
