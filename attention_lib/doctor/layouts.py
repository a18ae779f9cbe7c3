"""Finds out how a candidate wants to be called: on how many axes, in which dtype, with which lengths."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import torch

from attention_lib.doctor import conduct
from attention_lib.doctor.inputs import FORMS
from attention_lib.doctor.pipeline import Recipe
from attention_lib.doctor.replies import Reply
from attention_lib.doctor.report import Report, could_not
from attention_lib.doctor.search import explain, fits
from attention_lib.doctor.subject import Filler, Layout, Subject

__all__ = ["check_other_ranks", "working_layouts"]


def working_layouts(subject: Subject, report: Report) -> list[Layout]:
    return (
        _working(subject, report, demanding=True)
        or _working_with_a_mask(subject, report)
        or _working_turned(subject, report)
        or _working(subject, report, demanding=False)
    )


def _working_turned(subject: Subject, report: Report) -> list[Layout]:
    """Layouts in which a module answers once its bare matrices are read the other way round."""
    return _working(subject, report, demanding=True) if report.examined and subject.turn() else []


def _working_with_a_mask(subject: Subject, report: Report) -> list[Layout]:
    """Layouts in which a candidate answers that cannot do without a mask: it gets one that allows everything.

    Whether it reads True as the doctor does is not known yet, and a mask that blocks everything may leave finite
    numbers too: those of a plain average, which no longer depend on the query. So the first mask is taken under
    which the candidate computes something known that depends on the query; else the first that it takes.
    """
    ranked: list[tuple[int, Filler, list[Layout]]] = []
    for filler in _fillers(subject) if subject.needs_mask and report.examined else ():
        subject.filler = filler
        layouts = [one for one in _working(subject, report, demanding=True) if one.rank in filler.form.ranks]
        if layouts:
            ranked.append((_doubts(subject, layouts[0]), filler, layouts))
            if ranked[-1][0] == 0:
                break
    if not ranked:
        subject.filler = None
        return []
    _, subject.filler, layouts = min(ranked, key=lambda one: one[0])
    subject.notes.append("it cannot be called without a mask; where none was needed it got one that allows all")
    return layouts


def _fillers(subject: Subject) -> Iterator[Filler]:
    for form in FORMS:
        if subject.mask_role(form):
            for allowed in (True, False):
                for number in ("bool", "int", "float")[: 1 if form.lengths else 3]:
                    yield Filler(form, number, allowed)


def _doubts(subject: Subject, layout: Layout) -> int:
    """0 when the candidate computes something known from the query, 1 when only from the query, 2 otherwise."""
    subject.use(layout)
    tensors = subject.draw(layout, 0, subject.generator(1))
    reply = subject.run(tensors, layout)
    if reply.output is None or not bool(reply.output.isfinite().all()):
        return 2
    if torch.allclose(reply.output, reply.output[..., :1, :].expand_as(reply.output)):  # all queries get the same
        return 2
    return 0 if explain(subject.case(tensors, layout, reply), subject.menu, 1) is not None else 1


def _working(subject: Subject, report: Report, *, demanding: bool) -> list[Layout]:
    """Layouts in which the candidate answers: in all sizes when ``demanding``, else in the first one."""
    working: dict[tuple[int, bool], Layout] = {}
    first: Reply | None = None
    misshapen: tuple[Layout, Reply] | None = None
    if not report.examined:
        return []
    for layout in subject.layouts():
        if working and layout.dtype != next(iter(working.values())).dtype:
            break
        if (layout.rank, layout.cross) in working or (layout.rank == 2 and working):
            continue
        reply = _first_call(subject, layout, demanding)
        if reply.good:
            working[layout.rank, layout.cross] = _true_dtype(layout, reply, report)
        elif reply.failure is None:
            misshapen = misshapen or (layout, reply)
        elif reply.failure.reason in ("time", "exit"):
            could_not(reply.failure, report)
            return []
        first = first or reply
    if not working and not demanding:
        _nothing_worked(subject, first, misshapen, report)
    subject.misshapen = misshapen if working else None
    _drop_ignored_context(subject, working)
    return list(working.values())


def _drop_ignored_context(subject: Subject, working: dict[tuple[int, bool], Layout]) -> None:
    """A second sequence that changes nothing is not for this module: it does self-attention only."""
    crossing = next((layout for layout in working.values() if layout.cross), None)
    if crossing is None or len(working) < 2 or "context" not in subject.binding.roles:
        return
    tensors = subject.draw(crossing, 0, subject.generator(0))
    both = subject.run(tensors, crossing)
    alone = subject.run({"query": tensors["query"]}, crossing)
    if both.output is not None and alone.output is not None and torch.equal(both.output, alone.output):
        del working[crossing.rank, True]
        subject.notes.append(f"it ignores {subject.binding.roles['context']}")


def check_other_ranks(subject: Subject, layout: Layout, recipe: Recipe, taken: set[int], report: Report) -> None:
    """A candidate may refuse (B, L, d) or (B, H, L, d); it must not answer something else without a word.

    Lengths are chosen that equal the batch size or the number of heads, so that wrong axes fit by chance.
    """
    for rank in {3, 4} - taken:
        other = replace(layout, rank=rank)
        for L in (4, 2, 3):
            tensors = subject.draw(other, 0, subject.generator(13), L=L, S=L if layout.square else 4)
            reply = subject.run(tensors, other)
            if reply.failure is None and not reply.good:
                conduct.wrong_shape(subject, other, reply, report)
            elif reply.good and not fits(recipe, subject.case(tensors, other, reply)):
                sizes = subject.sizes(tensors, other)
                text = f"It is right for {layout}, but with {other} and B = {sizes.B}, H = {sizes.H}, L = {sizes.L}"
                report.add("differs", f"{text} it gives other numbers, without an error.")


def _first_call(subject: Subject, layout: Layout, demanding: bool) -> Reply:
    """The answer to the first size, or the first failure of a size where L and S differ."""
    subject.use(layout)
    generator = torch.Generator().manual_seed(subject.declared.seed)
    reply = subject.run(subject.draw(layout, 0, generator), layout)
    if demanding and reply.good:
        other = subject.run(subject.draw(layout, 1, generator), layout)
        return reply if other.good or (other.failure is None and other.shapes) else other
    return reply


def _true_dtype(layout: Layout, reply: Reply, report: Report) -> Layout:
    if reply.dtype == layout.dtype:
        return layout
    text = f"Inputs of {layout.dtype} give an output of {reply.dtype}."
    if layout.dtype == torch.float64 and reply.dtype == torch.float32:
        report.add("precision-lost", text)
        return replace(layout, dtype=torch.float32)
    report.add("wrong-dtype", text)
    return replace(layout, rough=reply.dtype in (torch.float16, torch.bfloat16))


def _nothing_worked(
    subject: Subject, first: Reply | None, misshapen: tuple[Layout, Reply] | None, report: Report
) -> None:
    if misshapen is not None:
        conduct.wrong_shape(subject, *misshapen, report)
        return
    if first is not None and first.failure is not None:
        if subject.binding.unknown:
            names = ", ".join(subject.binding.unknown)
            report.notes.append(f"nobody could guess what to pass for: {names}; wrap the candidate in a function")
        could_not(first.failure, report)
        return
    report.add("not-callable", "No way to call it was found.")
    report.examined = False
