"""Other ways to read a module: fused matrices in another layout, its own norms, batch and length exchanged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations
from typing import Any

from attention_lib.doctor.module_facts import input_norms, qk_norms
from attention_lib.doctor.pipeline import Case
from attention_lib.doctor.search import fits
from attention_lib.doctor.subject import Layout

__all__ = ["elsewhere", "reread"]

_ANY = Layout(4)
_USUAL = 8  # so many readings of a fused matrix are tried with two mistakes, the others with one
HeadsSubject = Any  # importing the class would be a cycle


def reread(subject: HeadsSubject, cases: list[Case]) -> None:
    """Fused matrices in another layout, or unnamed ones in another order, under which the module is right."""
    if _fits_right(subject, cases):
        return
    before = subject.projections.roles
    for roles in [*subject.projections.alternatives, *_orders(subject)]:
        subject.projections.roles = roles
        again = [replace(case, material=subject.material(case.inputs, _ANY)) for case in cases]
        if _fits_right(subject, again):
            for case, new in zip(cases, again, strict=True):
                case.material = new.material
            return
    subject.projections.roles = before
    _try_counts(subject, cases)


def _try_counts(subject: HeadsSubject, cases: list[Case]) -> None:
    """Numbers of heads under which a module that names none is right."""
    for count in subject.counts():
        subject.take_heads(count)
        for roles in (subject.projections.roles, *subject.projections.alternatives):
            subject.projections.roles = roles
            again = [replace(case, material=subject.material(case.inputs, _ANY)) for case in cases]
            if _fits_right(subject, again):
                for case, new in zip(cases, again, strict=True):
                    case.material = new.material
                subject.heads_unknown = False
                subject.notes.append(f"it has H = {count} heads, found by trying")
                return
    if subject.heads_unknown:
        subject.take_heads(1)
        subject.notes.append("the number of heads was not found on the module; it is taken for 1 (num_heads=...)")


def _orders(subject: HeadsSubject) -> Iterator[dict[str, Any]]:
    if subject.projections.by_name:
        return
    roles = list(subject.projections.roles)
    for order in permutations(subject.projections.roles.values()):
        yield dict(zip(roles, order, strict=True))


def _fits_right(subject: HeadsSubject, cases: list[Case]) -> bool:
    right = subject.menu.right
    options = [o for o in subject.menu.steps["pattern"] if o.name in ("none", "causal", "window")]
    return any(all(fits(right.but(pattern=option), case) for case in cases) for option in options)


def elsewhere(subject: HeadsSubject, case: Case) -> Iterator[tuple[str, str, Case, int]]:
    """Fused matrices read in another layout, unnamed ones in another order, batch and length exchanged."""
    tensors = {role: tensor.transpose(0, 1) for role, tensor in case.inputs.items()}
    sizes = case.sizes
    text = (
        f"With B = {sizes.B} and L = {sizes.L} it computes attention over the {sizes.B} sequences of the batch, "
        "position by position."
    )
    swapped = replace(case, material=subject.material(tensors, _ANY), target=case.target.transpose(0, 1))
    yield "batch-first-swapped", text, swapped, 1
    if sizes.H > 1:
        text = f"The {sizes.H} heads of one token attend to each other; no token sees another one."
        material = replace(subject.material_with(case.inputs, _ANY, subject.matrices()), across=True)
        yield "split-without-transpose", text, replace(case, material=material), 1
    yield from _with_norms(subject, case)
    for count in subject.counts():
        subject.take_heads(count)
        yield "", "", replace(case, material=subject.material(case.inputs, _ANY)), 1
    if subject.heads_unknown:
        subject.take_heads(1)
    before = subject.projections.roles
    for number, roles in enumerate(subject.projections.alternatives):
        subject.projections.roles = roles
        yield "", "", replace(case, material=subject.material(case.inputs, _ANY)), 2 if number < _USUAL else 1
    for roles in _orders(subject):
        subject.projections.roles = roles
        yield "", "", replace(case, material=subject.material(case.inputs, _ANY)), 1
    subject.projections.roles = before


def _with_norms(subject: HeadsSubject, case: Case) -> Iterator[tuple[str, str, Case, int]]:
    """With the module's own normalisations: of queries and keys, or of the input."""
    subject.qk_norms = qk_norms(subject.module)
    if subject.qk_norms:
        subject.variants.append("qk-norm")
        yield "", "", replace(case, material=subject.material(case.inputs, _ANY)), 2
        subject.variants.remove("qk-norm")
        subject.qk_norms = {}
    for norm in input_norms(subject.module, case.sizes.d_model):
        subject.pre_norm = norm
        try:
            material = subject.material(case.inputs, _ANY)
        except RuntimeError:  # a norm of something else
            continue
        subject.variants.append("pre-norm")
        yield "", "", replace(case, material=material), 2
        subject.variants.remove("pre-norm")
    subject.pre_norm = None
    for norm in input_norms(subject.module, case.sizes.d_model):
        subject.post_norm = norm
        material = subject.material(case.inputs, _ANY)
        if "residual" in subject.declared.variants:
            subject.variants.append("residual")
            yield "", "", replace(case, material=material), 1
            subject.variants.remove("residual")
        else:
            yield "adds-residual", "It returns norm(x + attention(x)).", replace(case, material=material), 1
    subject.post_norm = None
