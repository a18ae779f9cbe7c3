"""How far back can layers with a window copy from? One network for each number of layers and each window.

The task is to write the token read ``LAG`` steps before. Directly: every batch has that lag. One hop at a time: the
same network starts with a lag that one layer can bridge, and gets a longer one once it has the shorter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import nn

from attention_lib.experiments.control import chosen, digits, progress_bar, seeded
from attention_lib.layers.stacks import LayerSpec
from attention_lib.models.language_model import LanguageModel
from attention_lib.tasks.lag_copy import lag_copy_batch

__all__ = ["LAG", "WindowReach", "copy_directly", "copy_hop_by_hop", "reach", "run"]

SYMBOLS, LENGTH, LAG, BATCH, LEARNING_RATE = 8, 24, 8, 32, 3e-3
LAYER = LayerSpec(d_model=32, num_heads=2, d_ff=64, norm_first=True)
MASTERED, IN_A_ROW, STAGE_STEPS = 0.05, 5, 300


class Budget(NamedTuple):
    seeds: int
    steps: int
    cells: tuple[tuple[int, int], ...]
    hop_by_hop: tuple[tuple[int, int], ...]


BUDGETS = {
    "smoke": Budget(1, 200, ((1, 8), (1, 9), (2, 4), (2, 5)), ((4, 3),)),
    "full": Budget(5, 400, tuple((layers, window) for layers in (1, 2, 3, 4) for window in (3, 4, 5, 8, 9)), ((4, 3),)),
}


@dataclass(frozen=True)
class WindowReach:
    """Share of tokens copied on fresh sequences; guessing gives ``chance``.

    ``direct[layers][window]`` and ``hop_by_hop[layers][window]`` have one number a seed; layers and windows are
    strings, as json wants them. ``steps`` is the most batches of a direct training, ``hop_steps[layers][window]``
    what the training hop by hop used.
    """

    budget: str
    seeds: list[int]
    lag: int
    chance: float
    steps: int
    direct: dict[str, dict[str, list[float]]]
    hop_by_hop: dict[str, dict[str, list[float]]]
    hop_steps: dict[str, dict[str, list[int]]]

    def summary(self) -> dict[str, float | str]:
        """Least and most over the seeds, with the reach of each network."""
        lines: dict[str, float | str] = {"chance": self.chance}
        for how, table in (("directly", self.direct), ("hop by hop", self.hop_by_hop)):
            for layers, by_window in table.items():
                for window, copied in by_window.items():
                    name = f"layers {layers}, window {window}, {how}"
                    far = reach(int(layers), int(window))
                    lines[name] = f"reach {far}: {min(copied):.3f} to {max(copied):.3f}"
        return lines


RESULT = WindowReach


def reach(layers: int, window: int) -> int:
    """How many positions back the output of a stack of causal layers can depend on.

    Example:
        >>> reach(2, 5)
        8
    """
    return layers * (window - 1)


def copy_directly(layers: int, window: int, *, steps: int, seed: int) -> float:
    """Train a fresh network on the lag 8 alone, until it has it or the batches are used up.

    Args:
        layers: Number of layers.
        window: Keys that a query sees in each layer, itself included.
        steps: Most batches.
        seed: Of weights and data.

    Returns:
        Share of tokens copied, 0 to 1.
    """
    with seeded(seed) as generator:
        model, optimizer = _fresh(layers)
        _stage(model, optimizer, LAG, window, steps, generator)
        return _copied(model, window, generator)


def copy_hop_by_hop(layers: int, window: int, *, seed: int) -> tuple[float, int]:
    """Train a fresh network on the lags of one hop, two hops and so on, up to 8.

    A hop is ``window - 1`` positions. A lag is mastered after 5 batches in a row with a loss below 0.05, and ends
    after 300 at the latest.

    Returns:
        Share of tokens copied at lag 8, and the number of batches used in all.
    """
    with seeded(seed) as generator:
        model, optimizer = _fresh(layers)
        lags = [*range(window - 1, LAG, window - 1), LAG]
        used = sum(_stage(model, optimizer, lag, window, STAGE_STEPS, generator) for lag in lags)
        return _copied(model, window, generator), used


def _fresh(layers: int) -> tuple[LanguageModel, torch.optim.Optimizer]:
    model = LanguageModel(SYMBOLS, LAYER, layers, longest=LENGTH)
    return model, torch.optim.Adam(model.parameters(), LEARNING_RATE)


def _stage(
    model: LanguageModel,
    optimizer: torch.optim.Optimizer,
    lag: int,
    window: int,
    steps: int,
    generator: torch.Generator,
) -> int:
    """Train until mastered, ``steps`` batches at most; the number of batches used."""
    used, in_a_row = 0, 0
    while used < steps and in_a_row < IN_A_ROW:
        tokens, answer = lag_copy_batch(BATCH, LENGTH, lag=lag, symbols=SYMBOLS, generator=generator)
        logits = model(tokens, window=window).logits[:, lag:]  # (B, L - lag, symbols)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), answer.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        used, in_a_row = used + 1, in_a_row + 1 if loss.item() < MASTERED else 0
    return used


@torch.no_grad()
def _copied(model: LanguageModel, window: int, generator: torch.Generator) -> float:
    tokens, answer = lag_copy_batch(256, LENGTH, lag=LAG, symbols=SYMBOLS, generator=generator)
    votes = model(tokens, window=window).logits[:, LAG:]
    return digits((votes.argmax(dim=-1) == answer).float().mean().item(), 4)


def run(budget: str = "smoke", *, seeds: list[int] | None = None, progress: bool = False) -> WindowReach:
    """Train every combination of layers and window directly, and the hardest one hop by hop too.

    Args:
        budget: "smoke" (1 seed, 4 combinations, 200 batches) or "full" (5 seeds, 20 combinations, 400 batches).
        seeds: Use these instead.
        progress: Show a bar.

    Returns:
        A :class:`WindowReach`.

    Raises:
        OptionError: Another budget.
    """
    plan = chosen(BUDGETS, budget)
    seeds = list(range(plan.seeds)) if seeds is None else list(seeds)
    direct: dict[str, dict[str, list[float]]] = {}
    for layers, window in progress_bar(plan.cells, "window_reach", show=progress):
        copied = [copy_directly(layers, window, steps=plan.steps, seed=seed) for seed in seeds]
        direct.setdefault(str(layers), {})[str(window)] = copied
    hop_by_hop: dict[str, dict[str, list[float]]] = {}
    hop_steps: dict[str, dict[str, list[int]]] = {}
    for layers, window in plan.hop_by_hop:
        runs = [copy_hop_by_hop(layers, window, seed=seed) for seed in seeds]
        hop_by_hop.setdefault(str(layers), {})[str(window)] = [copied for copied, _ in runs]
        hop_steps.setdefault(str(layers), {})[str(window)] = [steps for _, steps in runs]
    return WindowReach(budget, seeds, LAG, 1 / SYMBOLS, plan.steps, direct, hop_by_hop, hop_steps)
