"""The examination itself: values first, then masks, then conduct."""

from __future__ import annotations

import torch

from attention_lib.doctor import conduct, variants
from attention_lib.doctor.flags import check_causal_flag
from attention_lib.doctor.layouts import check_other_ranks, working_layouts
from attention_lib.doctor.masking import check_masks
from attention_lib.doctor.pipeline import Case, Recipe
from attention_lib.doctor.properties import own_sequence
from attention_lib.doctor.report import Report, could_not, note_recipe
from attention_lib.doctor.search import explain, fits
from attention_lib.doctor.subject import Layout, Subject
from attention_lib.doctor.unknown import describe_unknown

__all__ = ["examine"]


def examine(subject: Subject) -> Report:
    """Everything that is to be said of a candidate of kind attention or multi_head."""
    report = Report()
    layouts = working_layouts(subject, report)
    for code, evidence in subject.always_flagged:
        report.add(code, evidence)
    if not layouts:
        return report
    subject.use(layouts[0])
    explained = [(layout, recipe) for layout in layouts if (recipe := _values(subject, layout, report)) is not None]
    if subject.takes_mask:
        check_masks(subject, explained, report)
    if explained:
        check_causal_flag(subject, *explained[0], report)
    if explained and subject.kind == "attention":
        check_other_ranks(subject, *explained[0], {layout.rank for layout in layouts}, report)
    conduct.check(subject, explained, report)
    _missing_variants(subject, report)
    if (
        subject.misshapen is not None and not report.mistakes
    ):  # what it does with other shapes than those it is right for
        conduct.wrong_shape(subject, *subject.misshapen, report)
    if not explained and not report.findings:
        report.examined = False
    report.notes += subject.notes
    report.variants += subject.variants
    return report


def _missing_variants(subject: Subject, report: Report) -> None:
    """A variant that was declared must be there, unless something else is wrong anyway."""
    for name in subject.declared.variants:
        if name not in subject.variants and not report.mistakes and report.examined:
            report.add("variant-missing", f"Declared as {name}, it computes plain attention to all digits examined.")


_UNSTEADY = {"dropout-in-eval", "state-kept"}  # no two calls are comparable


def _values(subject: Subject, layout: Layout, report: Report) -> Recipe | None:
    """The recipe that explains the candidate without a mask; its edits are reported."""
    cases = _plain_cases(subject, layout, report)
    if not cases:
        return None
    subject.reread(cases)
    small, others = cases[-1], tuple(cases[:-1])  # the search runs on the smallest one
    recipe = _explanation(subject, layout, small, others, report)
    if recipe is None:
        if not _UNSTEADY & set(report.findings):
            describe_unknown(subject, layout, cases[0], None, None, report)
        return None
    if subject.elsewhere_found:
        note_recipe(subject, recipe, small, report, layout)
        return None
    for case in cases:
        case.material = subject.material(case.inputs, layout)  # a fused matrix may be read anew by now
    if _fitted(recipe) and (text := own_sequence(subject, layout, cases[0], None)):
        report.add("batch-dependent", f"Broken property: {text}")  # a number of its own for every batch
        return None
    note_recipe(subject, recipe, cases[0], report, layout)
    for other in others:
        if not _fitted(recipe) and not fits(recipe, other):
            _explain_alone(subject, layout, other, report)
    return recipe


def _fitted(recipe: Recipe) -> bool:
    """Whether it holds a number that was fitted, and may be another one for another case."""
    return any(recipe[step].number for step in ("scale", "shape", "norm", "mix"))


def _explanation(
    subject: Subject, layout: Layout, head: Case, others: tuple[Case, ...], report: Report
) -> Recipe | None:
    """What was found for another layout, else the cheapest explanation of all cases, else of the first case."""
    for known in report.recipes:
        if all(fits(known, case) for case in (head, *others)):
            return known
    menu, codes = subject.menu, tuple(report.findings)
    if "differs" in report.findings:
        return explain(head, menu, 1, others)
    return (
        explain(head, menu, 1, others)
        or variants.recognise(subject, head, others, 0)
        or explain(head, menu, 2, others, codes)
        or _explain_elsewhere(subject, layout, head, report)
        or variants.recognise(subject, head, others, 1)
        or explain(head, menu, 3, others, codes)
        or explain(head, menu, 2, others[:1], codes)
        or next((found for m in subject.more_menus() if (found := explain(head, m, 3, others, codes, rare=True))), None)
    )


def _explain_elsewhere(subject: Subject, layout: Layout, case: Case, report: Report) -> Recipe | None:
    """See the case differently: batch and length exchanged, a fused matrix read in another order."""
    for code, evidence, other, edits in subject.elsewhere(case):
        recipe = explain(other, subject.menu, edits)
        if recipe is not None:
            if code:
                report.add(code, evidence)
                subject.elsewhere_found = True
            case.material, case.target = other.material, other.target
            return recipe
    return None


def _plain_cases(subject: Subject, layout: Layout, report: Report) -> list[Case]:
    """The sizes tried without a mask. The first must work; a later one that raises is only noted."""
    generator = torch.Generator().manual_seed(subject.declared.seed + 1)
    draws = [subject.draw(layout, size, generator) for size in (0, 1, 2)]
    if not layout.square and not layout.cross and subject.kind == "attention":
        L, d_k = draws[0]["query"].shape[-2:]
        draws.append(subject.draw(layout, 0, generator, S=L, d_v=d_k))
    draws.append(subject.draw(layout, 0, generator, **({"L": 4, "S": 4} if layout.square else {"L": 3, "S": 4})))
    cases = []
    for number, tensors in enumerate(draws):
        reply = subject.run(tensors, layout)
        if reply.good:
            cases.append(subject.case(tensors, layout, reply))
        elif number == 0:
            return []
        elif reply.failure is not None:
            if reply.failure.reason in ("time", "exit"):
                could_not(reply.failure, report)
                return []
            sizes = subject.sizes(tensors, layout)
            note = f"with L = {sizes.L}, S = {sizes.S}, d_k = {sizes.d_k} it raises {reply.failure.message}"
            report.notes.append(note)
        else:
            conduct.wrong_shape(subject, layout, reply, report)
    conduct.randomness(subject, layout, draws[0], cases, report)
    if "dropout-in-eval" in report.findings and not subject.silent:
        subject.silent = True
        return _plain_cases(subject, layout, report)
    return cases


def _explain_alone(subject: Subject, layout: Layout, case: Case, report: Report) -> None:
    recipe = explain(case, subject.menu, 2)
    if recipe is not None and recipe.codes:
        note_recipe(subject, recipe, case, report, layout)
    else:
        describe_unknown(subject, layout, case, None, None, report)
