"""How a candidate behaves: randomness, memory, large numbers, empty rows, half precision, gradients, training."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from attention_lib.doctor.cache import check_cache
from attention_lib.doctor.evidence import numbers, shape_text
from attention_lib.doctor.extremes import (
    a_mask_it_takes,
    check_empty_rows,
    check_half_precision,
    check_large_scores,
    check_single_precision,
)
from attention_lib.doctor.guard import counted_numbers
from attention_lib.doctor.pipeline import Case, Recipe, evaluate
from attention_lib.doctor.replies import Reply
from attention_lib.doctor.report import Report
from attention_lib.doctor.search import fits
from attention_lib.doctor.subject import Layout, Subject
from attention_lib.doctor.training import check_training

__all__ = ["check", "randomness", "wrong_shape"]


def check(subject: Subject, explained: list[tuple[Layout, Recipe]], report: Report) -> None:
    """All checks of conduct; those that need the right values only when a recipe explains them."""
    if subject.mutated:
        _mutation(subject, report)
    for layout, recipe in explained:
        check_large_scores(subject, layout, recipe, report)
        check_single_precision(subject, layout, recipe, report)
    if not explained:
        return
    layout, recipe = explained[0]
    if subject.takes_mask and not _NO_MASK & set(report.findings):
        check_empty_rows(subject, layout, recipe, report)
    check_half_precision(subject, layout, report)
    if not {"differs", "state-kept"} & set(report.findings):
        _gradients(subject, layout, recipe, report)
    check_training(subject, layout, recipe, report)
    check_cache(subject, layout, report)
    _returned_weights(subject, layout, recipe, report)


_NO_MASK = {"mask-raises", "padding-ignored", "float-mask-added", "mask-fill-zero", "mask-fill-weak"}


def _generator(subject: Subject, step: int) -> torch.Generator:
    return torch.Generator().manual_seed(subject.declared.seed + step)


def randomness(subject: Subject, layout: Layout, tensors: dict[str, Tensor], cases: list[Case], report: Report) -> None:
    """Call again with the same seed, after other inputs, and with another seed."""
    again, other = (subject.run(tensors, layout, seed=seed) for seed in (0, 1))
    fresh = _after_its_like(subject, layout, tensors)
    first = cases[0].target
    if again.failure is not None and again.failure.reason == "raised":
        report.add("state-kept", f"The same input raises an error after other calls: {again.failure.message}")
    elif (moved := _difference(again, first)) > 1e-6:
        text = f"The same input gives another output after other calls; it moves by up to {moved:.2f}."
        report.add("state-kept", text)
    elif (moved := _difference(other, first)) > 1e-6:
        text = f"Two calls with the same input differ by up to {moved:.2f}; only the random seed changed."
        report.add("dropout-in-eval", text)
    elif fresh > 1e-6:
        text = "The same input gives another output after a call with other numbers of the same shapes than after"
        report.add("state-kept", f"{text} one with other shapes; it moves by up to {fresh:.2f}.")


def _after_its_like(subject: Subject, layout: Layout, tensors: dict[str, Tensor]) -> float:
    """How far an output depends on whether the call before had the same shapes: what is cached often goes by them."""
    like = {role: -0.5 * tensor for role, tensor in tensors.items()}
    after_like = subject.run(like, layout)
    if after_like.output is None:
        return 0.0
    first = after_like.output.detach().to("cpu", torch.float64)
    subject.run(subject.draw(layout, 1, subject.generator(16)), layout)
    return _difference(subject.run(like, layout), first)


def _difference(reply: Reply, target: Tensor) -> float:
    if reply.output is None or reply.output.shape != target.shape:
        return math.inf if reply.output is not None else 0.0
    return float((reply.output.detach().to("cpu", torch.float64) - target).abs().nan_to_num().max())


def _mutation(subject: Subject, report: Report) -> None:
    names = " and ".join(sorted(subject.mutated))
    report.add("mutates-input", f"After a call the caller's {names} no longer holds the same numbers.")


def wrong_shape(subject: Subject, layout: Layout, reply: Reply, report: Report) -> None:
    """Say what was returned in place of the output."""
    sizes = subject.sizes(subject.draw(layout, 0, subject.generator(0)), layout)
    expected = subject.expected_shape(sizes, layout)
    if not reply.shapes:
        report.add("wrong-shape", "No tensor was returned.")
        return
    shape = reply.shapes[0]
    text = f"It returned {' and '.join(map(shape_text, reply.shapes))}; expected {shape_text(expected)}."
    if len(shape) >= 2 and shape[-2:] == (sizes.L, sizes.S) and sizes.d_v != sizes.S:
        tensor = reply.tensors[0].detach().double()
        sums = tensor.flatten(0, -2)[:5].sum(-1)
        if torch.allclose(sums, torch.ones_like(sums), atol=1e-3):
            report.add("returns-weights", f"{text} Its rows sum to {numbers(sums)}: these are the weights.")
        else:
            report.add("returns-scores", f"{text} Its rows sum to {numbers(sums)}: these are scores.")
        return
    report.add("wrong-shape", text)


def _gradients(subject: Subject, layout: Layout, recipe: Recipe, report: Report) -> None:
    tensors = subject.draw(layout, 0, subject.generator(8))
    if bool(torch.isnan(evaluate(recipe, subject.plain_case(tensors, layout))[0]).any()):
        return
    with counted_numbers() as count:
        found, failure = subject.gradients(tensors, layout)
    severity = "remark" if count[0] else ""  # an illustration in Python numbers is not meant for training
    if failure:
        if "mutates-input" not in report.findings:  # in-place changes of leaves: said already
            report.add("gradient-cut", failure, severity=severity)
        return
    expected = subject.right_gradients(tensors, layout, recipe)
    cut = [name for name, wanted in expected.items() if _size(wanted) > 1e-8 and _size(found.get(name)) < 1e-12]
    if cut:
        severity = severity if count[0] > 3 else ""  # loops over numbers are an illustration, one `tolist` is not
        report.add("gradient-cut", f"The gradient of {', '.join(cut)} is zero; it should not be.", severity=severity)
        return
    for name, wanted in expected.items():
        got = found.get(name)
        if got is None:
            continue
        gap = float((got - wanted).abs().max()) / (1.0 + float(wanted.abs().max()))
        if not gap <= 20 * layout.tolerance:
            text = f"The gradient of {name} is {_size(got):.3f} in size, expected {_size(wanted):.3f}"
            report.add("gradient-wrong", f"{text}; they differ by up to {gap:.2g} (relative).")
            return


def _size(tensor: Tensor | None) -> float:
    return 0.0 if tensor is None else float(tensor.norm())


def _returned_weights(subject: Subject, layout: Layout, recipe: Recipe, report: Report) -> None:
    """One of the tensors returned with the output must be the weights, if any looks like them."""
    tensors = subject.draw(layout, 0, subject.generator(9))
    reply = subject.run(tensors, layout)
    if reply.output is None or len(reply.tensors) < 2:
        return
    case = subject.case(tensors, layout, reply)
    _transposed_weights(reply, case, recipe, layout, report)
    if not reply.like_weights:
        return
    for known in (recipe, subject.menu.right):
        weights = evaluate(known, case)[1].nan_to_num()  # (B, H, L, S)
        if any(_same_weights(found, weights, 20 * layout.tolerance) for found in reply.like_weights):
            _weights_with_a_mask(subject, layout, recipe, report)
            return
    other = subject.run(subject.draw(layout, 0, subject.generator(11)), layout)
    moving = [a for a, b in zip(reply.like_weights, other.like_weights, strict=False) if not torch.equal(a, b)]
    if moving:  # what does not depend on the input is a bias, not weights
        sums = moving[0].detach().double().flatten(0, -2)[:5].sum(-1)
        text = f"The rows of the returned weights sum to {numbers(sums)}; they are not the weights that were used."
        report.add("returned-weights-wrong", text)


def _transposed_weights(reply: Reply, case: Case, recipe: Recipe, layout: Layout, report: Report) -> None:
    weights = evaluate(recipe, case)[1].nan_to_num()
    L, S = weights.shape[-2:]
    turned = [t.transpose(-2, -1) for t in reply.tensors if L != S and t.ndim >= 2 and tuple(t.shape[-2:]) == (S, L)]
    if any(_same_weights(found, weights, 20 * layout.tolerance) for found in turned):
        text = f"With L = {L} queries and S = {S} keys the returned weights have shape (..., {S}, {L}): transposed."
        report.add("returned-weights-wrong", text)


def _weights_with_a_mask(subject: Subject, layout: Layout, recipe: Recipe, report: Report) -> None:
    """What is returned with a mask must be the masked weights."""
    if not subject.takes_mask or report.mistakes:
        return
    tensors = subject.draw(layout, 0, subject.generator(9))
    mask, form = a_mask_it_takes(subject, layout, tensors)
    reply = subject.run(tensors, layout, mask, form)
    if mask is None or reply.output is None or not reply.like_weights:
        return
    case = subject.case(tensors, layout, reply, mask)
    weights = evaluate(recipe, case)[1].nan_to_num()
    unmasked = evaluate(recipe, subject.plain_case(tensors, layout))[1].nan_to_num()
    near = 20 * layout.tolerance
    if any(_same_weights(found, weights, near) for found in reply.like_weights) or not fits(recipe, case):
        return
    if any(_same_weights(found, unmasked, near) for found in reply.like_weights):
        text = "With a mask the output is right, but the weights returned are those without the mask."
        report.add("returned-weights-wrong", text)


def _same_weights(found: Tensor, weights: Tensor, tolerance: float) -> bool:
    """Per head, averaged or summed over heads, of the first head alone, or with heads folded into the batch."""
    found = found.detach().to("cpu", torch.float64).nan_to_num()
    shapes = (weights, weights.mean(1), weights[:, 0], weights[0, 0], weights.sum(1), weights.flatten(0, 1))
    return any(found.shape == w.shape and torch.allclose(found, w, atol=tolerance) for w in shapes)
