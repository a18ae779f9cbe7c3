"""Do more heads learn faster, or more reliably? Batches until 99 % are right, for several learning rates.

The reader of ``two_relation_heads`` learns either one relation (the left neighbour), for which one head is enough,
or both. Whoever does not arrive within the budget is written down as None.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import nn

from attention_lib.experiments.control import chosen, progress_bar, seeded
from attention_lib.experiments.two_relation_heads import BATCH, D_MODEL, SEATS, SYMBOLS, seats
from attention_lib.models.two_answers import TwoAnswerReader

__all__ = ["HeadConvergence", "batches_needed", "run"]

ENOUGH = 0.99


class Budget(NamedTuple):
    seeds: int
    most: int
    relations: tuple[int, ...]
    learning_rates: tuple[float, ...]
    heads: tuple[int, ...]


BUDGETS = {
    "smoke": Budget(1, 150, (1,), (0.003,), (1, 2, 4, 8, 16)),
    "full": Budget(6, 300, (1, 2), (0.003, 0.01, 0.03, 0.1), (1, 2, 4, 8, 16)),
}


@dataclass(frozen=True)
class HeadConvergence:
    """``needed[relations][learning rate][heads][seed]``: batches until 99 % are right, or None within ``most``."""

    budget: str
    seeds: list[int]
    most: int
    needed: dict[str, dict[str, dict[str, list[int | None]]]]

    def arrived(self, relations: int, learning_rate: float) -> dict[int, list[int]]:
        """Batches needed by those seeds that arrive, by number of heads."""
        by_heads = self.needed[str(relations)][f"{learning_rate:g}"]
        return {int(heads): [n for n in needed if n is not None] for heads, needed in by_heads.items()}

    def summary(self) -> dict[str, str]:
        """Least and most batches, and how many seeds arrive."""
        return {
            f"{relations} relations, rate {rate}, {heads} heads": (
                f"{len(there)} of {len(needed)} arrive" + (f", after {min(there)} to {max(there)}" if there else "")
            )
            for relations, by_rate in self.needed.items()
            for rate, by_heads in by_rate.items()
            for heads, needed in by_heads.items()
            for there in [[n for n in needed if n is not None]]
        }


RESULT = HeadConvergence


def batches_needed(num_heads: int, relations: int, learning_rate: float, *, seed: int, most: int) -> int | None:
    """Batches of 64 until 99 % of a batch are right before the step; None if more than ``most``."""
    with seeded(seed) as generator:
        reader = TwoAnswerReader(SYMBOLS, SEATS, D_MODEL, num_heads)
        optimizer = torch.optim.Adam(reader.parameters(), learning_rate)
        for step in range(most):
            tokens, answers = seats(BATCH, generator)
            votes, answers = reader(tokens).output[:, :, :relations], answers[:, :, :relations]
            if (votes.argmax(dim=-1) == answers).double().mean() >= ENOUGH:
                return step
            loss = nn.functional.cross_entropy(votes.flatten(0, 2), answers.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return None


def run(budget: str = "smoke", *, seeds: list[int] | None = None, progress: bool = False) -> HeadConvergence:
    """Count batches for every number of heads, learning rate and seed; both relations need two heads or more.

    Args:
        budget: "smoke" (1 seed, one relation, rate 0.003) or "full" (6 seeds, 1 and 2 relations, four rates).
        seeds: Use these instead.
        progress: Show a bar.

    Returns:
        A :class:`HeadConvergence`.

    Raises:
        OptionError: Another budget.
    """
    plan = chosen(BUDGETS, budget)
    seeds = list(range(plan.seeds)) if seeds is None else list(seeds)
    needed: dict[str, dict[str, dict[str, list[int | None]]]] = {}
    cases = [(n, rate, heads) for n in plan.relations for rate in plan.learning_rates for heads in plan.heads]
    for relations, rate, heads in progress_bar(cases, "head_convergence", show=progress):
        if heads >= relations:
            by_heads = needed.setdefault(str(relations), {}).setdefault(f"{rate:g}", {})
            by_heads[str(heads)] = [batches_needed(heads, relations, rate, seed=seed, most=plan.most) for seed in seeds]
    return HeadConvergence(budget, seeds, plan.most, needed)
