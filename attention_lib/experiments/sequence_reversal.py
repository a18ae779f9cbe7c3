"""Can a decoder write a sequence backwards, from one fixed vector and with attention, and where does it look?

Trained on sequences of 2 to 12 random symbols, the same batches for all networks, they then write by themselves,
also at lengths they have never seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from attention_lib.experiments.control import chosen, digits, progress_bar, seeded
from attention_lib.models.seq2seq import Seq2Seq
from attention_lib.shapes import Float, Int
from attention_lib.tasks.copying import reversal_batch
from attention_lib.tasks.pairs import END, FIRST, PAD, START, PairBatch, decoder_input
from attention_lib.training.loop import train
from attention_lib.training.losses import exact_match, token_loss

__all__ = [
    "NETWORKS",
    "Network",
    "SequenceReversal",
    "exact_at",
    "fresh",
    "moved_by",
    "run",
    "share_at",
    "teach",
    "write",
]

SYMBOLS, D_STATE, BATCH, LEARNING_RATE, SHORTEST = 8, 64, 32, 3e-3, 2
UNSEEN = 1_000_000  # added to a seed, for sequences that no training has drawn


class Network(NamedTuple):
    """Attention and direction of a ``Seq2Seq``, and what is special about its training: more batches, shorter ones."""

    attention: str | None
    bidirectional: bool = False
    patience: int = 1
    longest: int | None = None  # None is as long as the others see


NETWORKS = {
    "fixed vector": Network(None),
    "fixed vector, 3 x as long": Network(None, patience=3),
    "Luong": Network("dot"),
    "Bahdanau": Network("additive"),
    "Luong, taught to 8": Network("dot", longest=8),
    "Luong, both ways": Network("dot", bidirectional=True),
    "Bahdanau, both ways": Network("additive", bidirectional=True),
}
OFFSETS = {"at the word": 0, "one later": 1}


class Budget(NamedTuple):
    seeds: int
    steps: int
    longest: int
    lengths: tuple[int, ...]
    networks: tuple[str, ...]


BUDGETS = {
    "smoke": Budget(1, 300, 8, (2, 4, 6, 8), ("fixed vector", "Bahdanau")),
    "full": Budget(5, 500, 12, (2, 4, 6, 8, 10, 12, 14, 16), tuple(NETWORKS)),
}


@dataclass(frozen=True)
class SequenceReversal:
    """``exact[network][length]``: share of fresh sequences written without a mistake, one number a seed.

    ``looks[network][place]``: share of the symbols for which the largest weight lies at the state of the word
    that is written, or one state later. ``moved[network][place]``: share of the written symbols that change when
    the word at that place is replaced. Both at the longest length a network was taught, from the second symbol on.
    """

    budget: str
    seeds: list[int]
    steps: int
    longest: int
    exact: dict[str, dict[str, list[float]]]
    looks: dict[str, dict[str, list[float]]]
    moved: dict[str, dict[str, list[float]]]

    def summary(self) -> dict[str, str]:
        """Least and most over the seeds."""
        lines = {}
        for part in ("exact", "looks", "moved"):
            for network, table in getattr(self, part).items():
                lines[f"{network}: {part}"] = ", ".join(
                    f"{key} {min(numbers):.2f} to {max(numbers):.2f}" for key, numbers in table.items()
                )
        return lines


RESULT = SequenceReversal


def teach(name: str, *, steps: int, longest: int, seed: int) -> Seq2Seq:
    """Train a fresh network to reverse sequences of 2 to ``longest`` symbols, width 64, Adam at 0.003.

    Args:
        name: One of ``NETWORKS``.
        steps: Number of batches of 32, times the network's patience.
        longest: Greatest length in training.
        seed: Of weights and data.

    Returns:
        The trained network.
    """
    network = NETWORKS[name]
    with seeded(seed) as generator:
        model = Seq2Seq(
            FIRST + SYMBOLS,
            FIRST + SYMBOLS,
            D_STATE,
            attention=network.attention,
            bidirectional=network.bidirectional,
        )
        batches = (
            reversal_batch(BATCH, shortest=SHORTEST, longest=longest, symbols=SYMBOLS, generator=generator)
            for _ in range(steps * network.patience)
        )
        train(model, batches, _loss, torch.optim.Adam(model.parameters(), LEARNING_RATE))
    return model.eval()


def _loss(model: nn.Module, batch: PairBatch) -> Tensor:
    logits, _ = model(batch.source, decoder_input(batch.target), batch.source_lengths)
    return token_loss(logits, batch.target, ignore=PAD)


def write(model: Seq2Seq, source: Int[Tensor, "B S"]) -> tuple[Int[Tensor, "B T"], Tensor | None]:
    """Let a network write by itself, one token more than it read: room for the end.

    Returns:
        Tokens ``(B, S + 1)``, and where each step looked ``(B, S + 1, S)``, None without attention.
    """
    return model.greedy(source, start=START, end=END, longest=source.shape[1] + 1, pad=PAD)


def fresh(count: int, length: int, *, seed: int) -> PairBatch:
    """Sequences of one length, other ones than those of the training with the same seed."""
    generator = torch.Generator().manual_seed(seed + UNSEEN)
    return reversal_batch(count, shortest=length, longest=length, symbols=SYMBOLS, generator=generator)


def exact_at(model: Seq2Seq, length: int, *, seed: int) -> float:
    """Share of 256 fresh sequences of that length written from beginning to end without a mistake, 0 to 1."""
    with seeded(seed):
        source, _, target = fresh(256, length, seed=seed)
        return digits(exact_match(write(model, source)[0], target), 4)


def share_at(weights: Float[Tensor, "B T S"], offset: int) -> float:
    """Share of the symbols after the first whose largest weight lies ``offset`` states behind the word they are.

    Symbol t of a reversed sequence of n is word ``n - 1 - t``.

    Example:
        Symbol 1 of 3 is word 1; a decoder that looks at state 2 looks one later.

        >>> weights = torch.tensor([[[0.0, 0.0, 1.0], [0.0, 0.1, 0.9], [0.9, 0.1, 0.0]]])
        >>> share_at(weights, 0), share_at(weights, 1)
        (0.5, 0.5)
    """
    n = weights.shape[-1]
    symbols = torch.arange(1, n)
    return (weights[:, symbols].argmax(dim=-1) == n - 1 - symbols + offset).double().mean().item()


def moved_by(model: Seq2Seq, source: Int[Tensor, "B S"], offset: int) -> float:
    """Share of the written symbols after the first that change with the word ``offset`` places behind theirs.

    For each symbol t, the word at ``n - 1 - t + offset`` is replaced by another one, and the network writes anew.
    """
    n = source.shape[1]
    symbols = torch.arange(1, n)
    replaced = source.repeat(n - 1, 1, 1)  # (n - 1, B, n), one copy for each symbol
    places = n - 1 - symbols + offset
    words = replaced[symbols - 1, :, places]  # (n - 1, B)
    replaced[symbols - 1, :, places] = FIRST + (words - FIRST + 1) % SYMBOLS
    before, _ = write(model, source)  # (B, n + 1)
    after, _ = write(model, replaced.flatten(0, 1))
    after = after.unflatten(0, (n - 1, -1))  # (n - 1, B, n + 1)
    return (after[symbols - 1, :, symbols] != before[:, symbols].T).double().mean().item()


def _measure(name: str, plan: Budget, seed: int) -> dict[str, dict[str, float]]:
    longest = NETWORKS[name].longest or plan.longest
    model = teach(name, steps=plan.steps, longest=longest, seed=seed)
    exact = {str(length): exact_at(model, length, seed=seed) for length in plan.lengths}
    source, _, _ = fresh(64, longest, seed=seed)
    with seeded(seed):
        _, weights = write(model, source)
        moved = {place: digits(moved_by(model, source, offset), 4) for place, offset in OFFSETS.items()}
    looks = {} if weights is None else {place: digits(share_at(weights, off), 4) for place, off in OFFSETS.items()}
    return {"exact": exact, "looks": looks, "moved": moved}


def run(budget: str = "smoke", *, seeds: list[int] | None = None, progress: bool = False) -> SequenceReversal:
    """Teach every network, let it write, and see where it looked.

    Args:
        budget: "smoke" (1 seed, 300 batches, lengths 2 to 8, two networks) or "full" (5 seeds, 500 batches,
            lengths 2 to 12, seven networks).
        seeds: Use these instead.
        progress: Show a bar.

    Returns:
        A :class:`SequenceReversal`.

    Raises:
        OptionError: Another budget.
    """
    plan = chosen(BUDGETS, budget)
    seeds = list(range(plan.seeds)) if seeds is None else list(seeds)
    measured = {
        name: [_measure(name, plan, seed) for seed in seeds]
        for name in progress_bar(plan.networks, "sequence_reversal", show=progress)
    }
    tables = {part: _table(measured, part) for part in ("exact", "looks", "moved")}
    return SequenceReversal(budget, seeds, plan.steps, plan.longest, **tables)


def _table(measured: dict[str, list[dict[str, dict[str, float]]]], part: str) -> dict[str, dict[str, list[float]]]:
    return {
        name: {key: [of_seed[part][key] for of_seed in runs] for key in runs[0][part]}
        for name, runs in measured.items()
        if runs[0][part]
    }
