"""Finds the recipe that computes what the candidate computes: the one with the fewest edits.

All products of options are tried up to a number of edits, many at once: variants of the scores are stacked, turned
into a stack of weights, and that into a stack of outputs. What no listed factor explains is fitted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from attention_lib.doctor.pipeline import (
    MASK_STEPS,
    STEPS,
    Case,
    Menu,
    Option,
    Recipe,
    distance,
    evaluate,
    matching,
    scores_of,
    weights_of,
)

__all__ = ["explain", "fit", "fits"]

_HOPELESS = 0.2  # a grid point nearest to the right number is nearer than this
_SCORE_STEPS = ("pair", "scale", "shape")
_WEIGHT_STEPS = ("pattern", "pattern_mode", "reading", "mask_mode", "norm")
_OUTPUT_STEPS = ("value", "mix", "finish")


@dataclass
class _Stack:
    """Variants of one stage: their recipes' options so far, their costs, their tensors stacked."""

    choices: list[tuple[Option, ...]]
    costs: Tensor
    tensor: Tensor


def fits(recipe: Recipe, case: Case) -> bool:
    """Whether the recipe computes the candidate's output on this case."""
    try:
        output, _ = evaluate(recipe, case)
    except (RuntimeError, IndexError):
        return False
    if output.shape != case.target.shape:
        return False
    return bool(distance(case.target, output[None])[0] <= case.tolerance)


def explain(
    case: Case,
    menu: Menu,
    edits: int,
    others: tuple[Case, ...] = (),
    known: tuple[str, ...] = (),
    *,
    rare: bool = False,
) -> Recipe | None:
    """The cheapest recipe of the menu that fits the case and all others, or None.

    Args:
        case: The case that is searched.
        menu: Options of every step.
        edits: Most edits at once; from two on, only the common options are combined
            unless ``rare``.
        others: Cases that a recipe must fit too.
        known: Codes that were found before: among equals, recipes with these come first.
    """
    for limit in range(edits + 1):
        key = (id(menu), limit, rare)
        if key not in case.found:
            case.found[key] = menu, _matches(case, menu if rare or limit < 2 else menu.common(), limit)
        matches = sorted(case.found[key][1], key=lambda recipe: sum(code not in known for code in recipe.codes))
        for recipe in matches:
            if all(fits(recipe, other) for other in others):
                return recipe
    return None


def _matches(case: Case, menu: Menu, limit: int) -> list[Recipe]:
    """Recipes with exactly ``limit`` edits that fit the case."""
    if case.mask is None:
        menu = menu.only(menu.right, *(step for step in STEPS if step not in MASK_STEPS))
    found: list[Recipe] = []
    for scores in _score_stacks(case, menu, limit):
        weights = _weight_stack(case, menu, scores, limit)
        found += [] if weights is None else _fitting(case, menu, weights, limit)
    return found


def _products(menu: Menu, steps: tuple[str, ...], limit: int) -> Iterator[tuple[tuple[Option, ...], int]]:
    """All choices of one option a step that cost no more than ``limit``, with their costs."""
    if not steps:
        yield (), 0
        return
    for option in menu.steps[steps[0]]:
        cost = option.cost if option.code else 0
        if cost <= limit:
            for rest, more in _products(menu, steps[1:], limit - cost):
                yield (option, *rest), cost + more


def _recipe(menu: Menu, steps: tuple[str, ...], choice: tuple[Option, ...]) -> Recipe:
    start, options = STEPS.index(steps[0]), menu.right.options
    return Recipe((*options[:start], *choice, *options[start + len(choice) :]))


def _score_stacks(case: Case, menu: Menu, limit: int) -> list[_Stack]:
    """One stack for each shape: projections of the wrong input may give (L, L) or (S, L)."""
    found: dict[torch.Size, list[tuple[tuple[Option, ...], int, Tensor]]] = {}
    for choice, cost in _products(menu, _SCORE_STEPS, limit):
        try:
            scores = scores_of(_recipe(menu, _SCORE_STEPS, choice), case)
        except RuntimeError:  # these sizes rule the option out
            continue
        found.setdefault(scores.shape, []).append((choice, cost, scores))
    stacks = []
    for group in found.values():
        choices, costs, tensors = zip(*group, strict=True)
        stacks.append(_Stack(list(choices), torch.tensor(costs), torch.stack(tensors)))
    return stacks


def _weight_stack(case: Case, menu: Menu, scores: _Stack, limit: int) -> _Stack | None:
    choices: list[tuple[Option, ...]] = []
    costs, tensors = [], []
    for choice, cost in _products(menu, _WEIGHT_STEPS, limit):
        if _idle(case, choice):
            continue
        chosen = (scores.costs <= limit - cost).nonzero().flatten()
        if not len(chosen):
            continue
        part = scores.tensor if len(chosen) == len(scores.costs) else scores.tensor[chosen]
        try:
            made = weights_of(_recipe(menu, _WEIGHT_STEPS, choice), case, part)
        except RuntimeError:  # a transposed mask that does not fit
            continue
        if made.shape[1:] != scores.tensor.shape[1:]:
            continue
        tensors.append(made)
        choices += [scores.choices[number] + choice for number in chosen.tolist()]
        costs.append(scores.costs[chosen] + cost)
    return _Stack(choices, torch.cat(costs), torch.cat(tensors)) if tensors else None


def _idle(case: Case, choice: tuple[Option, ...]) -> bool:
    """Whether some edit of the choice has nothing to act on: a way of masking where nothing is masked."""
    pattern, pattern_mode, reading, mask_mode, _ = choice
    if case.mask is None and (reading.code or mask_mode.code):
        return True
    if reading.code and mask_mode.name == "ignored":
        return True
    return bool(pattern_mode.code) and pattern.name in ("none", "nothing")


def _fitting(case: Case, menu: Menu, weights: _Stack, limit: int) -> Iterator[Recipe]:
    for choice, cost in _products(menu, _OUTPUT_STEPS[:-1], limit):
        heads: dict[int, tuple[Tensor, Tensor]] = {}  # what the weights leave for the finish, by their own cost
        for finish in menu.steps["finish"]:
            left = limit - cost - (finish.cost if finish.code else 0)
            if left < 0:
                continue
            try:
                if left not in heads:
                    heads[left] = _mixed(case, choice, weights, left)
                chosen, mixed = heads[left]
                if not len(chosen):
                    continue
                output = finish.apply(mixed, case.material)
            except RuntimeError:  # these sizes rule the option out
                continue
            if output.shape[1:] != case.target.shape:
                continue
            for number in matching(case.target, output, case.tolerance):
                yield Recipe((*weights.choices[int(chosen[number])], *choice, finish))


def _mixed(case: Case, choice: tuple[Option, ...], weights: _Stack, cost: int) -> tuple[Tensor, Tensor]:
    """The weights that cost exactly so much, by number, and the heads they make of the values."""
    value, mix = choice
    chosen = (weights.costs == cost).nonzero().flatten()
    if not len(chosen):
        return chosen, chosen
    return chosen, mix.apply(weights.tensor[chosen], value.apply(case.material))


def fit(case: Case, recipe: Recipe, step: str, make: Callable[[Tensor], Option], grid: Tensor) -> float | None:
    """The number with which ``make`` explains the case when put at ``step``, or None.

    ``make`` gets a column of numbers shaped ``(n, 1, 1, 1, 1)`` and returns an option that works on all at once.
    The best point of the grid is refined by ever finer grids around it.
    """
    numbers = grid.double()
    best, best_distance = math.nan, math.inf
    for attempt in range(9):
        found = _distances(case, recipe, step, make, numbers)
        place = int(found.argmin())
        if not math.isfinite(float(found[place])):
            return None
        best, best_distance = float(numbers[place]), float(found[place])
        if best_distance <= 0.01 * case.tolerance:
            break
        if attempt == 0 and best_distance > _HOPELESS:
            return None
        low, high = float(numbers[max(place - 1, 0)]), float(numbers[min(place + 1, len(numbers) - 1)])
        numbers = torch.linspace(low, high, 21, dtype=torch.float64)
    return best if best_distance <= case.tolerance else None


def _distances(case: Case, recipe: Recipe, step: str, make: Callable[[Tensor], Option], numbers: Tensor) -> Tensor:
    option = make(numbers.to(case.target.dtype)[:, None, None, None, None])
    try:
        output, _ = evaluate(recipe.but(**{step: option}), case)
    except RuntimeError:
        return torch.full_like(numbers, torch.inf)
    if output.shape[1:] != case.target.shape:
        return torch.full_like(numbers, torch.inf)
    return distance(case.target, output)
