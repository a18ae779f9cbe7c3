"""Recognises what the plain options do not explain: an odd factor, and legitimate other kinds of attention."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor
from torch.nn import functional as F

from attention_lib.doctor.pipeline import Case, Material, Menu, Option, Recipe
from attention_lib.doctor.search import explain, fit, fits
from attention_lib.doctor.subject import Subject

__all__ = ["fitted_mask", "recognise"]

_FACTORS = torch.cat([torch.logspace(-2.0, 2.0, 41), -torch.logspace(-2.0, 2.0, 9)]).sort().values.double()
_CAPS = torch.logspace(-0.5, 2.2, 31).double()
_PENALTIES = torch.linspace(-20.0, 20.0, 81).double()
_BASES = torch.logspace(0.5, 7.5, 57).double()
_BIASES = torch.linspace(-8.0, 8.0, 33).double()


def recognise(subject: Subject, case: Case, others: tuple[Case, ...], extra: int) -> Recipe | None:
    """A recipe with a variant or a fitted number that explains all cases.

    Args:
        subject: The candidate.
        case: Where numbers are fitted.
        others: Cases that must be explained too; a fitted number may be another one there.
        extra: How many ordinary edits may come on top.
    """
    menu = subject.extended = subject.extended or _extended(subject.menu)
    if extra == 0:
        found = explain(case, menu, 1, others)
        if found is not None:
            return found
    for base in _bases(case, menu, extra):
        for step, make, grid in _families(base):
            number = fit(case, base, step, make, grid)
            if number is None or (step in ("scale", "mix", "pattern_mode") and number == 0.0):
                continue
            fixed = _known_scale(case, base, menu, number) if step == "scale" else None
            if step == "scale" and number < 0.0 and fixed is None:
                fixed = Option("fitted", "scale-negative", lambda sizes, number=number: number, number)
            recipe = base.but(**{step: fixed or _fixed(make, number)})
            if all(_fits_somehow(recipe, base, step, make, grid, other) for other in others):
                return recipe
    if not extra:
        return _turned_at_other_rates(case, menu.right, others)
    rotated = tuple(option for option in menu.steps["pair"] if option.code == "variant-rotary")
    turned = menu.only(menu.right, "pattern").with_options(pair=(menu.steps["pair"][0], *rotated))
    return explain(case, menu, 2, others) or explain(case, turned, 2, others, rare=True)


def _turned_at_other_rates(case: Case, right: Recipe, others: tuple[Case, ...]) -> Recipe | None:
    """Rotary attention with another base than 10,000, or that turns only the first features of every head."""
    for half in (True, False):
        for part in (1.0, 0.5, 0.25):
            make = _rotary_option(right["pair"], half, part)
            number = fit(case, right, "pair", make, _BASES)
            if number is not None:
                recipe = right.but(pair=_fixed(make, number))
                if all(_fits_somehow(recipe, right, "pair", make, _BASES, other) for other in others):
                    return recipe
    return None


def _rotary_option(right: Option, half: bool, part: float) -> Callable[[Tensor], Option]:
    def make(base: Tensor) -> Option:
        def apply(material: Material) -> tuple[Tensor, Tensor]:
            query, key = right.apply(material)
            width = int(part * key.shape[-1])
            if width < 2:
                raise RuntimeError("nothing is left to be rotated")
            first = key.shape[-2] - query.shape[-2]
            return _rotated(query, first, half, base, width), _rotated(key, 0, half, base, width)

        return Option(f"rotary {'half' if half else 'pairs'} {part}", "variant-rotary", apply)

    return make


def fitted_mask(case: Case, recipe: Recipe) -> Recipe | None:
    """The recipe with some number that is put in place of blocked scores, or added to them."""
    for make in _weak_masks():
        number = fit(case, recipe, "mask_mode", make, _PENALTIES)
        if number is not None:
            return recipe.but(mask_mode=_fixed(make, number))
    return None


def _weak_masks() -> Iterator[Callable[[Tensor], Option]]:
    def filled(n: Tensor) -> Option:
        return Option("filled", "mask-fill-weak", (lambda s, allowed: torch.where(allowed, s, n), _unchanged))

    def added(n: Tensor) -> Option:
        return Option("penalty", "mask-fill-weak", (lambda s, allowed: s + n * ~allowed, _unchanged))

    def times(n: Tensor) -> Option:
        return Option("damped", "mask-after-softmax", (_unchanged, lambda w, allowed: torch.where(allowed, w, n * w)))

    yield from (filled, added, times)


def _unchanged(tensor: Tensor, allowed: Tensor) -> Tensor:
    return tensor


def _fits_somehow(
    recipe: Recipe, base: Recipe, step: str, make: Callable[[Tensor], Option], grid: Tensor, other: Case
) -> bool:
    return fits(recipe, other) or fit(other, base, step, make, grid) is not None


def _known_scale(case: Case, base: Recipe, menu: Menu, number: float) -> Option | None:
    """The named factor that a fitted one turns out to be."""
    if base["pair"].code == "variant-cosine":
        return None
    options = menu.common().steps["scale"]
    return next((option for option in options if abs(option.apply(case.sizes) / number - 1.0) < 1e-4), None)


def _fixed(make: Callable[[Tensor], Option], number: float) -> Option:
    column = torch.tensor(number, dtype=torch.float64)
    option = make(column)
    return Option(option.name, option.code, option.apply, number)


def _bases(case: Case, menu: Menu, extra: int) -> Iterator[Recipe]:
    """Recipes to fit a number in: the right one, and with ``extra`` those with one edit."""
    right = menu.right
    yield right
    for option in menu.steps["pattern"][1:]:
        if option.name in ("causal", "top left", "none"):
            yield right.but(pattern=option)
    yield from (right.but(pair=option) for option in menu.steps["pair"] if option.code == "variant-cosine")
    if not extra:
        return
    for step in ("scale", "norm", "value", "mix", "finish", "pair"):
        for option in menu.common().steps[step][1:]:
            yield right.but(**{step: option})


def _families(base: Recipe) -> Iterator[tuple[str, Callable[[Tensor], Option], Tensor]]:
    code = "" if base["pair"].code == "variant-cosine" else "wrong-scale"
    if not base["mix"].code and not base["norm"].code:
        yield "mix", lambda n: Option("factor", "unnormalised-weights", lambda w, value: n * (w @ value)), _FACTORS
    if base["scale"].code:
        return
    yield "scale", lambda n: Option("fitted", code, lambda sizes: n), _FACTORS
    if base["pattern"].name != "none":
        yield from (("pattern_mode", make, _PENALTIES) for make in _weak_masks())
    if base["norm"].code:
        return
    yield "shape", lambda n: Option("softcap", "variant-softcap", lambda s, q, k: n * torch.tanh(s / n)), _CAPS
    yield "norm", lambda n: Option("sigmoid", "variant-sigmoid", lambda s: torch.sigmoid(s + n)), _BIASES


def _extended(menu: Menu) -> Menu:
    right = menu.steps["pair"][0]
    pairs = [_cosine(right), *(_rotary(right, half, offset) for half in (True, False) for offset in (True, False))]
    shapes = [_alibi(True), _alibi(False), _distance(), *map(_linear, _FEATURES)]
    return menu.with_options(pair=(*menu.steps["pair"], *pairs), shape=(*menu.steps["shape"], *shapes))


def _cosine(right: Option) -> Option:
    def apply(material: Material) -> tuple[Tensor, Tensor]:
        query, key = right.apply(material)
        return F.normalize(query, dim=-1), F.normalize(key, dim=-1)

    return Option("cosine", "variant-cosine", apply)


def _rotary(right: Option, half: bool, offset: bool) -> Option:
    def apply(material: Material) -> tuple[Tensor, Tensor]:
        query, key = right.apply(material)
        first = key.shape[-2] - query.shape[-2] if offset else 0
        return _rotated(query, first, half), _rotated(key, 0, half)

    return Option(f"rotary {'half' if half else 'pairs'} {offset}", "variant-rotary", apply)


def _rotated(x: Tensor, first: int, half: bool, base: float | Tensor = 10000.0, width: int | None = None) -> Tensor:
    """The first ``width`` features turned by position; a base that is a column of numbers gives as many results."""
    d = x.shape[-1] if width is None else width
    if d % 2:
        raise RuntimeError("an odd width cannot be rotated")
    rates = base ** (-torch.arange(0, d, 2, dtype=x.dtype) / d)
    angles = torch.arange(first, first + x.shape[-2], dtype=x.dtype)[:, None] * rates  # (L, d / 2)
    cos, sin = angles.cos(), angles.sin()
    turning = x[..., :d]
    left, right = turning.chunk(2, dim=-1) if half else (turning[..., ::2], turning[..., 1::2])
    turned = left * cos - right * sin, right * cos + left * sin
    found = torch.cat(turned, dim=-1) if half else torch.stack(turned, dim=-1).flatten(-2)
    kept = x[..., d:]
    return torch.cat([found, kept.expand(*found.shape[:-1], -1)], dim=-1) if kept.shape[-1] else found


def _alibi(standard: bool) -> Option:
    def apply(scores: Tensor, query: Tensor, key: Tensor) -> Tensor:
        L, S = scores.shape[-2:]
        behind = torch.arange(S - L, S, dtype=scores.dtype)[:, None] - torch.arange(S, dtype=scores.dtype)
        slopes = torch.tensor(_slopes(query.shape[-3], standard), dtype=scores.dtype)[:, None, None]
        return scores - slopes * behind.abs()

    return Option(f"alibi {standard}", "variant-alibi", apply)


def _slopes(H: int, standard: bool) -> list[float]:
    """The slopes of Press et al. (2022); with ``standard`` their rule for H that is no power of two."""
    power = 2 ** math.floor(math.log2(H))
    if not standard or power == H:
        return [2.0 ** (-8.0 * (h + 1) / H) for h in range(H)]
    extra = [2.0 ** (-4.0 * (h + 1) / power) for h in range(0, 2 * (H - power), 2)]
    return [2.0 ** (-8.0 * (h + 1) / power) for h in range(power)] + extra


_FEATURES: dict[str, Callable[[Tensor, int], Tensor]] = {
    "elu": lambda x, axis: F.elu(x) + 1.0,
    "relu": lambda x, axis: F.relu(x),
    "softmax": lambda x, axis: x.softmax(axis),
}


def _linear(name: str) -> Option:
    """Features of query times features of key, divided by their sum: the softmax of the product's logarithm."""

    def apply(scores: Tensor, query: Tensor, key: Tensor) -> Tensor:
        features = _FEATURES[name]
        return (features(query, -1) @ features(key, -2).transpose(-2, -1)).log()

    return Option(f"linear, {name}", "variant-linear", apply)


def _distance() -> Option:
    def apply(scores: Tensor, query: Tensor, key: Tensor) -> Tensor:
        squares = query.square().sum(-1)[..., :, None] + key.square().sum(-1)[..., None, :]
        return scores - 0.5 * squares * query.shape[-1] ** -0.5

    return Option("distance", "variant-distance", apply)
