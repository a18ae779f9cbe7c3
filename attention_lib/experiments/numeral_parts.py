"""Which parts of a transformer are needed to write numbers in Chinese? The same network, each time without one part.

Encoder and decoder read 1203 and write 一千二百零三: no recurrence, no convolution. The parts are those that surround
attention: positions, shortcuts, layer norm, feed-forward network.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn

from attention_lib.attention import AttentionOutput
from attention_lib.errors import OptionError
from attention_lib.experiments.control import chosen, digits, progress_bar, seeded
from attention_lib.layers.blocks import DecoderLayer, EncoderLayer
from attention_lib.layers.stacks import LayerSpec
from attention_lib.models.transformer import Transformer
from attention_lib.tasks.numerals import ARABIC, CHINESE, numeral_batch
from attention_lib.tasks.pairs import END, PAD, START, PairBatch, decoder_input
from attention_lib.training.loop import train
from attention_lib.training.losses import exact_match, token_loss
from attention_lib.training.schedules import warmup_constant

__all__ = ["PARTS", "NumeralParts", "Taught", "build", "numeral_loss", "run", "share_right", "teach", "write"]

PARTS = ("complete", "no feed-forward", "no layer norm", "no positions", "no shortcuts")
BATCH, LEARNING_RATE, WARMUP_STEPS, EVERY, LONGEST = 64, 5e-3, 30, 50, 12
SPEC = LayerSpec(d_model=32, num_heads=2, d_ff=64, norm_first=True)


class Budget(NamedTuple):
    seeds: int
    steps: int
    parts: tuple[str, ...]


BUDGETS = {"smoke": Budget(1, 150, ("complete", "no positions")), "full": Budget(5, 300, PARTS)}


class Taught(NamedTuple):
    """The trained ``model``, the share of 512 fresh numbers it writes without a mistake, its loss batch by batch."""

    model: Transformer
    exact: float
    losses: list[float]


@dataclass(frozen=True)
class NumeralParts:
    """``exact[part][seed]``: share of fresh numbers written without a mistake.

    ``training[part][seed]``: mean loss of each stretch of 50 batches, ``steps`` the batches behind each.
    """

    budget: str
    seeds: list[int]
    steps: list[int]
    exact: dict[str, list[float]]
    training: dict[str, list[list[float]]]

    def summary(self) -> dict[str, str]:
        """Share written without a mistake, least and most over the seeds."""
        return {part: f"{min(shares):.3f} to {max(shares):.3f}" for part, shares in self.exact.items()}


RESULT = NumeralParts


class _WithoutShortcut(nn.Module):
    """A part that takes away what the shortcut around it adds: x + (part(norm(x)) - x)."""

    def __init__(self, part: nn.Module, norm: nn.Module) -> None:
        super().__init__()
        self.part, self.norm = part, norm

    def forward(self, x: Tensor, *inputs: Tensor, **options: object) -> Tensor | AttentionOutput:
        result = self.part(self.norm(x), *inputs, **options)
        if isinstance(result, AttentionOutput):
            return AttentionOutput(result.output - x, result.weights)
        return result - x


class _Nothing(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.zeros_like(x)


def build(part: str = "complete") -> Transformer:
    """A fresh transformer, two layers of width 32 a stack, norm first, complete or without one part.

    Args:
        part: One of ``PARTS``.

    Returns:
        The model, from the digits 0 ... 9 to Chinese numerals.

    Raises:
        OptionError: Another part.

    Example:
        >>> sum(p.numel() for p in build("no feed-forward").parameters())
        27698
    """
    if part not in PARTS:
        raise OptionError(f"part={part!r} is not known; choose one of: {', '.join(PARTS)}")
    positions = None if part == "no positions" else "sinusoidal"
    model = Transformer(len(ARABIC), len(CHINESE), SPEC, positions=positions)
    for layer in [each for each in model.modules() if isinstance(each, EncoderLayer | DecoderLayer)]:
        if part == "no feed-forward":
            layer.add_module("feed_forward", _Nothing())
        if part == "no shortcuts":
            _cut_shortcuts(layer)
        if part == "no layer norm":
            _drop_norms(layer)
    if part == "no layer norm":
        model.encoder.norm = model.decoder.norm = nn.Identity()
    return model


def _cut_shortcuts(layer: nn.Module) -> None:
    names = ("attention", "cross_attention", "feed_forward")
    for number, name in enumerate((name for name in names if hasattr(layer, name)), start=1):
        setattr(layer, name, _WithoutShortcut(getattr(layer, name), getattr(layer, f"norm_{number}")))
    _drop_norms(layer)  # each now stands inside its part


def _drop_norms(layer: nn.Module) -> None:
    for name in [name for name, _ in layer.named_children() if name.startswith("norm")]:
        setattr(layer, name, nn.Identity())


def numeral_loss(model: nn.Module, batch: PairBatch) -> Tensor:
    """Cross entropy a token when the model reads the right beginning each time; padding does not count."""
    logits = model(batch.source, decoder_input(batch.target), batch.source_lengths).logits
    return token_loss(logits, batch.target, ignore=PAD)


def write(model: Transformer, number: int, *, cached: bool = True) -> str:
    """Let the model write one number, greedily.

    Example:
        >>> isinstance(write(build(), 1203), str)
        True
    """
    source = torch.tensor([ARABIC.encode(str(number))])
    return CHINESE.decode(model.greedy(source, start=START, end=END, longest=LONGEST, cached=cached)[0])


def share_right(model: Transformer, generator: torch.Generator, count: int = 512) -> float:
    """Share of fresh numbers from 0 to 9999 that the model writes without a mistake, 0 to 1."""
    source, lengths, target = numeral_batch(count, generator=generator)
    written = model.greedy(source, lengths, start=START, end=END, longest=LONGEST)
    return digits(exact_match(written, target, pad=PAD), 4)


def teach(part: str = "complete", *, steps: int, seed: int) -> Taught:
    """Train a fresh model on numbers from 0 to 9999: Adam at 0.005 after 30 batches of warm-up.

    Args:
        part: One of ``PARTS``.
        steps: Number of batches of 64.
        seed: Of weights and data.

    Returns:
        A :class:`Taught`.
    """
    with seeded(seed) as generator:
        model = build(part)
        batches = (numeral_batch(BATCH, generator=generator) for _ in range(steps))
        optimizer = torch.optim.Adam(model.parameters(), LEARNING_RATE)
        history = train(
            model, batches, numeral_loss, optimizer, schedule=partial(warmup_constant, warmup_steps=WARMUP_STEPS)
        )
        model.eval()
        return Taught(model, share_right(model, generator), history.losses)


def run(budget: str = "smoke", *, seeds: list[int] | None = None, progress: bool = False) -> NumeralParts:
    """Train the complete model and the ones without a part, for every seed.

    Args:
        budget: "smoke" (1 seed, 150 batches, complete and without positions) or "full" (5 seeds, 300, all).
        seeds: Use these instead.
        progress: Show a bar.

    Returns:
        A :class:`NumeralParts`.

    Raises:
        OptionError: Another budget.
    """
    plan = chosen(BUDGETS, budget)
    seeds = list(range(plan.seeds)) if seeds is None else list(seeds)
    exact: dict[str, list[float]] = {part: [] for part in plan.parts}
    training: dict[str, list[list[float]]] = {part: [] for part in plan.parts}
    lessons = [(part, seed) for part in plan.parts for seed in seeds]
    for part, seed in progress_bar(lessons, "numeral_parts", show=progress):
        taught = teach(part, steps=plan.steps, seed=seed)
        exact[part].append(taught.exact)
        stretches = torch.tensor(taught.losses, dtype=torch.float64).unflatten(0, (-1, EVERY)).mean(dim=1)
        training[part].append(digits(stretches, 4))
    return NumeralParts(budget, seeds, list(range(EVERY, plan.steps + 1, EVERY)), exact, training)
