"""How far back can a trained network recall the first symbol, and does the way it was taught matter?

Directly: every batch has the length that is asked for. Short to long: the same network starts at length 5 and
gets longer sequences once it has the shorter ones; half of its batches stay with the earlier lengths.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import nn

from attention_lib.experiments.control import chosen, digits, progress_bar, seeded
from attention_lib.experiments.recall_models import build_reader
from attention_lib.tasks.recall import recall_batch

__all__ = ["FirstTokenRecall", "run", "teach_directly", "teach_short_to_long"]

SYMBOLS, LONGEST, BATCH, LEARNING_RATE = 8, 200, 32, 3e-3
STAGES = (5, 10, 20, 50, 100, 200)
MASTERED, IN_A_ROW, STAGE_STEPS = 0.1, 10, 300


class Budget(NamedTuple):
    seeds: int
    steps: int
    lengths: dict[str, tuple[int, ...]]
    curriculum: tuple[str, ...]


BUDGETS = {
    "smoke": Budget(1, 250, {"LSTM": (5, 20, 50), "attention": (20, 200)}, ("LSTM",)),
    "full": Budget(
        5,
        1000,
        {"LSTM": (5, 10, 20, 50, 100, 200), "GRU": (5, 10, 20, 50), "attention": (5, 10, 20, 50, 100, 200)},
        ("LSTM", "GRU"),
    ),
}


@dataclass(frozen=True)
class FirstTokenRecall:
    """Share of first symbols recalled, on fresh sequences; guessing gives ``chance``.

    ``direct[reader][length]`` and ``short_to_long[reader][length]`` have one number a seed; lengths are strings,
    as json wants them. ``steps`` is the budget of each direct training, ``curriculum_steps[reader]`` what the
    short-to-long one used.
    """

    budget: str
    seeds: list[int]
    chance: float
    steps: int
    direct: dict[str, dict[str, list[float]]]
    short_to_long: dict[str, dict[str, list[float]]]
    curriculum_steps: dict[str, list[int]]

    def lengths(self, reader: str) -> list[int]:
        """Lengths at which a reader was trained directly."""
        return [int(length) for length in self.direct[reader]]

    def summary(self) -> dict[str, float | str]:
        """Mean over the seeds, with the range."""
        lines: dict[str, float | str] = {"chance": self.chance}
        for how, table in (("direct", self.direct), ("short to long", self.short_to_long)):
            for reader, by_length in table.items():
                for length, recalled in by_length.items():
                    mean = sum(recalled) / len(recalled)
                    lines[f"{reader} {how} at {length}"] = f"{mean:.2f} ({min(recalled)} to {max(recalled)})"
        return lines


RESULT = FirstTokenRecall


def _train_step(reader: nn.Module, optimizer: torch.optim.Optimizer, length: int, generator: torch.Generator) -> float:
    tokens, answer = recall_batch(BATCH, length, symbols=SYMBOLS, generator=generator)
    loss = nn.functional.cross_entropy(reader(tokens), answer)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(reader.parameters(), 1.0)
    optimizer.step()
    return loss.item()


@torch.no_grad()
def _recalled(reader: nn.Module, length: int, generator: torch.Generator) -> float:
    tokens, answer = recall_batch(512, length, symbols=SYMBOLS, generator=generator)
    return digits((reader(tokens).argmax(dim=-1) == answer).float().mean().item(), 4)


def teach_directly(name: str, length: int, *, steps: int, seed: int) -> float:
    """Train a fresh reader on sequences of one length.

    Args:
        name: "LSTM", "GRU" or "attention".
        length: Length of every sequence.
        steps: Number of batches.
        seed: Of weights and data.

    Returns:
        Share of first symbols recalled on 512 fresh sequences, 0 to 1.
    """
    with seeded(seed) as generator:
        reader = build_reader(name, symbols=SYMBOLS, longest=length)
        optimizer = torch.optim.Adam(reader.parameters(), LEARNING_RATE)
        for _ in range(steps):
            _train_step(reader, optimizer, length, generator)
        return _recalled(reader, length, generator)


def teach_short_to_long(name: str, *, seed: int) -> tuple[dict[str, float], int]:
    """Train a fresh reader on lengths that grow once the shorter ones are mastered.

    A stage is mastered after 10 batches in a row with a loss below 0.1, and ends after 300 at the latest.

    Args:
        name: "LSTM" or "GRU".
        seed: Of weights and data.

    Returns:
        Share recalled at each length, and the number of batches used in all.
    """
    with seeded(seed) as generator:
        reader = build_reader(name, symbols=SYMBOLS, longest=LONGEST)
        optimizer = torch.optim.Adam(reader.parameters(), LEARNING_RATE)
        used = sum(_stage(reader, optimizer, STAGES[: last + 1], generator) for last in range(len(STAGES)))
        return {str(length): _recalled(reader, length, generator) for length in STAGES}, used


def _stage(
    reader: nn.Module, optimizer: torch.optim.Optimizer, lengths: tuple[int, ...], generator: torch.Generator
) -> int:
    in_a_row = 0
    for step in range(STAGE_STEPS):
        any_length = lengths[int(torch.randint(len(lengths), (), generator=generator))]
        loss = _train_step(reader, optimizer, any_length if step % 2 else lengths[-1], generator)
        in_a_row = in_a_row + 1 if loss < MASTERED else 0
        if in_a_row == IN_A_ROW:
            break
    return step + 1


def run(budget: str = "smoke", *, seeds: list[int] | None = None, progress: bool = False) -> FirstTokenRecall:
    """Teach every reader directly at each length, and the recurrent ones from short to long.

    Args:
        budget: "smoke" (1 seed, 250 batches, LSTM and attention) or "full" (5 seeds, 1000 batches, and the GRU).
        seeds: Use these instead.
        progress: Show a bar.

    Returns:
        A :class:`FirstTokenRecall`.

    Raises:
        OptionError: Another budget.
    """
    plan = chosen(BUDGETS, budget)
    seeds = list(range(plan.seeds)) if seeds is None else list(seeds)
    direct: dict[str, dict[str, list[float]]] = {name: {} for name in plan.lengths}
    trainings = [(name, length) for name, lengths in plan.lengths.items() for length in lengths]
    for name, length in progress_bar(trainings, "taught directly", show=progress):
        direct[name][str(length)] = [teach_directly(name, length, steps=plan.steps, seed=seed) for seed in seeds]
    taught = {
        name: [teach_short_to_long(name, seed=seed) for seed in seeds]
        for name in progress_bar(plan.curriculum, "short to long", show=progress)
    }
    short_to_long = {
        name: {str(length): [recalled[str(length)] for recalled, _ in runs] for length in STAGES}
        for name, runs in taught.items()
    }
    used = {name: [steps for _, steps in runs] for name, runs in taught.items()}
    return FirstTokenRecall(budget, seeds, 1 / SYMBOLS, plan.steps, direct, short_to_long, used)
