"""Two questions at every place of a round table: how many heads does one attention need to answer both?

Width, parameters and multiplications are the same for every number of heads. One more case has a single head and
a vote that is not linear.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from attention_lib.experiments.control import chosen, digits, progress_bar, seeded
from attention_lib.layers.ablation import without_head
from attention_lib.models.two_answers import TwoAnswerReader
from attention_lib.tasks.two_relations import TwoRelationBatch, two_relation_batch
from attention_lib.training.loop import train

__all__ = ["TwoRelationHeads", "answers_right", "looks", "run", "seats", "train_reader", "without"]

SYMBOLS, SEATS, D_MODEL, BATCH, LEARNING_RATE = 8, 8, 32, 64, 0.01
DATA_TO_TEST = 808


class Budget(NamedTuple):
    seeds: int
    steps: int
    cases: tuple[tuple[int, bool], ...]


LINEAR = tuple((heads, True) for heads in (1, 2, 4, 8, 16))
BUDGETS = {
    "smoke": Budget(1, 200, LINEAR[:2]),
    "full": Budget(8, 400, (*LINEAR, (1, False))),
}


@dataclass(frozen=True)
class TwoRelationHeads:
    """Everything by case: "1" to "16" heads, and "1, nonlinear vote"; pairs are (left neighbour, opposite).

    ``right[case][seed]`` is the pair of shares right; ``looks[case][seed][head]`` the weight on either relation;
    ``ablated[case][seed][head]`` the pair of shares right without that head; ``loss[case][seed][stretch]`` the
    training loss, ``steps`` the batches behind each stretch.
    """

    budget: str
    seeds: list[int]
    chance: float
    steps: list[int]
    loss: dict[str, list[list[float]]]
    right: dict[str, list[list[float]]]
    looks: dict[str, list[list[list[float]]]]
    ablated: dict[str, list[list[list[float]]]]

    def worse(self, case: str) -> list[float]:
        """Share right of the worse of the two answers, seed by seed."""
        return [min(pair) for pair in self.right[case]]

    def better(self, case: str) -> list[float]:
        """Share right of the better of the two answers, seed by seed."""
        return [max(pair) for pair in self.right[case]]

    def summary(self) -> dict[str, str]:
        """Least and most over the seeds, of the worse and of the better answer."""
        return {
            f"{case} heads" if case.isdigit() else f"{case}": (
                f"worse {min(self.worse(case)):.3f} to {max(self.worse(case)):.3f}, "
                f"better {min(self.better(case)):.3f} to {max(self.better(case)):.3f}"
            )
            for case in self.right
        }


RESULT = TwoRelationHeads


class Trained(NamedTuple):
    """A reader, and its training loss batch by batch."""

    reader: TwoAnswerReader
    losses: list[float]


def train_reader(num_heads: int, *, seed: int = 0, steps: int = 200, linear_vote: bool = True) -> Trained:
    """Train one fresh reader, width 32, on 8 symbols at 8 seats, with Adam at 0.01 and batches of 64.

    Args:
        num_heads: H, a divisor of 32.
        seed: Of weights and data.
        steps: Number of batches.
        linear_vote: False puts a hidden layer with a ReLU into the vote.

    Returns:
        The reader and its losses.
    """
    with seeded(seed) as generator:
        reader = TwoAnswerReader(SYMBOLS, SEATS, D_MODEL, num_heads)
        if not linear_vote:
            hidden = nn.Linear(D_MODEL, 2 * D_MODEL)
            reader.add_module("vote", nn.Sequential(hidden, nn.ReLU(), nn.Linear(2 * D_MODEL, 2 * SYMBOLS)))
        batches = (seats(BATCH, generator) for _ in range(steps))
        optimizer = torch.optim.Adam(reader.parameters(), LEARNING_RATE)
        losses = train(reader, batches, _loss, optimizer, clip_norm=None).losses
    return Trained(reader, losses)


def seats(batch: int, generator: torch.Generator | None = None) -> TwoRelationBatch:
    """A batch of round tables; without a generator always the same ones, which no training has seen."""
    generator = torch.Generator().manual_seed(DATA_TO_TEST) if generator is None else generator
    return two_relation_batch(batch, SEATS, symbols=SYMBOLS, generator=generator)


@torch.no_grad()
def answers_right(reader: TwoAnswerReader, batch: int = 512) -> Tensor:
    """Shares right of the left neighbour and of the opposite seat, (2,), on fresh tables."""
    tokens, answers = seats(batch)
    return (reader(tokens).output.argmax(dim=-1) == answers).double().mean(dim=(0, 1))


@torch.no_grad()
def looks(reader: TwoAnswerReader, batch: int = 512) -> Tensor:
    """Mean weight of each head on the left neighbour and on the opposite seat, (H, 2)."""
    weights = reader(seats(batch).tokens, need_weights=True).weights  # (B, H, L, L)
    place = torch.arange(SEATS)
    shares = [weights[..., place, (place - back) % SEATS].double().mean(dim=(0, 2)) for back in (1, SEATS // 2)]
    return torch.stack(shares, dim=-1)


def without(reader: TwoAnswerReader, head: int) -> TwoAnswerReader:
    """The same reader with one head taken out of its output."""
    changed = copy.deepcopy(reader)
    changed.attention = without_head(reader.attention, head)
    return changed


def _loss(reader: nn.Module, batch: TwoRelationBatch) -> Tensor:
    return nn.functional.cross_entropy(reader(batch.tokens).output.flatten(0, 2), batch.answers.flatten())


def run(budget: str = "smoke", *, seeds: list[int] | None = None, progress: bool = False) -> TwoRelationHeads:
    """Train a reader for every case and seed; look where its heads look, and take them out one by one.

    Args:
        budget: "smoke" (1 seed, 200 batches, 1 and 2 heads) or "full" (8 seeds, 400 batches, six cases).
        seeds: Use these instead.
        progress: Show a bar.

    Returns:
        A :class:`TwoRelationHeads`.

    Raises:
        OptionError: Another budget.
    """
    plan, every = chosen(BUDGETS, budget), 10
    seeds = list(range(plan.seeds)) if seeds is None else list(seeds)
    tables: dict[str, dict[str, list]] = {name: {} for name in ("loss", "right", "looks", "ablated")}
    for heads, linear in progress_bar(plan.cases, "two_relation_heads", show=progress):
        case = str(heads) if linear else f"{heads}, nonlinear vote"
        for seed in seeds:
            reader, losses = train_reader(heads, seed=seed, steps=plan.steps, linear_vote=linear)
            stretches = torch.tensor(losses, dtype=torch.float64).unflatten(0, (-1, every)).mean(dim=1)
            ablated = [answers_right(without(reader, head)).tolist() for head in range(heads)]
            for name, numbers in (
                ("loss", stretches),
                ("right", answers_right(reader)),
                ("looks", looks(reader)),
                ("ablated", ablated),
            ):
                tables[name].setdefault(case, []).append(digits(numbers, 4))
    return TwoRelationHeads(budget, seeds, 1 / SYMBOLS, list(range(every, plan.steps + 1, every)), **tables)
