"""The attention that a candidate is compared with: a pipeline of steps, each with its right option and its wrong ones.

A ``Recipe`` names one option for every step; a mistake is an edit of one step, several mistakes are several edits.
Every step works under extra leading axes, so that many recipes run at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

__all__ = [
    "MASK_STEPS",
    "STEPS",
    "Case",
    "Material",
    "Menu",
    "Option",
    "Recipe",
    "Sizes",
    "distance",
    "evaluate",
    "matching",
]

STEPS = ("pair", "scale", "shape", "pattern", "pattern_mode", "reading", "mask_mode", "norm", "value", "mix", "finish")
MASK_STEPS = ("reading", "mask_mode")


@dataclass(frozen=True, eq=False)
class Option:
    """One way to do a step; ``code`` is the mistake or variant it stands for, empty when it is right.

    Attributes:
        number: What the option was fitted or built with: a factor, a cap, a window.
        cost: How many edits it counts for.
        rare: Not worth combining with other mistakes.
    """

    name: str
    code: str
    apply: Any
    number: float | None = None
    cost: int = 1
    rare: bool = False

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes it stands for: an option may be two edits of one step, joined by ``+``."""
        return tuple(filter(None, self.code.split("+")))

    def __repr__(self) -> str:
        return f"Option({self.name})"


@dataclass(frozen=True)
class Sizes:
    """The axes of one case; ``d_model`` is what all heads have together."""

    B: int
    H: int
    L: int
    S: int
    d_k: int
    d_v: int
    d_model: int


@dataclass
class Material:
    """What the steps start from: tensors ``query key value`` and whatever the options of one kind look up."""

    tensors: dict[str, Tensor]
    sizes: Sizes


@dataclass
class Case:
    """One call of the candidate: its inputs, its mask as ``(B or 1, H or 1, L or 1, S)`` booleans, its output.

    ``found`` keeps the recipes that an earlier search found, by menu, number of edits, and whether rare ones
    counted; it holds on to the menu, so that no other one gets its id.
    """

    material: Material
    mask: Tensor | None
    target: Tensor
    tolerance: float = 1e-5
    inputs: dict[str, Tensor] = field(default_factory=dict)
    found: dict[tuple[int, int, bool], tuple[Menu, list[Recipe]]] = field(default_factory=dict, init=False, repr=False)

    @property
    def sizes(self) -> Sizes:
        return self.material.sizes


@dataclass(frozen=True)
class Recipe:
    """One option a step."""

    options: tuple[Option, ...]

    def __getitem__(self, step: str) -> Option:
        return self.options[STEPS.index(step)]

    def but(self, **changes: Option) -> Recipe:
        """This recipe with some steps replaced."""
        return Recipe(tuple(changes.get(step, option) for step, option in zip(STEPS, self.options, strict=True)))

    @property
    def codes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(code for option in self.options for code in option.codes))

    @property
    def cost(self) -> int:
        return sum(option.cost for option in self.options if option.code)

    def coded(self) -> list[Option]:
        return [option for option in self.options if option.code]


@dataclass(frozen=True)
class Menu:
    """The options of every step, the right one first."""

    steps: dict[str, tuple[Option, ...]] = field(default_factory=dict)

    @property
    def right(self) -> Recipe:
        return Recipe(tuple(self.steps[step][0] for step in STEPS))

    def only(self, recipe: Recipe, *free: str) -> Menu:
        """Keep the recipe's option for every step but the free ones, which keep their whole choice.

        A free step starts from the recipe's option; where that is a mistake, the others still cost one.
        """
        steps = {}
        for step in STEPS:
            options: tuple[Option, ...] = (recipe[step],)
            if step in free:
                options += tuple(option for option in self.steps[step] if option is not recipe[step])
            steps[step] = options
        return Menu(steps)

    def common(self) -> Menu:
        """Without the rare options."""
        steps = {
            step: (options[0], *(option for option in options[1:] if not option.rare))
            for step, options in self.steps.items()
        }
        return Menu(steps)

    def with_options(self, **options: tuple[Option, ...]) -> Menu:
        return replace(self, steps={**self.steps, **options})


def scores_of(recipe: Recipe, case: Case) -> Tensor:
    """Steps ``pair``, ``scale`` and ``shape``: ``(B, H, L, S)``."""
    query, key = recipe["pair"].apply(case.material)
    scores = query @ key.transpose(-2, -1) * recipe["scale"].apply(case.sizes)
    return recipe["shape"].apply(scores, query, key)


def weights_of(recipe: Recipe, case: Case, scores: Tensor) -> Tensor:
    """Steps ``pattern`` to ``norm``, for scores with any extra axes in front."""
    pattern = recipe["pattern"].apply(scores.shape[-2], scores.shape[-1])
    mask = None if case.mask is None else recipe["reading"].apply(case.mask, scores.shape[-2])
    before, after = recipe["pattern_mode"].apply
    mask_before, mask_after = recipe["mask_mode"].apply
    if mask is not None:
        scores = mask_before(scores, mask)
    if pattern is not None:
        scores = before(scores, pattern)
    weights = recipe["norm"].apply(scores)
    if mask is not None:
        weights = mask_after(weights, mask)
    return weights if pattern is None else after(weights, pattern)


def output_of(recipe: Recipe, case: Case, weights: Tensor) -> Tensor:
    """Steps ``value``, ``mix`` and ``finish``."""
    heads = recipe["mix"].apply(weights, recipe["value"].apply(case.material))
    return recipe["finish"].apply(heads, case.material)


def evaluate(recipe: Recipe, case: Case) -> tuple[Tensor, Tensor]:
    """The recipe's output and weights on a case. Rows without an allowed key may be NaN: they mean "anything"."""
    weights = weights_of(recipe, case, scores_of(recipe, case))
    return output_of(recipe, case, weights), weights


def matching(found: Tensor, expected: Tensor, tolerance: float) -> list[int]:
    """Which entries of the leading axis of ``expected`` are as near as that; most are ruled out by one number."""
    last = found.flatten()[-1]
    far = (expected.flatten(1)[:, -1] - last).abs() > tolerance * (1.0 + last.abs())  # False where either is NaN
    likely = (~far).nonzero().flatten().tolist()
    if not likely:
        return []
    near = (distance(found, expected[likely]) <= tolerance).tolist()
    return [number for number, fits in zip(likely, near, strict=True) if fits]


def distance(found: Tensor, expected: Tensor) -> Tensor:
    """Largest relative difference, one number for each entry of the leading axis of ``expected``.

    Entries that are NaN in ``expected`` are left out; where they are more than half, the distance is infinite,
    unless ``found`` is NaN in the very same places and not everywhere.
    """
    nothing = found.isnan()
    free = expected.isnan()
    difference = (found - expected).abs() / (1.0 + found.abs())
    difference = torch.where(found == expected, 0.0, difference)  # infinities too
    difference = torch.where(free, 0.0, difference).flatten(1)
    difference = torch.where(difference.isnan(), torch.inf, difference)
    worst = difference.amax(dim=1) if difference.shape[1] else difference.new_zeros(len(expected))
    vague = free.flatten(1).double().mean(dim=1) > 0.5
    if bool(nothing.any()) and not bool(nothing.all()):
        vague &= (free != nothing).flatten(1).any(dim=1)
    return torch.where(vague, torch.inf, worst)
