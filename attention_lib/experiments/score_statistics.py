"""What sqrt(d_k) does: spread of the scores, sharpness of the weights, size of the gradient, by width d_k."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from attention_lib.experiments.control import chosen, digits, progress_bar
from attention_lib.experiments.score_sample import (
    RULES,
    ScoreSample,
    relative_entropy,
    score_sample,
    started_score_std,
)

__all__ = ["MEASURES", "ScoreStatistics", "run"]

WIDTHS = [1, 4, 16, 64, 256, 1024]
SEEDS = {"smoke": 3, "full": 10}
MEASURES = {
    "largest weight": lambda sample: sample.weights.amax(dim=-1).mean(),
    "entropy": lambda sample: relative_entropy(sample.weights).mean(),
    "jacobian": lambda sample: sample.jacobian.mean(),
    "median gradient": lambda sample: sample.gradient.median(),
}


@dataclass(frozen=True)
class ScoreStatistics:
    """``variance_ratio[seed][width]`` is Var(q.k) / d_k; ``measures[rule][measure][seed][width]`` the rest.

    Entropy is a share of ln 32, the largest possible. ``started_std[init][seed]`` is the spread of the scaled
    scores at d_k = 64 in a fresh layer, as nn.Linear starts and with unit-variance queries and keys.
    """

    budget: str
    seeds: list[int]
    widths: list[int]
    variance_ratio: list[list[float]]
    measures: dict[str, dict[str, list[list[float]]]]
    started_std: dict[str, list[float]]

    def mean(self, rule: str, measure: str) -> list[float]:
        """Mean over the seeds, one number a width."""
        return torch.tensor(self.measures[rule][measure], dtype=torch.float64).mean(dim=0).tolist()

    def band(self, rule: str, measure: str) -> tuple[list[float], list[float]]:
        """Smallest and largest over the seeds, one number a width each."""
        numbers = torch.tensor(self.measures[rule][measure], dtype=torch.float64)
        return numbers.amin(dim=0).tolist(), numbers.amax(dim=0).tolist()

    def summary(self) -> dict[str, object]:
        """Widths, then the mean over the seeds for each rule and measure."""
        ratios = torch.tensor(self.variance_ratio)
        lines: dict[str, object] = {
            "widths": self.widths,
            "variance ratio, least and most": digits(torch.stack([ratios.min(), ratios.max()]), 3),
        }
        for rule, by_measure in self.measures.items():
            lines |= {f"{rule}: {name}": digits(torch.tensor(self.mean(rule, name)), 3) for name in by_measure}
        for init, stds in self.started_std.items():
            lines[f"score std at start, {init}"] = digits(sum(stds) / len(stds), 3)
        return lines


RESULT = ScoreStatistics


def run(budget: str = "smoke", *, seeds: list[int] | None = None, progress: bool = False) -> ScoreStatistics:
    """Measure every width and rule for every seed.

    Args:
        budget: "smoke" (3 seeds) or "full" (10 seeds).
        seeds: Use these instead.
        progress: Show a bar.

    Returns:
        A :class:`ScoreStatistics`.

    Raises:
        OptionError: Another budget.
    """
    count = chosen(SEEDS, budget)
    seeds = list(range(count)) if seeds is None else list(seeds)
    ratios: list[list[float]] = []
    measures: dict[str, dict[str, list[list[float]]]] = {rule: {name: [] for name in MEASURES} for rule in RULES}
    for seed in progress_bar(seeds, "score_statistics", show=progress):
        samples = {rule: [score_sample(d_k, rule, seed=seed) for d_k in WIDTHS] for rule in RULES}
        ratios.append([_ratio(sample, d_k) for sample, d_k in zip(samples["raw"], WIDTHS, strict=True)])
        for rule, of_widths in samples.items():
            for name, measure in MEASURES.items():
                measures[rule][name].append([digits(measure(sample).item()) for sample in of_widths])
    started = {
        name: [digits(started_score_std(unit_variance=unit, seed=seed)) for seed in seeds]
        for name, unit in (("nn.Linear", False), ("unit variance", True))
    }
    return ScoreStatistics(budget, seeds, WIDTHS, ratios, measures, started)


def _ratio(raw: ScoreSample, d_k: int) -> float:
    return digits(raw.scores.var().item() / d_k)
