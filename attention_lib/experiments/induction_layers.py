"""Repeated random tokens: one layer of attention against two, with one length or with many.

With one length the token to name always stands at the same distance, and one layer can learn the distance. With many
lengths it has to be *found*, which takes a head that looks at the token before, and one above it that uses this.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from attention_lib.experiments.control import chosen, digits, progress_bar, seeded
from attention_lib.layers.stacks import LayerSpec
from attention_lib.models.language_model import LanguageModel
from attention_lib.tasks.induction import InductionBatch, induction_batch
from attention_lib.training.loop import train

__all__ = ["InductionLayers", "foretold", "looks", "repeated", "run", "train_model"]

SYMBOLS, D_MODEL, BATCH, LEARNING_RATE = 16, 64, 32, 0.003
LENGTHS = {"one length": (7, 7), "many lengths": (4, 10)}
TEST = (5, 7, 9)
DATA_TO_TEST = 818


class Budget(NamedTuple):
    seeds: int
    steps: int
    lengths: tuple[str, ...]


BUDGETS = {"smoke": Budget(1, 150, ("many lengths",)), "full": Budget(5, 400, tuple(LENGTHS))}


@dataclass(frozen=True)
class InductionLayers:
    """``right[lengths][layers][seed]``: shares foretold at each half of ``halves``.

    ``looks[lengths][layers][seed][layer]``: weight on the token before, and on the token after the earlier copy.
    ``loss[lengths][layers][seed][stretch]``: training loss, ``steps`` the batches behind each stretch.
    """

    budget: str
    seeds: list[int]
    halves: list[int]
    steps: list[int]
    loss: dict[str, dict[str, list[list[float]]]]
    right: dict[str, dict[str, list[list[float]]]]
    looks: dict[str, dict[str, list[list[list[float]]]]]

    def at(self, half: int, lengths: str, layers: int) -> list[float]:
        """Share foretold at one half, seed by seed."""
        return [shares[self.halves.index(half)] for shares in self.right[lengths][str(layers)]]

    def summary(self) -> dict[str, str]:
        """Least and most over the seeds at each half."""
        return {
            f"{lengths}, {layers} layers": ", ".join(
                f"half {half}: {min(at):.3f} to {max(at):.3f}"
                for half in self.halves
                for at in [self.at(half, lengths, int(layers))]
            )
            for lengths, by_layers in self.right.items()
            for layers in by_layers
        }


RESULT = InductionLayers


class Trained(NamedTuple):
    """A model, and its training loss batch by batch."""

    model: LanguageModel
    losses: list[float]


def train_model(num_layers: int, lengths: str = "many lengths", *, seed: int = 0, steps: int = 150) -> Trained:
    """Train one fresh decoder, one head of width 64 a layer, on repeated random tokens; Adam at 0.003.

    Args:
        num_layers: 1 or 2, or more.
        lengths: "one length" (7 tokens, then the same 7) or "many lengths" (4 to 10, anew for each batch).
        seed: Of weights and data.
        steps: Number of batches of 32.

    Returns:
        The model and its losses.
    """
    shortest, longest = LENGTHS[lengths]
    with seeded(seed) as generator:
        spec = LayerSpec(D_MODEL, 1, 2 * D_MODEL, norm_first=True)
        model = LanguageModel(SYMBOLS, spec, num_layers, longest=2 * LENGTHS["many lengths"][1])
        halves = torch.randint(shortest, longest + 1, (steps,), generator=generator).tolist()
        batches = (repeated(half, BATCH, generator) for half in halves)
        losses = train(model, batches, _loss, torch.optim.Adam(model.parameters(), LEARNING_RATE)).losses
    return Trained(model, losses)


def repeated(half: int, batch: int = 256, generator: torch.Generator | None = None) -> InductionBatch:
    """Random tokens, then the same again; without a generator always the same, which no training has seen."""
    generator = torch.Generator().manual_seed(DATA_TO_TEST) if generator is None else generator
    return induction_batch(batch, half, symbols=SYMBOLS, generator=generator)


@torch.no_grad()
def foretold(model: LanguageModel, half: int) -> float:
    """Share of the second copy that is foretold."""
    tokens, answer, known = repeated(half)
    return (model(tokens).logits.argmax(dim=-1) == answer)[:, known].double().mean().item()


@torch.no_grad()
def looks(model: LanguageModel, half: int = 7) -> list[list[float]]:
    """For each layer: mean weight in the first copy on the token before, in the second after the earlier copy."""
    first, second = torch.arange(1, half), torch.arange(half, 2 * half - 1)
    return [
        [
            weights[:, :, first, first - 1].double().mean().item(),
            weights[:, :, second, second - half + 1].double().mean().item(),
        ]
        for weights in model(repeated(half).tokens, need_weights=True).weights
    ]


def _loss(model: nn.Module, batch: InductionBatch) -> Tensor:
    votes = model(batch.tokens).logits[:, batch.known]
    return nn.functional.cross_entropy(votes.flatten(0, 1), batch.answer[:, batch.known].flatten())


def run(budget: str = "smoke", *, seeds: list[int] | None = None, progress: bool = False) -> InductionLayers:
    """Train one and two layers, for every choice of lengths and every seed.

    Args:
        budget: "smoke" (1 seed, 150 batches, many lengths) or "full" (5 seeds, 400 batches, both).
        seeds: Use these instead.
        progress: Show a bar.

    Returns:
        An :class:`InductionLayers`.

    Raises:
        OptionError: Another budget.
    """
    plan, every = chosen(BUDGETS, budget), 10
    seeds = list(range(plan.seeds)) if seeds is None else list(seeds)
    tables: dict[str, dict[str, dict[str, list]]] = {name: {} for name in ("loss", "right", "looks")}
    cases = [(lengths, layers) for lengths in plan.lengths for layers in (1, 2)]
    for lengths, layers in progress_bar(cases, "induction_layers", show=progress):
        for seed in seeds:
            model, losses = train_model(layers, lengths, seed=seed, steps=plan.steps)
            stretches = torch.tensor(losses, dtype=torch.float64).unflatten(0, (-1, every)).mean(dim=1)
            right = [foretold(model, half) for half in TEST]
            for name, numbers in (("loss", stretches), ("right", right), ("looks", looks(model))):
                tables[name].setdefault(lengths, {}).setdefault(str(layers), []).append(digits(numbers, 4))
    return InductionLayers(budget, seeds, list(TEST), list(range(every, plan.steps + 1, every)), **tables)
