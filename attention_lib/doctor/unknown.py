"""What to say when no known mistake explains a candidate: the smallest failing input, and what it breaks."""

from __future__ import annotations

import torch
from torch import Tensor

from attention_lib.doctor.evidence import numbers
from attention_lib.doctor.inputs import Form
from attention_lib.doctor.pipeline import Case, distance, evaluate
from attention_lib.doctor.report import Report
from attention_lib.doctor.stages import other_normalisation
from attention_lib.doctor.subject import Layout, Subject

__all__ = ["describe_unknown"]

_KEEP_DTYPE = "Compute in the input's dtype from end to end: no `.half()`, `.bfloat16()`, `.float()` or `.round()`."


def describe_unknown(
    subject: Subject, layout: Layout, case: Case, mask: Tensor | None, form: Form | None, report: Report
) -> None:
    """Add the finding ``differs``, with a shrunk input and the first property that fails."""
    if "batch-dependent" in report.findings:  # nothing else can be compared
        return
    if not torch.isfinite(case.target).all():
        expected, _ = evaluate(subject.menu.right, case)
        if torch.isfinite(expected).all():
            bad = int((~torch.isfinite(case.target)).sum())
            report.add("nan-output", f"{bad} of {case.target.numel()} entries of the output are NaN or infinite.")
            return
    if text := _rounded(subject, layout, case, mask, form):
        report.add("inaccurate", text, title="The output is rounded on the way", fix=_KEEP_DTYPE)
        return
    if mask is None and (text := other_normalisation(subject, layout)):
        report.add("wrong-normalisation", text)
        return
    tensors, mask = _shrunk(subject, layout, case.inputs, mask, form)
    smallest = _failing(subject, layout, tensors, mask, form) or case
    broken = _properties(subject, layout, case, form)
    code = "batch-dependent" if any("of the batch" in text for text in broken) else "differs"
    report.add(code, "\n".join([_numbers(subject, smallest, mask), *broken]))


def _rounded(subject: Subject, layout: Layout, case: Case, mask: Tensor | None, form: Form | None) -> str:
    """Evidence that it is right but for a rounding on the way: near the right output, and constant piece by piece."""
    if layout.dtype != torch.float64:
        return ""
    expected, _ = evaluate(subject.menu.right, case)
    gap = float((case.target - expected).abs().max()) if expected.shape == case.target.shape else torch.inf
    if gap > 0.05 * (1.0 + float(expected.abs().max())):
        return ""
    moved = {role: t if role == "value" else t * (1.0 + 1e-11) for role, t in case.inputs.items()}
    reply = subject.run(moved, layout, mask, form)
    if reply.output is None or not torch.equal(reply.output.detach().to("cpu", torch.float64), case.target):
        return ""
    return (
        f"In float64 the output is right to within {gap:.1e} only, and it does not move at all when query and key move "
        "by 1e-11 of their size: something on the way is rounded to a coarser dtype."
    )


def _failing(
    subject: Subject, layout: Layout, tensors: dict[str, Tensor], mask: Tensor | None, form: Form | None
) -> Case | None:
    """The case, if the candidate answers and the right recipe disagrees."""
    reply = subject.run(tensors, layout, mask, form)
    if not reply.good:
        return None
    try:
        case = subject.case(tensors, layout, reply, mask)
        expected, _ = evaluate(subject.menu.right, case)
    except RuntimeError:
        return None
    wrong = expected.shape != case.target.shape or float(distance(case.target, expected[None])[0]) > case.tolerance
    return case if wrong else None


def _shrunk(
    subject: Subject, layout: Layout, tensors: dict[str, Tensor], mask: Tensor | None, form: Form | None
) -> tuple[dict[str, Tensor], Tensor | None]:
    """Cut axes as long as the candidate still fails: batch, heads, keys, queries, widths; then round the numbers."""
    for _ in range(3):
        before = {role: tensor.shape for role, tensor in tensors.items()}
        for cut in subject.cuts(layout):
            while (smaller := cut(tensors, mask)) is not None and _failing(subject, layout, *smaller, form):
                tensors, mask = smaller
        if before == {role: tensor.shape for role, tensor in tensors.items()}:
            break
    rounded = {role: tensor.round() for role, tensor in tensors.items()}
    return (rounded, mask) if _failing(subject, layout, rounded, mask, form) else (tensors, mask)


def _numbers(subject: Subject, case: Case, mask: Tensor | None) -> str:
    expected, _ = evaluate(subject.menu.right, case)
    found = case.target
    if expected.shape != found.shape:
        return f"The output has shape {tuple(found.shape)}; expected {tuple(expected.shape)}."
    place = (found - expected).abs().nan_to_num(torch.inf).flatten(0, -2).amax(-1).argmax()
    row, right = found.flatten(0, -2)[place], expected.flatten(0, -2)[place]
    shapes = ", ".join(f"{role} {_plain(t)}" for role, t in case.inputs.items())
    masked = (
        f", mask {mask.int().flatten().tolist() if mask.numel() <= 12 else tuple(mask.shape)}"
        if mask is not None
        else ""
    )
    return f"Smallest failing input: {shapes}{masked}. It gives {numbers(row)} where attention gives {numbers(right)}."


def _plain(tensor: Tensor) -> str:
    if tensor.numel() > 6:
        return f"of shape {tuple(tensor.shape)}"
    rounded = [[round(float(entry), 2) for entry in row] for row in tensor.flatten(0, -2)]
    return f"{rounded} of shape {tuple(tensor.shape)}"


def _properties(subject: Subject, layout: Layout, case: Case, form: Form | None) -> list[str]:
    """The properties of attention that fail, in plain words; at most two."""
    broken = [text for check in subject.properties() if (text := check(subject, layout, case, form))]
    return [f"Broken property: {text}" for text in broken[:2]]
