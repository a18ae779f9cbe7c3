"""What a second core buys a recurrent layer and an attention layer: milliseconds for one training step.

Times depend on the machine and on what else it does: cite a recorded run, and only orders of magnitude. The
least of several repetitions is kept, with the layers taking turns and a pause before each, since other work can
only add time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import nn

from attention_lib.experiments.control import chosen, digits, progress_bar, seeded
from attention_lib.layers.recurrent import GRU, LSTM, RNN
from attention_lib.layers.self_attention import SelfAttention

__all__ = ["LAYERS", "ThreadSpeedup", "run"]

DEVICE = f"cpu with {os.cpu_count()} cores"
WIDTH, BATCH, THREADS, PAUSE = 64, 4, (1, 2), 0.02
LAYERS: dict[str, Callable[[], nn.Module]] = {
    "RNN, written out": lambda: RNN(WIDTH, WIDTH),
    "GRU, written out": lambda: GRU(WIDTH, WIDTH),
    "LSTM, written out": lambda: LSTM(WIDTH, WIDTH),
    "LSTM, fused (nn.LSTM)": lambda: nn.LSTM(WIDTH, WIDTH, batch_first=True),
    "attention": lambda: SelfAttention(WIDTH),
}


class Budget(NamedTuple):
    repetitions: int
    lengths: list[int]


BUDGETS = {"smoke": Budget(1, [8]), "full": Budget(10, [32, 64, 128, 256, 512])}


@dataclass(frozen=True)
class ThreadSpeedup:
    """``milliseconds[layer][threads][length]`` of one forward and backward pass; threads are strings."""

    budget: str
    seeds: list[int]
    lengths: list[int]
    milliseconds: dict[str, dict[str, list[float]]]

    def speedup(self, layer: str) -> list[float]:
        """Time with one thread over time with two, one number a length; 2 is a second core fully used."""
        one, two = self.milliseconds[layer]["1"], self.milliseconds[layer]["2"]
        return [slow / fast for slow, fast in zip(one, two, strict=True)]

    def summary(self) -> dict[str, object]:
        """Lengths, then times and speedup of each layer."""
        lines: dict[str, object] = {"lengths": self.lengths}
        for layer, by_threads in self.milliseconds.items():
            for threads, times in by_threads.items():
                lines[f"{layer}, ms, {threads} thread"] = [digits(each, 3) for each in times]
            lines[f"{layer}, speedup"] = [digits(each, 3) for each in self.speedup(layer)]
        return lines


RESULT = ThreadSpeedup


def _milliseconds(layer: nn.Module, x: torch.Tensor) -> float:
    time.sleep(PAUSE)
    start = time.perf_counter()
    layer(x)[0].sum().backward()
    return 1000 * (time.perf_counter() - start)


def run(budget: str = "smoke", *, seeds: list[int] | None = None, progress: bool = False) -> ThreadSpeedup:
    """Time every layer, thread count and length.

    Args:
        budget: "smoke" (one length) or "full" (lengths to 512).
        seeds: One seed, of weights and inputs; times do not depend on it.
        progress: Show a bar.

    Returns:
        A :class:`ThreadSpeedup`.

    Raises:
        OptionError: Another budget.
    """
    plan = chosen(BUDGETS, budget)
    seeds = [0] if seeds is None else list(seeds)
    milliseconds: dict[str, dict[str, list[float]]] = {
        name: {str(threads): [] for threads in THREADS} for name in LAYERS
    }
    with seeded(seeds[0]) as generator:
        layers = {name: build() for name, build in LAYERS.items()}
        for length in progress_bar(plan.lengths, "thread_speedup", show=progress):
            x = torch.randn(BATCH, length, WIDTH, generator=generator)
            for (name, threads), least in _least(layers, x, plan.repetitions).items():
                milliseconds[name][str(threads)].append(digits(least, 4))
    return ThreadSpeedup(budget, seeds, plan.lengths, milliseconds)


def _least(layers: dict[str, nn.Module], x: torch.Tensor, repetitions: int) -> dict[tuple[str, int], float]:
    times: dict[tuple[str, int], list[float]] = {(name, threads): [] for threads in THREADS for name in layers}
    for _ in range(repetitions + 1):  # the first one warms up
        for (name, threads), taken in times.items():
            torch.set_num_threads(threads)
            taken.append(_milliseconds(layers[name], x))
    return {key: min(taken[1:]) for key, taken in times.items()}
