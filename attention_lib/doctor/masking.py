"""Masks: in which form the candidate takes them, and what it makes of them."""

from __future__ import annotations

import torch
from torch import Tensor

from attention_lib.doctor.guard import Failure
from attention_lib.doctor.inputs import FORMS, Form, random_mask
from attention_lib.doctor.pipeline import Case, Menu, Option, Recipe, distance, evaluate
from attention_lib.doctor.replies import Reply
from attention_lib.doctor.report import Report, note_recipe
from attention_lib.doctor.search import explain, fits
from attention_lib.doctor.subject import Layout, Subject
from attention_lib.doctor.unknown import describe_unknown
from attention_lib.doctor.variants import fitted_mask

__all__ = ["check_masks"]


def check_masks(subject: Subject, explained: list[tuple[Layout, Recipe]], report: Report) -> None:
    """Functions must be right for every form of mask they take; of modules, which want one form, any will do."""
    failures: list[Failure] = []
    for layout, recipe in explained:
        taken = _taken(subject, layout, recipe, failures)
        right = [form for form, case in taken if _right_with_mask(subject, recipe, case, form)]
        if right and right[0].axes == "1 S" and any(form.axes == "B S" for form, _ in taken):
            continue  # one mask for all sequences is right by chance where only the first one's is read
        if subject.kind == "multi_head" and right:
            subject.notes.append(f"masks were given as ({', '.join(right[0].axes.split())})")
            return
    wrong = False
    for layout, recipe in explained:
        taken = _taken(subject, layout, recipe, failures)
        wrong = wrong or bool(taken)
        taken = [one for one in taken if one[0].axes != "1 S"] or taken
        if taken and subject.kind == "multi_head":
            if not any(_explained(subject, layout, recipe, case, report) for _, case in taken):
                _judge_mask(subject, layout, recipe, taken[0][1], taken[0][0], report)
            return
        for form, case in taken + _square_too(subject, layout, recipe):
            _judge_mask(subject, layout, recipe, case, form, report)
    if failures and not wrong and subject.binding.roles:
        report.add("mask-raises", f"{failures[0].message}\n{failures[0].trace}".strip())


def _square_too(subject: Subject, layout: Layout, recipe: Recipe) -> list[tuple[Form, Case]]:
    """A full mask with L = S as well: a transposed one fits only there."""
    if layout.square or layout.rank == 2:
        return []
    found = _forms_taken(subject, layout, recipe, True, True, [])
    return [(form, case) for form, case in found if not form.only_keys][:1]


def _taken(subject: Subject, layout: Layout, recipe: Recipe, failures: list[Failure]) -> list[tuple[Form, Case]]:
    """The forms a layout takes: expected ones first, L different from S before L equal to S."""
    found: list[tuple[Form, Case]] = []
    for square in (False, True) if not layout.square else (True,):
        for wanted in (True, False):
            for name in subject.binding.masks or ("",):
                if name:
                    subject.binding.roles["mask"] = name
                these = _forms_taken(subject, layout, recipe, square, wanted, failures)
                if these and all(_right_with_mask(subject, recipe, case, form) for form, case in these):
                    return these  # of several parameters called mask, this is the one for the keys
                found += these
            if found and (
                subject.kind != "multi_head" or any(_right_with_mask(subject, recipe, c, f) for f, c in found)
            ):
                return found
    return found


def _forms_taken(
    subject: Subject, layout: Layout, recipe: Recipe, square: bool, wanted: bool, failures: list[Failure]
) -> list[tuple[Form, Case]]:
    found = []
    for form in FORMS:
        if form.expected == wanted and layout.rank in form.ranks and subject.mask_role(form):
            case = _one_form(subject, layout, recipe, form, square)
            if isinstance(case, Case):
                found.append((form, case))
            elif case is not None:
                failures.append(case)
    return found


def _one_form(subject: Subject, layout: Layout, recipe: Recipe, form: Form, square: bool) -> Case | Failure | None:
    """The case of one form of mask, or why there is none."""
    generator = torch.Generator().manual_seed(subject.declared.seed + 2)
    tensors = subject.draw(layout, 0, generator, **({"L": 7, "S": 7} if square else {}))
    sizes = subject.sizes(tensors, layout)
    mask = random_mask(form, {"B": sizes.B, "H": sizes.H, "L": sizes.L, "S": sizes.S}, generator)
    last = None
    for padding in ("allowed", "blocked") if subject.mask_role(form) == "padding" else ("",):
        subject.padding = padding or subject.padding
        reply = _call_with_mask(subject, layout, tensors, mask, form)
        if not reply.good:
            return reply.failure
        last = subject.case(tensors, layout, reply, mask)
        _forgive_padded_queries(subject, recipe, last, form)
        if _right_with_mask(subject, recipe, last, form):
            break
    return last


def _forgive_padded_queries(subject: Subject, recipe: Recipe, case: Case, form: Form) -> None:
    """In self-attention padded tokens are queries too; what comes out for them may be set to zero."""
    if not form.only_keys or "x" not in case.inputs or case.mask is None:
        return
    padded = (~case.mask[:, 0, 0]).expand(case.target.shape[:2])
    if not bool(padded.any()) or bool((case.target[padded] != 0).any()):
        return
    target = torch.where(padded[..., None], evaluate(recipe, case)[0], case.target)
    if bool(distance(target, evaluate(recipe, case)[0][None])[0] <= case.tolerance):
        case.target = target
        subject.notes.append("the outputs of padded queries are set to zero")


def _right_with_mask(subject: Subject, recipe: Recipe, case: Case, form: Form) -> bool:
    """As without a mask, plus the mask; a full mask may also stand in for the causal one."""
    if fits(recipe, case):
        return True
    return not form.only_keys and fits(recipe.but(pattern=_no_pattern(subject.menu)), case)


def _call_with_mask(subject: Subject, layout: Layout, tensors: dict[str, Tensor], mask: Tensor, form: Form) -> Reply:
    """Hand the mask over as booleans, else as whole numbers, else as floats: whatever the candidate takes first."""
    first = None
    for number in dict.fromkeys((subject.number, "bool", "int", "float")):
        subject.number = number
        reply = subject.run(tensors, layout, mask, form)
        if reply.good:
            return reply
        first = first or reply
    subject.number = "bool"
    assert first is not None
    return first


def _judge_mask(subject: Subject, layout: Layout, recipe: Recipe, case: Case, form: Form, report: Report) -> None:
    if _right_with_mask(subject, recipe, case, form) or _explained(subject, layout, recipe, case, report):
        return
    if report.mistakes:
        report.notes.append("with a mask something more differs: repair the findings above and run the doctor again")
        return
    if text := _first_mask_kept(subject, layout, recipe, form):
        report.add("state-kept", text)
        return
    found = explain(case, subject.menu, 3)
    if found is not None and found.codes:
        note_recipe(subject, found, case, report, layout)
        return
    describe_unknown(subject, layout, case, case.mask, form, report)


def _first_mask_kept(subject: Subject, layout: Layout, recipe: Recipe, form: Form) -> str:
    """Evidence that the first mask of a shape is right and a second one is not, whichever they are."""
    generator = subject.generator(17)
    tensors = subject.draw(layout, 0, generator, S=6, **({"L": 6} if layout.square else {"L": 4}))
    n = subject.sizes(tensors, layout)
    right = []
    for _ in range(2):
        mask = random_mask(form, {"B": n.B, "H": n.H, "L": n.L, "S": n.S}, generator)
        reply = subject.run(tensors, layout, mask, form)
        if reply.output is None:
            return ""
        right.append(_right_with_mask(subject, recipe, subject.case(tensors, layout, reply, mask), form))
    return "The first mask of a shape is applied; a second one of the same shape is not." if right[0] > right[1] else ""


def _explained(subject: Subject, layout: Layout, recipe: Recipe, case: Case, report: Report) -> bool:
    """Whether what was found without a mask, and some way of reading or applying masks, explains the case."""
    menu = subject.menu
    if any(fits(known, case) for known in report.recipes):
        return True
    for free in (("reading", "mask_mode"), ("reading", "mask_mode", "pattern", "pattern_mode")):
        rare = "pattern" not in free  # so few steps that rare ways of masking can be combined with all found before
        found = explain(case, menu.only(recipe, *free), recipe.cost + 2, known=tuple(report.findings), rare=rare)
        if found is not None:
            note_recipe(subject, found, case, report, layout)
            return True
    found = fitted_mask(case, recipe)
    if found is not None:
        note_recipe(subject, found, case, report, layout)
    return found is not None


def _no_pattern(menu: Menu) -> Option:
    return next((option for option in menu.steps["pattern"] if option.name == "none"), menu.steps["pattern"][0])
