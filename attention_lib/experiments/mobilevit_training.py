"""What does attention bring to a small image network? MobileViT, the same without attention, and two plain CNNs.

Two tasks: name a digit (everything is near), and say whether two digits in opposite corners are the same (nothing
is). Each network has the learning rate that served it best on a task in a trial of 0.001, 0.002, 0.003 and 0.01,
and the cheap ones get more batches: on the far corners, all have about the same compute.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import cross_entropy
from torch.utils.flop_counter import FlopCounterMode

from attention_lib.experiments.control import chosen, digits, progress_bar, seeded
from attention_lib.layers.stacks import LayerSpec
from attention_lib.models.convolution import ConvClassifier
from attention_lib.models.mobilevit import MobileViTClassifier
from attention_lib.tasks.digits import ImageBatch, digit_batch
from attention_lib.tasks.far_corners import far_corner_batch

__all__ = ["NETWORKS", "TASKS", "MobileViTTraining", "Network", "flops", "parameters", "run", "train_network"]

BATCH, EVERY = 32, 50
SPEC = LayerSpec(d_model=32, num_heads=4, d_ff=64, norm_first=True)


class Network(NamedTuple):
    """``build(classes)``, the options of its forward pass, its learning rate on each task."""

    build: Callable[[int], nn.Module]
    options: dict[str, Any]
    learning_rates: dict[str, float]


class Task(NamedTuple):
    """``draw(batch, side=..., generator=...)``, the side of an image in pixels, the number of answers."""

    draw: Callable[..., ImageBatch]
    side: int
    classes: int


def _mobilevit(classes: int) -> nn.Module:
    return MobileViTClassifier(classes, 8, SPEC, 1)


LEVEL = {"far corners": 3e-3, "plain digits": 3e-3}
GENTLE = {"far corners": 1e-3, "plain digits": 3e-3}
NETWORKS = {
    "CNN": Network(lambda classes: ConvClassifier(classes, 12), {}, LEVEL),
    "CNN, pooling": Network(lambda classes: ConvClassifier(classes, 12, pooling=True), {}, LEVEL),
    "MobileViT": Network(_mobilevit, {}, GENTLE),
    "no attention": Network(_mobilevit, {"attend": False}, GENTLE),
}
TASKS = {"far corners": Task(far_corner_batch, 20, 2), "plain digits": Task(digit_batch, 16, 10)}


class Budget(NamedTuple):
    """How many seeds, and batches of each network on each task."""

    seeds: int
    steps: dict[str, dict[str, int]]


BUDGETS = {
    "smoke": Budget(1, {"far corners": {"CNN": 150, "MobileViT": 150, "no attention": 150}}),
    "full": Budget(
        5,
        {
            "far corners": {"CNN": 1200, "CNN, pooling": 1200, "MobileViT": 300, "no attention": 300},
            "plain digits": dict.fromkeys(NETWORKS, 800),
        },
    ),
}


@dataclass(frozen=True)
class MobileViTTraining:
    """``accuracy[task][network][seed]`` on 1024 fresh images at the end; ``curves`` the same while training.

    ``curves[task][network][seed]`` has one value on 256 images for each of the batches in ``steps[task][network]``.
    ``parameters`` and ``flops`` (of one image, a multiplication and an addition counted as two) are those of each
    task's network.
    """

    budget: str
    seeds: list[int]
    steps: dict[str, dict[str, list[int]]]
    accuracy: dict[str, dict[str, list[float]]]
    curves: dict[str, dict[str, list[list[float]]]]
    parameters: dict[str, dict[str, int]]
    flops: dict[str, dict[str, int]]

    def compute(self, task: str, name: str) -> list[float]:
        """GFLOP of the forward passes behind each value of a curve."""
        return [step * BATCH * self.flops[task][name] / 1e9 for step in self.steps[task][name]]

    def summary(self) -> dict[str, str]:
        """Accuracy, mean, least and most over the seeds; parameters and FLOPs."""
        return {
            f"{task}: {name}": f"{sum(runs) / len(runs):.3f} ({min(runs):.3f} to {max(runs):.3f}), "
            f"{self.parameters[task][name]} parameters, {self.flops[task][name]} FLOPs"
            for task, by_network in self.accuracy.items()
            for name, runs in by_network.items()
        }


RESULT = MobileViTTraining


def parameters(name: str, classes: int = 2) -> int:
    """Number of parameters of a network.

    Example:
        >>> parameters("CNN") == parameters("CNN, pooling")
        True
    """
    return sum(parameter.numel() for parameter in NETWORKS[name].build(classes).parameters())


def flops(name: str, side: int = 20, classes: int = 2) -> int:
    """Floating point operations of one image in all convolutions and matrix products, counted as they run.

    Norms, activations and softmax are not in it. The version without attention computes its scores and masks them.

    Example:
        >>> flops("CNN", side=20)
        540048
    """
    network = NETWORKS[name].build(classes).eval()
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        network(torch.zeros(1, 1, side, side), **NETWORKS[name].options)
    return counter.get_total_flops()


def train_network(name: str, task: str, *, steps: int, seed: int) -> tuple[float, list[float]]:
    """Train one fresh network with Adam on batches of 32 images.

    Args:
        name: One of ``NETWORKS``.
        task: One of ``TASKS``.
        steps: Number of batches.
        seed: Of weights and data.

    Returns:
        Accuracy on 1024 fresh images, and on 256 after every 50 batches.
    """
    build, options, learning_rates = NETWORKS[name]
    draw, side, classes = TASKS[task]

    def right(count: int) -> float:
        with torch.no_grad():
            images, label = draw(count, side=side, generator=generator)
            return digits((network(images, **options).logits.argmax(dim=1) == label).float().mean().item(), 4)

    with seeded(seed) as generator:
        network, curve = build(classes), []
        optimizer = torch.optim.Adam(network.parameters(), learning_rates[task])
        for step in range(1, steps + 1):
            images, label = draw(BATCH, side=side, generator=generator)
            loss = cross_entropy(network(images, **options).logits, label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % EVERY == 0:
                curve.append(right(256))
        return right(1024), curve


def run(budget: str = "smoke", *, seeds: list[int] | None = None, progress: bool = False) -> MobileViTTraining:
    """Train every network on every task, for every seed.

    Args:
        budget: "smoke" (1 seed, far corners alone, 150 batches) or "full" (5 seeds, 300 to 1200 batches).
        seeds: Use these instead.
        progress: Show a bar.

    Returns:
        A :class:`MobileViTTraining`.

    Raises:
        OptionError: Another budget.
    """
    plan = chosen(BUDGETS, budget)
    seeds = list(range(plan.seeds)) if seeds is None else list(seeds)
    accuracy, curves = _empty_table(plan), _empty_table(plan)
    lessons = [(task, name, seed) for task, steps in plan.steps.items() for name in steps for seed in seeds]
    for task, name, seed in progress_bar(lessons, "mobilevit_training", show=progress):
        measured = train_network(name, task, steps=plan.steps[task][name], seed=seed)
        for table, value in zip((accuracy, curves), measured, strict=True):
            table[task][name].append(value)
    sizes, costs = (
        {task: {name: count(task, name) for name in steps} for task, steps in plan.steps.items()}
        for count in (_parameters_of, _flops_of)
    )
    behind = {task: {name: _steps_of(plan, task, name) for name in steps} for task, steps in plan.steps.items()}
    return MobileViTTraining(budget, seeds, behind, accuracy, curves, sizes, costs)


def _empty_table(plan: Budget) -> dict[str, dict[str, list]]:
    return {task: {name: [] for name in steps} for task, steps in plan.steps.items()}


def _steps_of(plan: Budget, task: str, name: str) -> list[int]:
    return list(range(EVERY, plan.steps[task][name] + 1, EVERY))


def _parameters_of(task: str, name: str) -> int:
    return parameters(name, TASKS[task].classes)


def _flops_of(task: str, name: str) -> int:
    return flops(name, TASKS[task].side, TASKS[task].classes)
