"""A two-layer model small enough to run in a page: trained on repeated random letters, then rounded to bytes.

It is the model of ``induction_layers`` at less than half the width. The record keeps the weights themselves, so that
the page and the chapter show the same model on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from attention_lib.experiments.control import chosen, digits, progress_bar, seeded
from attention_lib.experiments.induction_layers import SYMBOLS, foretold, looks
from attention_lib.layers.stacks import LayerSpec
from attention_lib.models.language_model import LanguageModel
from attention_lib.tasks.induction import InductionBatch, induction_batch
from attention_lib.training.loop import train

__all__ = ["TinyInduction", "new_model", "run"]

SPEC = LayerSpec(d_model=28, num_heads=1, d_ff=16, norm_first=True)
LAYERS, LONGEST, BATCH, LEARNING_RATE = 2, 20, 64, 0.003
SHORTEST_HALF, LONGEST_HALF = 2, 10
TEST = (4, 5, 7, 9)


class Budget(NamedTuple):
    seeds: int
    steps: int


BUDGETS = {"smoke": Budget(1, 100), "full": Budget(5, 1000)}


def new_model() -> LanguageModel:
    """The model without training: 16 letters, two layers of one head of width 28, up to 20 positions."""
    return LanguageModel(SYMBOLS, SPEC, LAYERS, longest=LONGEST)


@dataclass(frozen=True)
class TinyInduction:
    """``right[seed]``: shares foretold at each half of ``halves``; ``looks[seed][layer]``: as in ``induction_layers``.

    ``parameters`` is the first seed's model: name -> its rows as whole numbers from -127 to 127, and
    ``scales`` what each row is multiplied by. ``rounded``: shares that this rounded model foretells. ``moved``: how
    far rounding moves a logit at most, of logits as large as ``largest``.
    """

    budget: str
    seeds: list[int]
    halves: list[int]
    steps: int
    right: list[list[float]]
    looks: list[list[list[float]]]
    rounded: list[float]
    moved: float
    largest: float
    parameters: dict[str, list[list[int]]]
    scales: dict[str, list[float]]

    def summary(self) -> dict[str, str]:
        """Least share foretold over the seeds, and what rounding does."""
        at = {half: min(shares[i] for shares in self.right) for i, half in enumerate(self.halves)}
        numbers = sum(len(row) for rows in self.parameters.values() for row in rows)
        return {
            "least share foretold": ", ".join(f"half {half}: {share:.3f}" for half, share in at.items()),
            "least share foretold, rounded": f"{min(self.rounded):.3f}",
            "weights": f"{numbers} numbers of one byte",
            "a logit moves by at most": f"{self.moved:.3f} of {self.largest:.1f}",
        }

    def model(self) -> LanguageModel:
        """The recorded model, rounded, ready to run."""
        return _from_bytes(self.parameters, self.scales)


RESULT = TinyInduction


def train_tiny(seed: int, steps: int) -> LanguageModel:
    """Train on copies of 2 to 10 letters, a new length for each batch."""
    with seeded(seed) as generator:
        model = new_model()
        halves = torch.randint(SHORTEST_HALF, LONGEST_HALF + 1, (steps,), generator=generator).tolist()
        batches = (induction_batch(BATCH, half, symbols=SYMBOLS, generator=generator) for half in halves)
        train(model, batches, _loss, torch.optim.Adam(model.parameters(), LEARNING_RATE))
    return model


def _loss(model: nn.Module, batch: InductionBatch) -> Tensor:
    votes = model(batch.tokens).logits[:, batch.known]
    return nn.functional.cross_entropy(votes.flatten(0, 1), batch.answer[:, batch.known].flatten())


def _to_bytes(tensor: Tensor) -> tuple[list[list[int]], list[float]]:
    """Each row in 255 steps of its own largest number."""
    rows = tensor if tensor.ndim == 2 else tensor[None]
    scales = digits((rows.abs().amax(dim=1) / 127).clamp_min(1e-12), 6)
    whole = (rows / torch.tensor(scales)[:, None]).round().clamp(-127, 127).int()
    return whole.tolist(), scales


def _from_bytes(parameters: dict[str, list[list[int]]], scales: dict[str, list[float]]) -> LanguageModel:
    model = new_model()
    state = {}
    for name, tensor in model.state_dict().items():
        rows = torch.tensor(parameters[name]).float() * torch.tensor(scales[name])[:, None]
        state[name] = rows.reshape(tensor.shape)
    model.load_state_dict(state)
    return model.eval().requires_grad_(False)


def _shares(model: LanguageModel) -> list[float]:
    return digits([foretold(model, half) for half in TEST], 4)


@torch.no_grad()
def _moved(model: LanguageModel, rounded: LanguageModel) -> tuple[float, float]:
    """How far a logit moves at most, and how large logits are, on letters that no training has seen."""
    tokens = induction_batch(64, 7, symbols=SYMBOLS, generator=torch.Generator().manual_seed(404)).tokens
    before, after = model(tokens).logits, rounded(tokens).logits
    return (before - after).abs().max().item(), before.abs().max().item()


def run(budget: str = "smoke", *, seeds: list[int] | None = None, progress: bool = False) -> TinyInduction:
    """Train one model a seed, and round the first.

    Args:
        budget: "smoke" (1 seed, 100 batches) or "full" (5 seeds, 1000 batches).
        seeds: Use these instead.
        progress: Show a bar.

    Returns:
        A :class:`TinyInduction`; its shares and looks are those of the models before rounding.

    Raises:
        OptionError: Another budget.
    """
    plan = chosen(BUDGETS, budget)
    seeds = list(range(plan.seeds)) if seeds is None else list(seeds)
    models = [train_tiny(seed, plan.steps) for seed in progress_bar(seeds, "tiny_induction", show=progress)]
    parts = {name: _to_bytes(tensor) for name, tensor in models[0].state_dict().items()}
    parameters = {name: whole for name, (whole, _) in parts.items()}
    scales = {name: scale for name, (_, scale) in parts.items()}
    small = _from_bytes(parameters, scales)
    moved, largest = digits(list(_moved(models[0], small)), 4)
    return TinyInduction(
        budget=budget,
        seeds=seeds,
        halves=list(TEST),
        steps=plan.steps,
        right=[_shares(model) for model in models],
        looks=[digits(looks(model), 4) for model in models],
        rounded=_shares(small),
        moved=moved,
        largest=largest,
        parameters=parameters,
        scales=scales,
    )
