"""Makes findings: the catalogue's words with the evidence of one candidate."""

from __future__ import annotations

from attention_lib.doctor.catalogue import CATALOGUE, Entry
from attention_lib.doctor.findings import Finding

__all__ = ["CATALOGUE", "Entry", "finding"]


def finding(code: str, evidence: str, *, title: str = "", fix: str = "", severity: str = "") -> Finding:
    """The catalogue's entry with the evidence of one candidate.

    Example:
        >>> finding("missing-scale", "scores are 2.83x too large").chapter
        '04_scores_and_scaling'
    """
    entry = CATALOGUE[code]
    return Finding(code, title or entry.title, evidence, fix or entry.fix, entry.chapter, severity or entry.severity)
