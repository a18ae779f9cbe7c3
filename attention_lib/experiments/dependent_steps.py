"""How many matrix products must run one after another: a recurrent layer's grow with n, attention's do not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

from attention_lib.experiments.autograd_depth import dependent_products
from attention_lib.experiments.control import chosen, progress_bar, seeded
from attention_lib.layers.recurrent import GRU, LSTM, RNN
from attention_lib.layers.self_attention import SelfAttention

__all__ = ["LAYERS", "DependentSteps", "run", "steps_of"]

WIDTH = 8
LENGTHS = {"smoke": [1, 2, 5, 10, 20, 50], "full": [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]}
LAYERS: dict[str, Callable[[], nn.Module]] = {
    "RNN": lambda: RNN(WIDTH, WIDTH),
    "GRU": lambda: GRU(WIDTH, WIDTH),
    "LSTM": lambda: LSTM(WIDTH, WIDTH),
    "attention": lambda: SelfAttention(WIDTH),
}


@dataclass(frozen=True)
class DependentSteps:
    """``products[layer]``: one whole number a length. Exact, so the one seed stands for all."""

    budget: str
    seeds: list[int]
    lengths: list[int]
    products: dict[str, list[int]]

    def summary(self) -> dict[str, int]:
        """The longest chain at the greatest length."""
        return {f"{layer} at {self.lengths[-1]}": chain[-1] for layer, chain in self.products.items()}


RESULT = DependentSteps


def steps_of(layer: nn.Module, length: int, *, width: int = WIDTH) -> int:
    """Dependent matrix products of one forward pass over ``length`` random inputs.

    Args:
        layer: Called with (1, length, width); the first thing it returns is (1, length, any width).
        length: Number of positions.
        width: Width of the input.

    Returns:
        Longest chain of products behind the last position's output.

    Example:
        >>> steps_of(RNN(8, 8), 20), steps_of(SelfAttention(8), 20)
        (20, 3)
    """
    return dependent_products(layer(torch.randn(1, length, width))[0][:, -1])


def run(budget: str = "smoke", *, seeds: list[int] | None = None, progress: bool = False) -> DependentSteps:
    """Count for every layer and length.

    Args:
        budget: "smoke" (up to 50 positions) or "full" (up to 1000).
        seeds: One seed; the count does not depend on it.
        progress: Show a bar.

    Returns:
        A :class:`DependentSteps`.

    Raises:
        OptionError: Another budget.
    """
    lengths = chosen(LENGTHS, budget)
    seeds = [0] if seeds is None else list(seeds)
    with seeded(seeds[0]):
        products = {
            name: [steps_of(build(), length) for length in lengths]
            for name, build in progress_bar(list(LAYERS.items()), "dependent_steps", show=progress)
        }
    return DependentSteps(budget, seeds, lengths, products)
