"""Bugs that still train: multi-head attention written wrongly in eight ways, tried on two tasks and two tests.

The tasks are copying and reversing 8 random symbols, each learned by one attention. The tests train nothing: does a
causal layer leak the future, and does it give what torch's layer gives with the same weights?
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from attention_lib.experiments.control import chosen, digits, progress_bar, seeded
from attention_lib.layers.multi_head import MultiHeadAttention

__all__ = ["FAULTS", "BrokenMultiHead", "HeadBugs", "equals_torch", "leaks", "reaches", "run", "train_task"]

SYMBOLS, LENGTH, D_MODEL, HEADS, BATCH, LEARNING_RATE = 8, 8, 32, 2, 64, 0.01
FAULTS = (
    "none",
    "merge without transpose",
    "split without transpose",
    "both without transpose",
    "softmax over queries",
    "softmax over heads",
    "value from key",
    "no output projection",
    "scaled by heads",
)
TASKS = {"copy": lambda tokens: tokens, "reverse": lambda tokens: tokens.flip(1)}


class Budget(NamedTuple):
    seeds: int
    steps: int
    faults: tuple[str, ...]


BUDGETS = {"smoke": Budget(1, 100, FAULTS[:2]), "full": Budget(5, 200, FAULTS)}


@dataclass(frozen=True)
class HeadBugs:
    """``right[fault][task][seed]``: share of symbols right; the other tables hold one answer a fault."""

    budget: str
    seeds: list[int]
    right: dict[str, dict[str, list[float]]]
    leaks: dict[str, bool]
    reaches: dict[str, bool]
    equal: dict[str, bool]

    def summary(self) -> dict[str, str]:
        """The worst seed of each task, and what the tests say."""
        return {
            fault: ", ".join(f"{task} {min(shares):.3f}" for task, shares in by_task.items())
            + f"; leaks {self.leaks[fault]}, reaches {self.reaches[fault]}, equals torch {self.equal[fault]}"
            for fault, by_task in self.right.items()
        }


RESULT = HeadBugs


class BrokenMultiHead(MultiHeadAttention):
    """Multi-head attention as people write it, with one of ``FAULTS``, or with none.

    Example:
        >>> BrokenMultiHead(8, 2, "merge without transpose")(torch.zeros(3, 5, 8)).shape
        torch.Size([3, 5, 8])
    """

    def __init__(self, d_model: int, num_heads: int, fault: str) -> None:
        super().__init__(d_model, num_heads)
        self.fault = fault

    def forward(self, x: Tensor, *, causal: bool = False) -> Tensor:  # type: ignore[override]
        """``(B, L, d_model) -> (B, L, d_model)``, wrong in one place."""
        q, k = self._split(self.w_q(x)), self._split(self.w_k(x))  # (B, H, L, d_head)
        v = self._split(self.w_k(x) if self.fault == "value from key" else self.w_v(x))
        scale = 1 / math.sqrt(self.num_heads if self.fault == "scaled by heads" else q.shape[-1])
        scores = q @ k.mT * scale  # (B, H, L, L)
        if causal:
            scores = scores.masked_fill(~torch.ones_like(scores[0, 0]).bool().tril(), -math.inf)
        over = {"softmax over queries": -2, "softmax over heads": 1}.get(self.fault, -1)
        weights = scores.softmax(dim=over).nan_to_num(0.0)
        merged = self._merge(weights @ v)
        return merged if self.fault == "no output projection" else self.w_o(merged)

    def _split(self, x: Tensor) -> Tensor:
        B, L, _ = x.shape
        if self.fault in ("split without transpose", "both without transpose"):
            return x.reshape(B, self.num_heads, L, -1)
        return x.reshape(B, L, self.num_heads, -1).transpose(1, 2)

    def _merge(self, heads: Tensor) -> Tensor:
        B, _, L, _ = heads.shape
        if self.fault in ("merge without transpose", "both without transpose"):
            return heads.reshape(B, L, -1)
        return heads.transpose(1, 2).reshape(B, L, -1)


class Reader(nn.Module):
    """Symbol vectors plus position vectors, one attention, a vote at every place."""

    def __init__(self, fault: str) -> None:
        super().__init__()
        self.embedding = nn.Embedding(SYMBOLS, D_MODEL)
        self.positions = nn.Parameter(torch.randn(LENGTH, D_MODEL))
        self.attention = BrokenMultiHead(D_MODEL, HEADS, fault)
        self.vote = nn.Linear(D_MODEL, SYMBOLS)

    def forward(self, tokens: Tensor) -> Tensor:
        """``(B, 8) -> (B, 8, symbols)``."""
        return self.vote(self.attention(self.embedding(tokens) + self.positions))


def train_task(fault: str, task: str, *, seed: int = 0, steps: int = 100) -> float:
    """Train a fresh reader to copy or to reverse; the share right on fresh symbols.

    Args:
        fault: One of ``FAULTS``.
        task: "copy" or "reverse".
        seed: Of weights and data.
        steps: Number of batches of 64.

    Returns:
        Share of symbols right, guessing gives 1/8.
    """
    with seeded(seed) as generator:
        reader = Reader(fault)
        optimizer = torch.optim.Adam(reader.parameters(), LEARNING_RATE)
        for _ in range(steps):
            tokens = torch.randint(SYMBOLS, (BATCH, LENGTH), generator=generator)
            loss = nn.functional.cross_entropy(reader(tokens).mT, TASKS[task](tokens))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        tokens = torch.randint(SYMBOLS, (512, LENGTH), generator=generator)
        with torch.no_grad():
            return (reader(tokens).argmax(dim=-1) == TASKS[task](tokens)).double().mean().item()


@torch.no_grad()
def leaks(fault: str) -> bool:
    """Whether some output of the causal layer depends on a later token."""
    layer, x = _layer_and_input(fault)
    later = x.clone()
    later[:, -1] += 10
    return not torch.allclose(layer(x, causal=True)[:, :-1], layer(later, causal=True)[:, :-1], atol=1e-5)


@torch.no_grad()
def reaches(fault: str) -> bool:
    """Whether every output of the layer, without a mask, depends on every token."""
    layer, x = _layer_and_input(fault)
    for place in range(LENGTH):
        changed = x.clone()
        changed[:, place] += 10
        if ((layer(x) - layer(changed)).abs().amax(dim=-1) < 1e-5).any():
            return False
    return True


@torch.no_grad()
def equals_torch(fault: str) -> bool:
    """Whether the layer gives what ``nn.MultiheadAttention`` gives with the same weights."""
    layer, x = _layer_and_input(fault)
    return torch.allclose(layer(x), layer.to_torch()(x, x, x, need_weights=False)[0], atol=1e-5)


def _layer_and_input(fault: str) -> tuple[BrokenMultiHead, Tensor]:
    with seeded(0) as generator:
        return BrokenMultiHead(D_MODEL, HEADS, fault), torch.randn(1, LENGTH, D_MODEL, generator=generator)


def run(budget: str = "smoke", *, seeds: list[int] | None = None, progress: bool = False) -> HeadBugs:
    """Try every fault on both tasks and on the three tests.

    Args:
        budget: "smoke" (1 seed, 100 batches, one fault) or "full" (5 seeds, 200 batches, all).
        seeds: Use these instead.
        progress: Show a bar.

    Returns:
        A :class:`HeadBugs`.

    Raises:
        OptionError: Another budget.
    """
    plan = chosen(BUDGETS, budget)
    seeds = list(range(plan.seeds)) if seeds is None else list(seeds)
    right = {
        fault: {
            task: [digits(train_task(fault, task, seed=seed, steps=plan.steps), 4) for seed in seeds] for task in TASKS
        }
        for fault in progress_bar(plan.faults, "head_bugs", show=progress)
    }
    tests = {name: {fault: test(fault) for fault in plan.faults} for name, test in
             (("leaks", leaks), ("reaches", reaches), ("equal", equals_torch))}  # fmt: skip
    return HeadBugs(budget, seeds, right, **tests)
