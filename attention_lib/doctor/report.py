"""What an examination gathers, and how recipes become findings."""

from __future__ import annotations

from dataclasses import dataclass, field

from attention_lib.doctor.evidence import of_option
from attention_lib.doctor.findings import Finding
from attention_lib.doctor.guard import Failure
from attention_lib.doctor.mistakes import finding
from attention_lib.doctor.pipeline import STEPS, Case, Option, Recipe
from attention_lib.doctor.subject import Layout, Subject

__all__ = ["Report", "could_not", "note_recipe"]


@dataclass
class Report:
    """What the examination gathers."""

    findings: dict[str, Finding] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    variants: list[str] = field(default_factory=list)
    examined: bool = True
    recipes: list[Recipe] = field(default_factory=list)

    def add(self, code: str, evidence: str, **changes: str) -> None:
        """Add a finding; the first evidence for a code is kept."""
        if code not in self.findings:
            self.findings[code] = finding(code, evidence, **changes)

    @property
    def mistakes(self) -> list[str]:
        return [code for code, found in self.findings.items() if found.severity == "mistake"]


def could_not(failure: Failure, report: Report) -> None:
    """Report a failed call: the candidate was not examined to the end."""
    code = {"time": "time-limit", "exit": "exits"}.get(failure.reason, "raises")
    trace = f"\n{failure.trace}\n{failure.message}" if failure.trace else failure.message
    report.add(code, trace.strip())
    report.examined = False


def note_recipe(subject: Subject, recipe: Recipe, case: Case, report: Report, layout: Layout) -> None:
    """Turn every edit of the recipe into a finding, unless it is a declared variant."""
    report.recipes.append(recipe)
    accepted = set(subject.declared.variants)
    if _consistently_interleaved(recipe):
        accepted.add("heads-interleaved")
    for step, option in zip(STEPS, recipe.options, strict=True):
        for code in option.codes:
            code = _own_window(subject, option, code)
            name = code.removeprefix("variant-").removeprefix("adds-")
            if name in accepted:
                if name not in subject.variants:
                    subject.variants.append(name)
                continue
            text = f"{of_option(option, step, recipe, subject.menu, case)}{_with_inputs(subject, layout)}"
            report.add(code, text, **_changes(recipe, code))


def _changes(recipe: Recipe, code: str) -> dict[str, str]:
    """Groups read in another order are only that as long as keys and values agree on it."""
    if code != "grouped-heads-tiled" or (code in recipe["pair"].codes) == (code in recipe["value"].codes):
        return {}
    return {"severity": "mistake", "title": "Keys and values are repeated for the query heads in different orders"}


def _own_window(subject: Subject, option: Option, code: str) -> str:
    """A window that is one key wider than the candidate's own parameter says is off by one."""
    default = subject.binding.defaults.get("window")
    own = isinstance(default, int) and not isinstance(default, bool) and option.number == default + 1
    return "window-off-by-one" if code == "variant-window" and own and "causal" in option.name else code


def _consistently_interleaved(recipe: Recipe) -> bool:
    """Split and merged alike, interleaved heads are only another order of the features."""
    return all("heads-interleaved" in recipe[step].codes for step in ("pair", "value", "finish"))


def _with_inputs(subject: Subject, layout: Layout) -> str:
    return f" (Inputs {layout}.)" if layout.rank != 3 and subject.kind == "attention" else ""
