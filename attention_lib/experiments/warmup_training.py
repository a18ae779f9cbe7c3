"""Who needs a warm-up? Six layers learn to sort, with and without one, at several learning rates.

The norm after each sum (the paper, torch's default) against the norm before each part; a few more cases vary the
depth, or shorten the gradient instead of warming up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from attention_lib.experiments.control import chosen, digits, progress_bar, seeded
from attention_lib.layers.stacks import LayerSpec
from attention_lib.models.readers import TokenTagger
from attention_lib.shapes import Float, Int
from attention_lib.tasks.sorting import SortBatch, sort_batch
from attention_lib.training.loop import train
from attention_lib.training.losses import token_accuracy, token_loss
from attention_lib.training.schedules import warmup_constant

__all__ = ["CASES", "Case", "Run", "WarmupTraining", "network", "run", "token_spread", "train_to_sort"]

SYMBOLS, LENGTH, D_MODEL, HEADS, BATCH, EVERY = 10, 6, 32, 4, 16, 10
EARLY = 10  # batches after which the tokens are compared with one another


class Case(NamedTuple):
    """Where the norm stands ("after" or "before"), the learning rate, batches of warm-up, layers, clipping."""

    norm: str
    rate: float
    warmup_steps: int = 0
    layers: int = 6
    clip_norm: float | None = None


RATES = {"after": (3e-4, 1e-3, 3e-3, 1e-2), "before": (1e-3, 1e-2)}
CASES = {
    f"{norm}, {rate:g}, {'warm-up' if warmup_steps else 'none'}": Case(norm, rate, warmup_steps)
    for norm, rates in RATES.items()
    for rate in rates
    for warmup_steps in (0, 50)
} | {
    "after, 0.01, none, 2 layers": Case("after", 1e-2, layers=2),
    "after, 0.01, none, 4 layers": Case("after", 1e-2, layers=4),
    "after, 0.01, none, clipped": Case("after", 1e-2, clip_norm=1.0),
}


class Budget(NamedTuple):
    seeds: int
    steps: int
    cases: tuple[str, ...]


BUDGETS = {
    "smoke": Budget(1, 120, ("after, 0.01, none", "after, 0.01, warm-up")),
    "full": Budget(6, 200, tuple(CASES)),
}


class Run(NamedTuple):
    """Mean training loss of each stretch of 10 batches; loss and share right on fresh data at the end; spread early."""

    training: list[float]
    loss: float
    right: float
    spread: float


@dataclass(frozen=True)
class WarmupTraining:
    """``training[case][seed][stretch]``; ``loss``, ``right`` and ``spread[case][seed]``.

    ``steps`` holds the number of batches behind each stretch. ``spread`` is measured after 10 batches.
    """

    budget: str
    seeds: list[int]
    steps: list[int]
    training: dict[str, list[list[float]]]
    loss: dict[str, list[float]]
    right: dict[str, list[float]]
    spread: dict[str, list[float]]

    def trained(self, case: str) -> int:
        """How many networks end with a loss below 1.5; one that knows the position alone has more."""
        return sum(loss < 1.5 for loss in self.loss[case])

    def batches_to(self, level: float, case: str) -> list[float]:
        """Of each seed, the batches until a stretch of training is below ``level``; infinite if it never is."""
        return [
            next((float(step) for step, loss in zip(self.steps, run, strict=True) if loss < level), float("inf"))
            for run in self.training[case]
        ]

    def summary(self) -> dict[str, str]:
        """Networks that trained, and the loss at the end, least and most over the seeds."""
        return {
            case: f"{self.trained(case)} of {len(losses)}, loss {min(losses):.3f} to {max(losses):.3f}"
            for case, losses in self.loss.items()
        }


RESULT = WarmupTraining


def network(norm: str = "after", *, layers: int = 6) -> TokenTagger:
    """The network that sorts: width 32, 4 heads, learned positions.

    Args:
        norm: "after" each sum, or "before" each part.
        layers: How many.

    Returns:
        A fresh network, ``(B, 6) -> (B, 6, 10)``.

    Example:
        >>> network(layers=2)(torch.zeros(3, 6).long()).logits.shape
        torch.Size([3, 6, 10])
    """
    spec = LayerSpec(D_MODEL, HEADS, norm_first=norm == "before")
    return TokenTagger(SYMBOLS, SYMBOLS, spec, layers, longest=LENGTH)


def token_spread(model: TokenTagger, tokens: Int[Tensor, "B L"]) -> float:
    r"""How much the layers' outputs differ from token to token, as a share of their size.

    .. math:: \sqrt{\mathrm{mean}\,(x - \bar x)^2 \; / \; \mathrm{mean}\, x^2}

    Args:
        model: Its embedding and layers are run, not its vote.
        tokens: ``(B, L)``.

    Returns:
        0 when every token of every sequence has become the same vector; 1 when they have nothing in common.
    """
    with torch.no_grad():
        return _spread(model.stack(model.embedding(tokens)).output)


def _spread(x: Float[Tensor, "B L d_model"]) -> float:
    x = x.flatten(0, 1)  # (tokens, d_model)
    return ((x - x.mean(dim=0)).square().mean() / x.square().mean()).sqrt().item()


def train_to_sort(case: Case, *, steps: int, seed: int) -> Run:
    """Train one fresh network with Adam to sort 6 of 10 symbols.

    Args:
        case: Norm, learning rate, warm-up, depth and clipping.
        steps: Number of batches of 16, a multiple of 10.
        seed: Of weights and data.

    Returns:
        A :class:`Run`; its loss is the cross entropy a symbol on 256 fresh sequences.
    """
    with seeded(seed) as generator:
        model = network(case.norm, layers=case.layers)
        optimizer = torch.optim.Adam(model.parameters(), case.rate)
        fresh = sort_batch(256, LENGTH, symbols=SYMBOLS, generator=generator)
        spreads: list[float] = []

        def batches() -> Any:
            for step in range(steps):
                if step == EARLY:
                    spreads.append(token_spread(model, fresh.tokens))
                yield sort_batch(BATCH, LENGTH, symbols=SYMBOLS, generator=generator)

        history = train(
            model, batches(), _loss, optimizer, clip_norm=case.clip_norm,
            schedule=lambda step: warmup_constant(step, warmup_steps=case.warmup_steps),
        )  # fmt: skip
        with torch.no_grad():
            votes = model(fresh.tokens).logits  # (256, L, symbols)
            loss, right = token_loss(votes, fresh.answer).item(), token_accuracy(votes, fresh.answer)
    stretches = torch.tensor(history.losses, dtype=torch.float64).unflatten(0, (-1, EVERY)).mean(dim=1)
    return Run(digits(stretches, 4), digits(loss, 4), digits(right, 4), digits(spreads[0], 4))


def _loss(model: nn.Module, batch: SortBatch) -> Tensor:
    return token_loss(model(batch.tokens).logits, batch.answer)


def run(budget: str = "smoke", *, seeds: list[int] | None = None, progress: bool = False) -> WarmupTraining:
    """Train every case with every seed.

    Args:
        budget: "smoke" (1 seed, 120 batches, two cases) or "full" (6 seeds, 200 batches, all cases).
        seeds: Use these instead.
        progress: Show a bar.

    Returns:
        A :class:`WarmupTraining`.

    Raises:
        OptionError: Another budget.
    """
    plan = chosen(BUDGETS, budget)
    seeds = list(range(plan.seeds)) if seeds is None else list(seeds)
    runs = {
        case: [train_to_sort(CASES[case], steps=plan.steps, seed=seed) for seed in seeds]
        for case in progress_bar(plan.cases, "warmup_training", show=progress)
    }
    tables = {part: {case: [getattr(one, part) for one in of] for case, of in runs.items()} for part in Run._fields}
    return WarmupTraining(budget, seeds, list(range(EVERY, plan.steps + 1, EVERY)), **tables)
