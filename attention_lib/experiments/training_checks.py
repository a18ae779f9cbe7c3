"""Which check finds which mistake? A small decoder, six mistakes, and four things to try before a long training.

The checks: the loss before the first step, one batch learned by heart, one task (a sequence written twice, scored
where it repeats), and random tokens, in which nothing can be foretold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from attention_lib.attention import AttentionOutput, attention
from attention_lib.experiments.control import chosen, digits, progress_bar, seeded
from attention_lib.layers.multi_head import MultiHeadAttention
from attention_lib.layers.stacks import LayerSpec
from attention_lib.models.language_model import LanguageModel
from attention_lib.shapes import Float, Int
from attention_lib.steps.heads import split_heads
from attention_lib.tasks.induction import induction_batch
from attention_lib.training.loop import train
from attention_lib.training.losses import token_accuracy, token_loss

__all__ = ["CHECKS", "MISTAKES", "Decoder", "TrainingChecks", "by_heart", "on_random_tokens", "repeating", "run"]

SYMBOLS, HALF, D_MODEL, HEADS, BATCH, RATE = 16, 6, 32, 2, 32, 1e-2
MISTAKES = (
    "none",
    "large vote",
    "gradient cut",
    "no positions",
    "heads merged without transpose",
    "no causal mask",
    "targets not shifted",
)
CHECKS = ("first loss", "one batch", "repeating", "random tokens")


class Budget(NamedTuple):
    seeds: int
    steps: int
    mistakes: tuple[str, ...]


BUDGETS = {"smoke": Budget(1, 200, (MISTAKES[0], MISTAKES[4])), "full": Budget(5, 200, MISTAKES)}


@dataclass(frozen=True)
class TrainingChecks:
    """``found[mistake][check][seed]``.

    "first loss" and "random tokens" are losses over ln V, "one batch" is a loss in nats, "repeating" the share right.
    """

    budget: str
    seeds: list[int]
    found: dict[str, dict[str, list[float]]]

    def alarms(self, mistake: str) -> list[str]:
        """The checks that every seed fails: what would have told you."""
        fails: dict[str, Callable[[float], bool]] = {
            "first loss": lambda value: value > 1.25,
            "one batch": lambda value: value > 0.1,
            "repeating": lambda value: value < 0.9,
            "random tokens": lambda value: value < 0.9,
        }
        return [check for check in CHECKS if all(map(fails[check], self.found[mistake][check]))]

    def summary(self) -> dict[str, str]:
        """Least and most of each check."""
        return {
            f"{mistake}: {check}": f"{min(values):.3f} to {max(values):.3f}"
            for mistake, by_check in self.found.items()
            for check, values in by_check.items()
        }


RESULT = TrainingChecks


class MergedWithoutTranspose(MultiHeadAttention):
    """Multi-head attention whose heads ``(B, H, L, d_head)`` are reshaped to ``(B, L, d_model)`` as they lie."""

    def forward(self, x: Float[Tensor, "B L d_model"], **options: Any) -> AttentionOutput:  # type: ignore[override]
        """``(B, L, d_model) -> (B, L, d_model)``; of the options only ``causal`` counts."""
        q, k, v = (split_heads(project(x), self.num_heads) for project in (self.w_q, self.w_k, self.w_v))
        heads = attention(q, k, v, causal=options["causal"]).output  # (B, H, L, d_head)
        return AttentionOutput(self.w_o(heads.reshape(x.shape)), None)


class Decoder(nn.Module):
    """One layer that reads from left to right and votes for the next token, with one of ``MISTAKES``.

    Args:
        mistake: One of ``MISTAKES``.

    Example:
        >>> Decoder("none")(torch.zeros(2, 5).long()).shape
        torch.Size([2, 5, 16])
    """

    def __init__(self, mistake: str) -> None:
        super().__init__()
        self.mistake, spec = mistake, LayerSpec(D_MODEL, HEADS, norm_first=True)
        positions = None if mistake == "no positions" else "learned"
        self.model = LanguageModel(SYMBOLS, spec, 1, positions=positions, longest=2 * HALF)
        if mistake == "heads merged without transpose":
            self.model.stack.layers[0].attention = MergedWithoutTranspose(D_MODEL, HEADS)
        if mistake == "large vote":
            nn.init.normal_(self.model.vote.weight)

    def forward(self, tokens: Int[Tensor, "B L"]) -> Float[Tensor, "B L symbols"]:
        causal = self.mistake != "no causal mask"
        x = self.model.stack(self.model.embedding(tokens), causal=causal).output  # (B, L, d_model)
        return self.model.vote(x.detach() if self.mistake == "gradient cut" else x)

    def loss(self, tokens: Int[Tensor, "B T"]) -> Float[Tensor, ""]:
        """Cross-entropy of each next token, given the tokens up to it."""
        targets = tokens[:, :-1] if self.mistake == "targets not shifted" else tokens[:, 1:]
        return token_loss(self(tokens[:, :-1]), targets)


def _random(batch: int, generator: torch.Generator) -> Int[Tensor, "B T"]:
    return torch.randint(SYMBOLS, (batch, 2 * HALF), generator=generator)


def _learn(model: Decoder, batches: Iterator[Tensor]) -> None:
    optimizer = torch.optim.Adam(model.parameters(), RATE)
    train(model, batches, lambda _, tokens: model.loss(tokens), optimizer, clip_norm=None)


def by_heart(mistake: str, *, seed: int, steps: int = 200) -> float:
    """The loss on one batch of 8 random sequences after so many steps on it alone.

    Their first tokens differ: what follows two equal beginnings could not be learned by heart.
    """
    with seeded(seed) as generator:
        model, tokens = Decoder(mistake), _random(8, generator)
        tokens[:, 0] = torch.arange(8)
        _learn(model, iter([tokens] * steps))
        with torch.no_grad():
            return model.loss(tokens).item()


def repeating(mistake: str, *, seed: int, steps: int = 200) -> float:
    """Train to write 6 random tokens twice; the share of the second copy that is right, on fresh sequences."""
    with seeded(seed) as generator:
        model = Decoder(mistake)
        draw = lambda batch: induction_batch(batch, HALF, symbols=SYMBOLS, generator=generator)  # noqa: E731
        whole = lambda drawn: torch.cat((drawn.tokens, drawn.answer[:, -1:]), dim=1)  # noqa: E731
        _learn(model, (whole(draw(BATCH)) for _ in range(steps)))
        tokens, answer, known = draw(256)
        with torch.no_grad():
            return token_accuracy(model(tokens)[:, known], answer[:, known])


def on_random_tokens(mistake: str, *, seed: int, steps: int = 200) -> float:
    """The loss on fresh random tokens after training on random tokens, over ln V; an honest decoder stays at 1."""
    with seeded(seed) as generator:
        model = Decoder(mistake)
        _learn(model, (_random(BATCH, generator) for _ in range(steps)))
        with torch.no_grad():
            return model.loss(_random(256, generator)).item() / math.log(SYMBOLS)


def first_loss(mistake: str, *, seed: int) -> float:
    """The loss before the first step, over ln V; one that knows nothing and claims nothing has 1."""
    with seeded(seed) as generator, torch.no_grad():
        return Decoder(mistake).loss(_random(256, generator)).item() / math.log(SYMBOLS)


def run(budget: str = "smoke", *, seeds: list[int] | None = None, progress: bool = False) -> TrainingChecks:
    """Try every check on every mistake.

    Args:
        budget: "smoke" (1 seed, 200 steps, two mistakes) or "full" (5 seeds, 200 steps, all).
        seeds: Use these instead.
        progress: Show a bar.

    Returns:
        A :class:`TrainingChecks`.

    Raises:
        OptionError: Another budget.
    """
    plan = chosen(BUDGETS, budget)
    seeds = list(range(plan.seeds)) if seeds is None else list(seeds)
    found = {}
    for mistake in progress_bar(plan.mistakes, "training_checks", show=progress):
        found[mistake] = {
            "first loss": [digits(first_loss(mistake, seed=seed), 4) for seed in seeds],
            "one batch": [digits(by_heart(mistake, seed=seed, steps=plan.steps), 4) for seed in seeds],
            "repeating": [digits(repeating(mistake, seed=seed, steps=plan.steps), 4) for seed in seeds],
            "random tokens": [digits(on_random_tokens(mistake, seed=seed, steps=plan.steps), 4) for seed in seeds],
        }
    return TrainingChecks(budget, seeds, found)
