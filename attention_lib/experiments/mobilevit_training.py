"""What does attention bring to a small image network? MobileViT, the same without attention, and two plain CNNs.

Two tasks: name a digit (everything is near), and say whether two digits in opposite corners are the same (nothing
is). Each network has the learning rate that served it better in a trial of 0.001, 0.002, 0.003 and 0.01.
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
    """``build(classes)``, its learning rate, and the options of its forward pass."""

    build: Callable[[int], nn.Module]
    learning_rate: float
    options: dict[str, Any]


class Task(NamedTuple):
    """``draw(batch, side=..., generator=...)``, the side of an image in pixels, the number of answers."""

    draw: Callable[..., ImageBatch]
    side: int
    classes: int


NETWORKS = {
    "CNN": Network(lambda classes: ConvClassifier(classes, 12), 3e-3, {}),
    "CNN, pooling": Network(lambda classes: ConvClassifier(classes, 12, pooling=True), 3e-3, {}),
    "MobileViT": Network(lambda classes: MobileViTClassifier(classes, 8, SPEC, 1), 2e-3, {}),
    "no attention": Network(lambda classes: MobileViTClassifier(classes, 8, SPEC, 1), 2e-3, {"attend": False}),
}
TASKS = {"far corners": Task(far_corner_batch, 20, 2), "plain digits": Task(digit_batch, 16, 10)}


class Budget(NamedTuple):
    seeds: int
    steps: dict[str, int]
    networks: tuple[str, ...]


BUDGETS = {
    "smoke": Budget(1, {"far corners": 150}, ("CNN", "MobileViT", "no attention")),
    "full": Budget(5, {"far corners": 500, "plain digits": 600}, tuple(NETWORKS)),
}


@dataclass(frozen=True)
class MobileViTTraining:
    """``accuracy[task][network][seed]`` on 1024 fresh images at the end; ``curves`` the same while training.

    ``curves[task][network][seed]`` has one value on 256 images for each entry of ``steps[task]``. ``parameters`` and
    ``flops`` (of one image, a multiplication and an addition counted as two) are those of each task's network.
    """

    budget: str
    seeds: list[int]
    steps: dict[str, list[int]]
    accuracy: dict[str, dict[str, list[float]]]
    curves: dict[str, dict[str, list[list[float]]]]
    parameters: dict[str, dict[str, int]]
    flops: dict[str, dict[str, int]]

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
    build, learning_rate, options = NETWORKS[name]
    draw, side, classes = TASKS[task]

    def right(count: int) -> float:
        with torch.no_grad():
            images, label = draw(count, side=side, generator=generator)
            return digits((network(images, **options).logits.argmax(dim=1) == label).float().mean().item(), 4)

    with seeded(seed) as generator:
        network, curve = build(classes), []
        optimizer = torch.optim.Adam(network.parameters(), learning_rate)
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
        budget: "smoke" (1 seed, far corners alone, 150 batches) or "full" (5 seeds, 500 and 600 batches).
        seeds: Use these instead.
        progress: Show a bar.

    Returns:
        A :class:`MobileViTTraining`.

    Raises:
        OptionError: Another budget.
    """
    plan = chosen(BUDGETS, budget)
    seeds = list(range(plan.seeds)) if seeds is None else list(seeds)
    tables = [{task: {name: [] for name in plan.networks} for task in plan.steps} for _ in range(2)]
    lessons = [(task, name, seed) for task in plan.steps for name in plan.networks for seed in seeds]
    for task, name, seed in progress_bar(lessons, "mobilevit_training", show=progress):
        for table, value in zip(tables, train_network(name, task, steps=plan.steps[task], seed=seed), strict=True):
            table[task][name].append(value)
    counted = [
        {task: {name: count(name, task) for name in plan.networks} for task in plan.steps}
        for count in (_parameters_of, _flops_of)
    ]
    steps = {task: list(range(EVERY, most + 1, EVERY)) for task, most in plan.steps.items()}
    return MobileViTTraining(budget, seeds, steps, *tables, *counted)


def _parameters_of(name: str, task: str) -> int:
    return parameters(name, TASKS[task].classes)


def _flops_of(name: str, task: str) -> int:
    return flops(name, TASKS[task].side, TASKS[task].classes)
