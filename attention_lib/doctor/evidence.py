"""Numbers for the findings, measured on the candidate's own inputs through the recipe that explains it."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from attention_lib.doctor.pipeline import Case, Menu, Option, Recipe, evaluate, output_of, scores_of, weights_of

__all__ = ["numbers", "of_option", "shape_text"]


def numbers(row: Tensor, limit: int = 6) -> str:
    """A row in two decimals: ``0.41 0.80 1.97``."""
    shown = " ".join(f"{float(entry):.2f}" for entry in row.flatten()[:limit])
    return shown + (" ..." if row.numel() > limit else "")


def shape_text(shape: tuple[int, ...] | torch.Size) -> str:
    return "(" + ", ".join(map(str, shape)) + ")"


def of_option(option: Option, step: str, recipe: Recipe, menu: Menu, case: Case) -> str:
    """What this edit does to this candidate, in numbers."""
    makers = {"scale": _scale, "norm": _norm, "pattern": _pattern, "mask_mode": _mask, "reading": _mask,
              "pattern_mode": _pattern_mode, "mix": _mix}  # fmt: skip
    if option.code == "missing-output-projection" and "output" not in getattr(case.material, "matrices", {}):
        return f"It has {case.sizes.H} heads and three projections, but none that mixes the heads afterwards."
    text = makers[step](option, recipe, menu, case) if step in makers else ""
    return text or _effect(step, recipe, menu, case)


def _scale(option: Option, recipe: Recipe, menu: Menu, case: Case) -> str:
    n, right = case.sizes, menu.right["scale"].apply(case.sizes)
    factor = float(option.apply(n))
    ratio = factor / right
    how = f"{abs(ratio):.3g}x too {'large' if abs(ratio) > 1 else 'small'}"
    sign = " and have the wrong sign" if ratio < 0 else ""
    if abs(abs(ratio) - 1) < 1e-6:
        how, sign = "of the right size", " but have the wrong sign"
    weights = weights_of(recipe.but(norm=menu.right["norm"]), case, scores_of(recipe, case))
    fair = weights_of(menu.right, case, scores_of(menu.right.but(pair=recipe["pair"]), case))
    top = f"the largest weight of a row is {_top(weights):.2f} on average instead of {_top(fair):.2f}"
    return f"With d_k = {n.d_k} the scores are {how}{sign} (factor {factor:.4g}, expected {right:.4g}); {top}."


def _top(weights: Tensor) -> float:
    rows = weights.amax(dim=-1)
    return float(rows[~rows.isnan()].mean())


def _norm(option: Option, recipe: Recipe, menu: Menu, case: Case) -> str:
    _, weights = evaluate(recipe, case)
    rows, columns = weights[0, 0].sum(-1), weights[0, 0].sum(-2)
    text = f"The rows of weights sum to {numbers(rows)}, not to 1"
    if option.code == "softmax-over-queries":
        return f"{text}; the columns sum to {numbers(columns)}."
    if option.code == "double-softmax":
        _, fair = evaluate(recipe.but(norm=menu.right["norm"]), case)
        found, wanted = numbers(weights[0, 0, 0]), numbers(fair[0, 0, 0])
        return f"The first row of weights is {found}, almost flat; it should be {wanted}."
    if option.code == "softmax-wrong-axis":
        axis = {"heads": "the heads", "batch": "the batch"}.get(option.name, "queries and keys together")
        return f"{text}; over {axis} they do."
    return text + "." if not torch.allclose(rows, torch.ones_like(rows), atol=1e-3) else ""


def _mix(option: Option, recipe: Recipe, menu: Menu, case: Case) -> str:
    if option.name != "factor" or option.number is None:
        return ""
    return f"The output is {option.number:.4g} times what it should be: so much is what the weights of a row sum to."


def _pattern(option: Option, recipe: Recipe, menu: Menu, case: Case) -> str:
    L, S = case.sizes.L, case.sizes.S
    if L == S and _seen(option, L, S).equal(_seen(menu.right["pattern"], L, S)):
        L = S = 13
    found, wanted = _seen(option, L, S), _seen(menu.right["pattern"], L, S)
    counts, right = found.sum(-1).tolist(), wanted.sum(-1).tolist()
    row = int((found != wanted).any(-1).nonzero()[0]) if bool((found != wanted).any()) else 0
    where = f"with L = {L} queries and S = {S} keys" if L != S else f"with {L} tokens"
    return (
        f"{where[0].upper()}{where[1:]}, query {row} sees {_keys(found[row])} where it should see "
        f"{_keys(wanted[row])} (keys seen by each query: {_list(counts)}; expected {_list(right)})."
    )


def _seen(option: Option, L: int, S: int) -> Tensor:
    pattern = option.apply(L, S)
    return torch.ones(L, S, dtype=torch.bool) if pattern is None else pattern


def _list(counts: list[int]) -> str:
    return " ".join(map(str, counts[:8])) + (" ..." if len(counts) > 8 else "")


def _keys(row: Tensor) -> str:
    places = row.nonzero().flatten().tolist()
    if not places:
        return "no key"
    if places == list(range(places[0], places[-1] + 1)) and len(places) > 1:
        return f"keys {places[0]} to {places[-1]}"
    return ("key " if len(places) == 1 else "keys ") + ", ".join(map(str, places[:6]))


def _mask(option: Option, recipe: Recipe, menu: Menu, case: Case) -> str:
    _, weights = evaluate(recipe, case)
    mask = case.mask.expand(weights.shape) if case.mask is not None else torch.ones_like(weights, dtype=torch.bool)
    return _blocked_text(weights, mask)


def _pattern_mode(option: Option, recipe: Recipe, menu: Menu, case: Case) -> str:
    _, weights = evaluate(recipe, case)
    pattern = recipe["pattern"].apply(case.sizes.L, case.sizes.S)
    return "" if pattern is None else _blocked_text(weights, pattern.expand(weights.shape))


def _blocked_text(weights: Tensor, allowed: Tensor) -> str:
    blocked, kept = weights[~allowed], weights[allowed]
    blocked, kept = blocked[~blocked.isnan()], kept[~kept.isnan()]
    text = f"A blocked key still gets a weight of {float(blocked.mean()):.2f} on average" if len(blocked) else ""
    sums = weights[0, 0].sum(-1)
    if len(blocked) and float(blocked.abs().max()) < 1e-6:
        return f"Blocked keys get no weight, but the rows of weights sum to {numbers(sums)}, not to 1."
    if len(kept):
        text += f", an allowed one {float(kept.mean()):.2f}"
    return text + "."


def _digits(case: Case, output: Tensor) -> int:
    """To how many digits a recipe's output is the candidate's."""
    far = float((case.target - output).abs().nan_to_num().max() / case.target.abs().max().clamp_min(1e-12))
    return min(12, max(1, int(-math.log10(max(far, 1e-12)))))


def _effect(step: str, recipe: Recipe, menu: Menu, case: Case) -> str:
    """How far the output moves when this one step is put right."""
    output, _ = evaluate(recipe, case)
    repaired = recipe.but(**{step: menu.right[step]})
    try:
        fair = output_of(repaired, case, weights_of(repaired, case, scores_of(repaired, case)))
    except RuntimeError:  # the module's own sizes do not allow the right step
        return f"The output follows this step to {_digits(case, output)} digits."
    if fair.shape != output.shape:
        return f"The output has shape {shape_text(output.shape)}."
    place = (output - fair).abs().nan_to_num().flatten().argmax()
    far, near = float(output.flatten()[place]), float(fair.flatten()[place])
    return f"This step moves the output by up to {abs(far - near):.2f}: an entry is {far:.3f} and would be {near:.3f}."
