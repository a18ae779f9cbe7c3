r"""How much of the gradient reaches back over a distance: recurrent networks and one attention layer.

.. math:: \text{reach}(L) = \frac{1}{\sqrt{d}} \left\lVert \frac{\partial h_T}{\partial x_{T-L}} \right\rVert_F

h_T is the last output, of d numbers, and x_{T-L} the input L positions before it: reach is the size of the
gradient of one of these numbers (root mean square over them). Inputs are random, weights as each layer starts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from attention_lib.experiments.control import chosen, digits, progress_bar, seeded
from attention_lib.layers.recurrent import GRU, LSTM, RNN
from attention_lib.layers.self_attention import SelfAttention
from attention_lib.shapes import Float

__all__ = ["LAYERS", "GradientReach", "gradient_norms", "run"]

WIDTH, FARTHEST = 32, 50
SEEDS = {"smoke": 5, "full": 20}
LAYERS: dict[str, Callable[[], nn.Module]] = {
    "RNN": lambda: RNN(WIDTH, WIDTH),
    "GRU": lambda: GRU(WIDTH, WIDTH),
    "LSTM": lambda: LSTM(WIDTH, WIDTH),
    "LSTM, forget bias 1": lambda: LSTM(WIDTH, WIDTH, forget_bias=1.0),
    "attention": lambda: SelfAttention(WIDTH),
}


@dataclass(frozen=True)
class GradientReach:
    """``norms[layer][seed][L]`` for the distances 0, 1, ..., L."""

    budget: str
    seeds: list[int]
    distances: list[int]
    norms: dict[str, list[list[float]]]

    def typical(self, layer: str) -> list[float]:
        """Geometric mean over the seeds, one number a distance."""
        return torch.tensor(self.norms[layer], dtype=torch.float64).log().mean(dim=0).exp().tolist()

    def band(self, layer: str) -> tuple[list[float], list[float]]:
        """Smallest and largest over the seeds, one number a distance each."""
        norms = torch.tensor(self.norms[layer], dtype=torch.float64)
        return norms.amin(dim=0).tolist(), norms.amax(dim=0).tolist()

    def summary(self) -> dict[str, float]:
        """The geometric mean at the largest distance, layer by layer."""
        return {f"{layer} at {self.distances[-1]}": digits(self.typical(layer)[-1], 3) for layer in self.norms}


RESULT = GradientReach


def gradient_norms(layer: nn.Module, x: Float[Tensor, "L d_in"]) -> Float[Tensor, "L"]:
    """Size of the gradient of one component of the last output, by the input at each distance.

    The root mean square over the components of the last output, of the norm over those of the input. Copy i of
    the sequence is asked for component i, so that one backward pass brings all rows of the Jacobian.

    Args:
        layer: Called with (B, L, d_in), returns the outputs (B, L, width) and something else.
        x: One sequence (L, d_in).

    Returns:
        (L,), the entry at d belongs to the input d positions before the last.

    Example:
        An attention layer with queries of zero weighs all 4 inputs alike; with W_V = 1 each gets a quarter.

        >>> layer = SelfAttention(1)
        >>> for linear, weight in ((layer.w_q, 0.0), (layer.w_k, 1.0), (layer.w_v, 1.0)):
        ...     _ = nn.init.constant_(linear.weight, weight)
        >>> gradient_norms(layer, torch.ones(4, 1))
        tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """
    with torch.no_grad():
        width = layer(x[None])[0].shape[-1]
    copies = x.repeat(width, 1, 1).requires_grad_()  # (width, L, d_in)
    last = layer(copies)[0][:, -1]  # (width, width): copy, component
    (jacobian,) = torch.autograd.grad(last.diagonal().sum(), copies)  # (width, L, d_in)
    return jacobian.square().sum(dim=2).mean(dim=0).sqrt().flip(0)  # (L,)


def run(budget: str = "smoke", *, seeds: list[int] | None = None, progress: bool = False) -> GradientReach:
    """Measure every layer for every seed, in float64.

    Args:
        budget: "smoke" (5 seeds) or "full" (20 seeds).
        seeds: Use these instead.
        progress: Show a bar.

    Returns:
        A :class:`GradientReach`.

    Raises:
        OptionError: Another budget.
    """
    count = chosen(SEEDS, budget)
    seeds = list(range(count)) if seeds is None else list(seeds)
    norms: dict[str, list[list[float]]] = {layer: [] for layer in LAYERS}
    for seed in progress_bar(seeds, "gradient_reach", show=progress):
        for name, build in LAYERS.items():
            with seeded(seed) as generator:
                x = torch.randn(FARTHEST + 1, WIDTH, generator=generator, dtype=torch.float64)
                norms[name].append(digits(gradient_norms(build().double(), x)))
    return GradientReach(budget, seeds, list(range(FARTHEST + 1)), norms)
