"""Does training suffer when the scaling by 1/sqrt(d_k) is forgotten? A two-layer network learns to sort.

Every case is trained twice from the same start on the same batches, scaled and raw. What differs between the
cases: how W_Q and W_K start, and the optimizer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import nn

from attention_lib.experiments.control import chosen, digits, progress_bar, seeded
from attention_lib.experiments.sort_model import SortModel
from attention_lib.tasks.sorting import sort_batch

__all__ = ["CASES", "Case", "Curve", "ScalingTraining", "run", "train_to_sort"]

SYMBOLS, LENGTH, D_MODEL, BATCH = 8, 6, 64, 32
SCALES = {"scaled": None, "raw": 1.0}


class Case(NamedTuple):
    """How a network starts ("unit variance" or "nn.Linear"), and who moves it how fast."""

    start: str
    optimizer: str
    learning_rate: float


CASES = {
    f"{start}, {optimizer} {learning_rate:g}": Case(start, optimizer, learning_rate)
    for start in ("unit variance", "nn.Linear")
    for optimizer, learning_rate in (("Adam", 3e-3), ("Adam", 1e-3), ("SGD", 3e-2))
}


class Budget(NamedTuple):
    seeds: int
    steps: int
    every: int
    cases: tuple[str, ...]


BUDGETS = {
    "smoke": Budget(2, 150, 10, ("unit variance, Adam 0.003",)),
    "full": Budget(5, 900, 30, tuple(CASES)),
}


class Curve(NamedTuple):
    """Mean training loss of each stretch of ``every`` batches; loss and accuracy on fresh data at the end."""

    training: list[float]
    loss: float
    accuracy: float


@dataclass(frozen=True)
class ScalingTraining:
    """``training[case][scale][seed][stretch]``, ``loss`` and ``accuracy[case][scale][seed]``.

    ``steps`` holds the number of batches behind each stretch of the training curve, counted from the start.
    """

    budget: str
    seeds: list[int]
    steps: list[int]
    training: dict[str, dict[str, list[list[float]]]]
    loss: dict[str, dict[str, list[float]]]
    accuracy: dict[str, dict[str, list[float]]]

    def overlap(self, case: str) -> bool:
        """Whether some raw network ends with a loss as low as some scaled one's."""
        return min(self.loss[case]["raw"]) <= max(self.loss[case]["scaled"])

    def summary(self) -> dict[str, str]:
        """Loss and accuracy at the end, least and most over the seeds."""
        return {
            f"{case}: {scale}": f"loss {_span(self.loss[case][scale])}, right {_span(self.accuracy[case][scale])}"
            for case, by_scale in self.loss.items()
            for scale in by_scale
        }


RESULT = ScalingTraining


def _span(numbers: list[float]) -> str:
    return f"{min(numbers):.3f} to {max(numbers):.3f}"


def train_to_sort(case: Case, scale: float | None, *, steps: int, seed: int, every: int = 10) -> Curve:
    """Train one fresh network to sort 6 of 8 symbols, width 64.

    Args:
        case: Start and optimizer; SGD has momentum 0.9.
        scale: Factor on the dot products; None is 1/sqrt(d_k), 1.0 forgets the scaling.
        steps: Number of batches of 32.
        seed: Of weights and data.
        every: Length of the stretches over which the training loss is averaged.

    Returns:
        A :class:`Curve`; its loss is the cross entropy a symbol on 256 fresh sequences.
    """
    with seeded(seed) as generator:
        model = SortModel(SYMBOLS, LENGTH, D_MODEL, scale=scale, unit_variance=case.start == "unit variance")
        optimizer = _optimizer(case, model)
        losses = []
        for _ in range(steps):
            loss, _ = _score(model, BATCH, generator)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        with torch.no_grad():
            loss, right = _score(model, 256, generator)
    stretches = torch.tensor(losses, dtype=torch.float64).unflatten(0, (-1, every)).mean(dim=1)
    return Curve(digits(stretches, 4), digits(loss.item(), 4), digits(right.item(), 4))


def _optimizer(case: Case, model: nn.Module) -> torch.optim.Optimizer:
    if case.optimizer == "SGD":
        return torch.optim.SGD(model.parameters(), case.learning_rate, momentum=0.9)
    return torch.optim.Adam(model.parameters(), case.learning_rate)


def _score(model: nn.Module, batch: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    tokens, answer = sort_batch(batch, LENGTH, symbols=SYMBOLS, generator=generator)
    votes = model(tokens)  # (B, L, symbols)
    loss = nn.functional.cross_entropy(votes.flatten(0, 1), answer.flatten())
    return loss, (votes.argmax(dim=-1) == answer).float().mean()


def run(budget: str = "smoke", *, seeds: list[int] | None = None, progress: bool = False) -> ScalingTraining:
    """Train every case scaled and raw, for every seed.

    Args:
        budget: "smoke" (2 seeds, 150 batches, one case) or "full" (5 seeds, 900 batches, six cases).
        seeds: Use these instead.
        progress: Show a bar.

    Returns:
        A :class:`ScalingTraining`.

    Raises:
        OptionError: Another budget.
    """
    plan = chosen(BUDGETS, budget)
    seeds = list(range(plan.seeds)) if seeds is None else list(seeds)
    curves: dict[str, dict[str, list[Curve]]] = {case: {} for case in plan.cases}
    trainings = [(case, scale) for case in plan.cases for scale in SCALES]
    for case, scale in progress_bar(trainings, "scaling_training", show=progress):
        curves[case][scale] = [
            train_to_sort(CASES[case], SCALES[scale], steps=plan.steps, seed=seed, every=plan.every) for seed in seeds
        ]
    tables = {part: _table(curves, part) for part in Curve._fields}
    return ScalingTraining(budget, seeds, list(range(plan.every, plan.steps + 1, plan.every)), **tables)


def _table(curves: dict[str, dict[str, list[Curve]]], part: str) -> dict[str, dict[str, list[Any]]]:
    return {
        case: {scale: [getattr(curve, part) for curve in runs] for scale, runs in by_scale.items()}
        for case, by_scale in curves.items()
    }
