"""What the doctor says: a finding, a diagnosis, and how both look in a terminal, a notebook and as json."""

from __future__ import annotations

import html
import json
import textwrap
from dataclasses import asdict, dataclass

__all__ = ["Diagnosis", "Finding"]

_SIGN = {"mistake": "✗", "variant": "≠", "remark": "!"}
_COLOUR = {"mistake": "#b3400a", "variant": "#0b5c8f", "remark": "#7a5c00"}


@dataclass(frozen=True)
class Finding:
    """One thing the doctor found.

    Attributes:
        code: Stable name, such as ``missing-scale``.
        title: The mistake in plain words.
        evidence: What was measured on this candidate, with its numbers.
        fix: What to change, with a line of code where one helps.
        chapter: Stem of the chapter that explains it, such as ``04_scores_and_scaling``.
        severity: ``mistake``; ``variant``, a legitimate other kind of attention that was not declared; or
            ``remark``, a limit worth knowing that leaves the candidate healthy.
    """

    code: str
    title: str
    evidence: str
    fix: str
    chapter: str
    severity: str = "mistake"

    def __str__(self) -> str:
        lines = [f"{_SIGN[self.severity]} {self.title}  [{self.code}]"]
        lines += _wrapped("found:", self.evidence) + _wrapped("fix:", self.fix)
        return "\n".join([*lines, f"    read:  chapter {self.chapter}"])


@dataclass(frozen=True)
class Diagnosis:
    """The doctor's answer. It is true exactly when ``ok`` is.

    Attributes:
        ok: No mistake and no undeclared variant was found, and the candidate could be examined.
        findings: Mistakes and undeclared variants first, then remarks.
        examined: False when the candidate could not be examined: it raised, ran out of time, or could not be called.
        candidate: Its name.
        kind: What it was compared with.
        variants: Variants that the candidate is and that were declared or are visible in it, such as grouped-query.
        notes: How it was called, and what could not be tried.
    """

    ok: bool
    findings: tuple[Finding, ...] = ()
    examined: bool = True
    candidate: str = ""
    kind: str = "attention"
    variants: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.ok

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of all findings, in order."""
        return tuple(finding.code for finding in self.findings)

    def __str__(self) -> str:
        parts = [self._headline(), *map(str, self.findings)]
        return "\n".join(parts + [f"  note: {note}" for note in self.notes])

    __repr__ = __str__

    def _headline(self) -> str:
        what = f"{self.candidate or 'candidate'} ({self.kind})"
        if not self.examined:
            return f"{what}: could not be examined"
        if self.ok:
            variants = f", as {' + '.join(self.variants)}" if self.variants else ""
            return f"{what}: healthy{variants}"
        count = sum(finding.severity != "remark" for finding in self.findings)
        return f"{what}: {count} finding{'s' * (count != 1)}"

    def to_json(self, **options: object) -> str:
        """The diagnosis as a json object; ``options`` go to ``json.dumps``.

        Example:
            >>> Diagnosis(ok=True, candidate="mine").to_json()[:30]
            '{"ok": true, "findings": [], "'
        """
        return json.dumps(asdict(self), ensure_ascii=False, **options)  # type: ignore[arg-type]

    def _repr_html_(self) -> str:
        colour = "#1b7a3d" if self.ok else "#b3400a"
        cards = "".join(_card(finding) for finding in self.findings)
        notes = "".join(f"<div style='opacity:.75;font-size:.9em'>{html.escape(note)}</div>" for note in self.notes)
        return (
            "<div style='background:#fff;color:#222;border:1px solid #ccc;border-radius:6px;padding:.7em 1em'>"
            f"<strong style='color:{colour}'>{html.escape(self._headline())}</strong>{cards}{notes}</div>"
        )


def _wrapped(label: str, text: str) -> list[str]:
    """The text under its label, at most 100 characters a line; lines of code keep their own breaks."""
    lines = [piece for line in text.splitlines() for piece in (textwrap.wrap(line, 88) or [""])]
    return [f"    {label if number == 0 else '':7}{line}" for number, line in enumerate(lines)]


def _card(finding: Finding) -> str:
    colour = _COLOUR[finding.severity]
    return (
        f"<div style='border-left:4px solid {colour};padding:.1em .8em;margin:.6em 0'>"
        f"<div><strong>{_SIGN[finding.severity]} {_html(finding.title)}</strong> "
        f"<code style='background:none;color:{colour}'>{html.escape(finding.code)}</code></div>"
        f"<div>{_html(finding.evidence)}</div>"
        f"<div><em>Fix:</em> {_html(finding.fix)}</div>"
        f"<div style='opacity:.75;font-size:.9em'>Chapter {html.escape(finding.chapter)}</div></div>"
    )


def _html(text: str) -> str:
    """Escaped, with ``code`` between backticks set as code and line breaks kept."""
    pieces = html.escape(text).replace("\n", "<br>").split("`")
    return "".join(
        f"<code style='background:none;color:inherit'>{piece}</code>" if number % 2 else piece
        for number, piece in enumerate(pieces)
    )
