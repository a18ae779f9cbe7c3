"""Large scores, empty rows, single and half precision."""

from __future__ import annotations

import torch
from torch import Tensor

from attention_lib.doctor.evidence import numbers
from attention_lib.doctor.inputs import FORMS, Form, random_mask
from attention_lib.doctor.pipeline import Case, Recipe, evaluate, output_of
from attention_lib.doctor.report import Report
from attention_lib.doctor.subject import Layout, Subject

__all__ = [
    "a_mask_it_takes",
    "check_empty_rows",
    "check_half_precision",
    "check_large_scores",
    "check_single_precision",
]


def check_large_scores(subject: Subject, layout: Layout, recipe: Recipe, report: Report) -> None:
    if recipe["norm"].code not in ("", "softmax-over-queries", "softmax-wrong-axis"):
        return
    tensors = subject.steep(layout, 3000.0, subject.generator(3), recipe)
    reply = subject.run(tensors, layout)
    if reply.output is None:
        return
    case = subject.case(tensors, layout, reply)
    expected, _ = evaluate(recipe, case)
    bad = ~torch.isfinite(case.target) & torch.isfinite(expected)
    if bool(bad.any()):
        text = (
            f"With scores of about 3000, {int(bad.sum())} of {bad.numel()} entries of the output are NaN or infinite."
        )
        report.add("softmax-unstable", text)


def check_single_precision(subject: Subject, layout: Layout, recipe: Recipe, report: Report) -> None:
    """What is right in float64 must be right to three digits in float32, with a mask too."""
    if layout.dtype != torch.float64 or report.mistakes:
        return
    tensors = subject.draw(layout, 0, subject.generator(12))
    mask, form = a_mask_it_takes(subject, layout, tensors)
    exact = subject.run(tensors, layout, mask, form)
    with subject.in_dtype(torch.float32):
        reply = subject.run(tensors, layout, mask, form, dtype=torch.float32)
    if subject.kind == "multi_head" and exact.output is not None and reply.failure is not None:
        report.add("raises", f"It runs in float64, but in float32 it raises {reply.failure.message}")
    if exact.output is None or reply.output is None:
        return
    gap = (reply.output.detach().double() - exact.output.detach().double()).abs().nan_to_num()
    worst = float((gap / (1.0 + exact.output.detach().double().abs())).max())
    if worst > 3e-4:
        report.add("inaccurate", f"With the same inputs, float32 and float64 differ by up to {worst:.1e} (relative).")


def check_empty_rows(subject: Subject, layout: Layout, recipe: Recipe, report: Report) -> None:
    for form in FORMS:
        if layout.rank not in form.ranks or not subject.mask_role(form):
            continue
        tensors = subject.draw(layout, 0, subject.generator(4))
        n = subject.sizes(tensors, layout)
        mask = random_mask(form, {"B": n.B, "H": n.H, "L": n.L, "S": n.S}, subject.generator(5), empty=True)
        reply = subject.run(tensors, layout, mask, form)
        if reply.output is not None:
            _judge_empty(subject.case(tensors, layout, reply), recipe, report)
            return


def _judge_empty(case: Case, recipe: Recipe, report: Report) -> None:
    """The first row of the first sequence: NaN, the mean of all values, or something else (zeros, we hope)."""
    row = case.target[0].flatten(0, -2)[0]
    if not bool(torch.isfinite(row).all()):
        report.add("nan-on-empty-row", f"A query whose keys are all blocked gives {numbers(row)}.")
        return
    _, weights = evaluate(recipe, case)
    mean = output_of(recipe, case, torch.full_like(weights, 1.0 / weights.shape[-1]))[0].flatten(0, -2)[0]
    if torch.allclose(row, mean, atol=1e-4) and not recipe["mix"].code:
        text = f"A query whose keys are all blocked gives {numbers(row)}, the mean of all values."
        report.add("uniform-on-empty-row", text)


def check_half_precision(subject: Subject, layout: Layout, report: Report) -> None:
    """Ordinary inputs in float16, with a mask where one is taken. What torch cannot do in float16 says nothing."""
    tensors = subject.draw(layout, 0, subject.generator(6))
    mask, form = a_mask_it_takes(subject, layout, tensors)
    with subject.in_dtype(torch.float16):
        reply = subject.run(tensors, layout, mask, form, dtype=torch.float16)
    if reply.failure is not None and "overflow" in reply.failure.message:
        report.add("half-overflow", f"In float16: {reply.failure.message}")
    elif reply.output is not None and not bool(torch.isfinite(reply.output).all()):
        report.add("half-overflow", "In float16 the output is NaN or infinite on ordinary inputs.")


def a_mask_it_takes(subject: Subject, layout: Layout, tensors: dict[str, Tensor]) -> tuple[Tensor | None, Form | None]:
    n = subject.sizes(tensors, layout)
    for form in FORMS:
        if layout.rank in form.ranks and subject.mask_role(form):
            mask = random_mask(form, {"B": n.B, "H": n.H, "L": n.L, "S": n.S}, subject.generator(7))
            if subject.run(tensors, layout, mask, form).good:
                return mask, form
    return None, None
