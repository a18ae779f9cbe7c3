"""Does dropout, or having fewer heads, help a network that has only 100 images to learn from?

Every case starts from the same weights and sees the same images in the same order; it differs from "no dropout" in
one thing. Accuracy is followed on the training images and on fresh ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from attention_lib.experiments.control import chosen, digits, progress_bar, seeded
from attention_lib.layers.multi_head import MultiHeadAttention
from attention_lib.layers.stacks import LayerSpec
from attention_lib.models.readers import SequenceClassifier
from attention_lib.shapes import Float
from attention_lib.tasks.digits import digit_batch

__all__ = [
    "CASES",
    "Case",
    "Curve",
    "Overfitting",
    "as_patches",
    "model_for",
    "run",
    "train_on_few",
    "with_wrong_labels",
]

IMAGES, FRESH, BATCH, PATCH, D_MODEL, JITTER = 100, 1000, 32, 4, 32, 0.4


class Case(NamedTuple):
    """Where entries are dropped ("everywhere" or "weights") and how often; heads; share of wrong training labels."""

    dropout_p: float = 0.0
    where: str = "everywhere"
    num_heads: int = 4
    wrong: float = 0.0


CASES = {
    "no dropout": Case(),
    **{f"everywhere {p}": Case(p) for p in (0.1, 0.3, 0.5)},
    **{f"weights {p}": Case(p, "weights") for p in (0.1, 0.3, 0.5)},
    **{f"{heads} head{'s' * (heads > 1)}": Case(num_heads=heads) for heads in (1, 2, 8, 16)},
    "wrong labels": Case(wrong=0.3),
    "wrong labels, everywhere 0.3": Case(0.3, wrong=0.3),
}


class Budget(NamedTuple):
    seeds: int
    steps: int
    every: int
    cases: tuple[str, ...]


BUDGETS = {
    "smoke": Budget(2, 150, 50, ("no dropout", "everywhere 0.3")),
    "full": Budget(5, 300, 50, tuple(CASES)),
}


class Curve(NamedTuple):
    """One number every so many batches: share of right answers on the training images (of their labels, wrong ones
    included) and on fresh images, and the loss on fresh images."""

    training: list[float]
    fresh: list[float]
    loss: list[float]


@dataclass(frozen=True)
class Overfitting:
    """``training``, ``fresh`` and ``loss``, each ``[case][seed][checkpoint]``; ``steps`` are the checkpoints."""

    budget: str
    seeds: list[int]
    steps: list[int]
    training: dict[str, list[list[float]]]
    fresh: dict[str, list[list[float]]]
    loss: dict[str, list[list[float]]]

    def mean(self, case: str) -> float:
        """Mean accuracy on fresh images at the end."""
        return sum(run[-1] for run in self.fresh[case]) / len(self.seeds)

    def gain(self, case: str, over: str = "no dropout", *, at: int = -1) -> list[float]:
        """Accuracy on fresh images minus that of another case, seed by seed, at a checkpoint."""
        pairs = zip(self.fresh[case], self.fresh[over], strict=True)
        return [digits(one[at] - other[at]) for one, other in pairs]

    def summary(self) -> dict[str, str]:
        """Right answers at the end: mean, least and most over the seeds."""
        return {case: self._line(case) for case in self.fresh}

    def _line(self, case: str) -> str:
        last = [run[-1] for run in self.fresh[case]]
        trained = sum(run[-1] for run in self.training[case]) / len(self.seeds)
        return f"fresh {self.mean(case):.3f} ({min(last):.3f} to {max(last):.3f}), training {trained:.3f}"


RESULT = Overfitting


def as_patches(images: Float[Tensor, "B 1 side side"]) -> Float[Tensor, "B L d_in"]:
    """Cut images into squares of 4 by 4 pixels, row by row: a sequence of patches."""
    squares = images.unfold(2, PATCH, PATCH).unfold(3, PATCH, PATCH)  # (B, 1, rows, columns, 4, 4)
    return squares.flatten(4).flatten(1, 3)  # (B, L, 16)


def train_on_few(case: Case, *, steps: int, seed: int, every: int = 50) -> Curve:
    """Train one fresh network of two layers, width 32, on 100 images.

    Args:
        case: What is special about it.
        steps: Number of batches of 32, drawn from the 100.
        seed: Of weights and data.
        every: How many batches lie between two checkpoints.

    Returns:
        A :class:`Curve`, measured on 1000 fresh images in evaluation mode.
    """
    with seeded(seed) as generator:
        images, label = digit_batch(IMAGES, jitter=JITTER, generator=generator)
        fresh, answer = digit_batch(FRESH, jitter=JITTER, generator=generator)
        label = with_wrong_labels(label, case.wrong, generator)
        images, fresh = as_patches(images), as_patches(fresh)
        model = model_for(case)
        optimizer = torch.optim.Adam(model.parameters(), 3e-3)
        curve = Curve([], [], [])
        for step in range(1, steps + 1):
            batch = torch.randperm(IMAGES, generator=generator)[:BATCH]
            loss = cross_entropy(model(images[batch]).logits, label[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % every == 0:
                _look(model, (images, label), (fresh, answer), curve)
    return curve


def with_wrong_labels(label: Tensor, share: float, generator: torch.Generator) -> Tensor:
    """The first so many labels replaced by another digit; the same random numbers are drawn for every share."""
    shift = torch.randint(1, 10, label.shape, generator=generator)
    wrong = torch.arange(len(label)) < round(share * len(label))
    return torch.where(wrong, (label + shift) % 10, label)


def model_for(case: Case) -> SequenceClassifier:
    """A fresh network; one seed gives all cases the same weights, since neither dropout nor heads hold any."""
    everywhere = case.dropout_p if case.where == "everywhere" else 0.0
    spec = LayerSpec(D_MODEL, case.num_heads, 2 * D_MODEL, dropout_p=everywhere, norm_first=True)
    model = SequenceClassifier(PATCH * PATCH, 16, 10, spec)
    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            module.dropout_p = case.dropout_p
    return model


def _look(
    model: SequenceClassifier, trained: tuple[Tensor, Tensor], fresh: tuple[Tensor, Tensor], curve: Curve
) -> None:
    model.eval()
    with torch.no_grad():
        votes, own = model(fresh[0]).logits, model(trained[0]).logits
    model.train()
    numbers = _right(own, trained[1]), _right(votes, fresh[1]), cross_entropy(votes, fresh[1]).item()
    for record, number in zip(curve, numbers, strict=True):
        record.append(digits(number, 4))


def _right(votes: Tensor, answer: Tensor) -> float:
    return (votes.argmax(dim=-1) == answer).double().mean().item()


def run(budget: str = "smoke", *, seeds: list[int] | None = None, progress: bool = False) -> Overfitting:
    """Train every case for every seed.

    Args:
        budget: "smoke" (2 seeds, 150 batches, with and without dropout) or "full" (5 seeds, 300 batches, 13 cases).
        seeds: Use these instead.
        progress: Show a bar.

    Returns:
        An :class:`Overfitting`.

    Raises:
        OptionError: Another budget.
    """
    plan = chosen(BUDGETS, budget)
    seeds = list(range(plan.seeds)) if seeds is None else list(seeds)
    curves = {
        case: [train_on_few(CASES[case], steps=plan.steps, seed=seed, every=plan.every) for seed in seeds]
        for case in progress_bar(plan.cases, "overfitting", show=progress)
    }
    tables = {part: {case: [getattr(c, part) for c in of] for case, of in curves.items()} for part in Curve._fields}
    return Overfitting(budget, seeds, list(range(plan.every, plan.steps + 1, plan.every)), **tables)
