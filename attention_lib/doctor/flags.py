"""Flags of the candidate's own, such as ``causal=True``: they must do what their name says."""

from __future__ import annotations

from dataclasses import replace

from attention_lib.doctor.evidence import of_option
from attention_lib.doctor.patterns import patterns
from attention_lib.doctor.pipeline import Case, Recipe
from attention_lib.doctor.report import Report
from attention_lib.doctor.search import explain, fits
from attention_lib.doctor.subject import Layout, Subject

__all__ = ["check_causal_flag"]


def check_causal_flag(subject: Subject, layout: Layout, recipe: Recipe, report: Report) -> None:
    """Call a candidate that was not declared causal with its own causal flag on."""
    default = subject.binding.defaults.get("causal", False)
    if subject.declared.causal or "causal" not in subject.binding.roles or default not in (False, None):
        return
    if recipe["pattern"].name != "none" or subject.declared.window is not None:
        return
    declared = subject.declared
    subject.declared = replace(declared, causal=True)
    try:
        for L, S in ((5, 5), (3, 5)) if not layout.square else ((5, 5),):
            case = _case(subject, layout, L, S)
            if case is None or not _judge(subject, recipe, case, report):
                return
    finally:
        subject.declared = declared


def _case(subject: Subject, layout: Layout, L: int, S: int) -> Case | None:
    tensors = subject.draw(layout, 0, subject.generator(14), L=L, S=S)
    reply = subject.run(tensors, layout)
    return subject.case(tensors, layout, reply) if reply.good else None


def _judge(subject: Subject, recipe: Recipe, case: Case, report: Report) -> bool:
    """Whether the flag hides the future; how else it goes is reported."""
    options = patterns(True, None)
    causal = recipe.but(pattern=options[0])
    if fits(causal, case):
        return True
    menu = subject.menu.with_options(pattern=options)
    found = explain(case, menu.only(causal, "pattern", "pattern_mode"), 2)
    if found is None or (report.mistakes and not found["pattern"].code):
        return False
    name = subject.binding.roles["causal"]
    for step in ("pattern", "pattern_mode"):
        for code in found[step].codes:
            text = of_option(found[step], step, found, menu, case)
            report.add(code, f"With {name}=True: {text}", severity=_severity(subject, code))
    return False


def _severity(subject: Subject, code: str) -> str:
    """Two things may be meant: PyTorch's flag is aligned top left, and in its layers only a hint beside a mask."""
    hint = code == "future-leak" and subject.binding.roles["causal"] == "is_causal" and "mask" in subject.binding.roles
    return "remark" if hint or code == "causal-misaligned" else ""
