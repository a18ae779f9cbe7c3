"""The catalogue: every code the doctor can give, one file a family.

An entry is a line ``code | chapter | severity``, the title, and the fix, indented, over as many lines as it needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from attention_lib.doctor.catalogue import conduct, heads, masks, modes, scores, softmax, values, variants

__all__ = ["CATALOGUE", "Entry", "families"]


class Entry(NamedTuple):
    """What is always true of a mistake; the evidence is measured anew each time."""

    title: str
    fix: str
    chapter: str
    severity: str = "mistake"


def _entries(text: str) -> Iterator[tuple[str, Entry]]:
    for block in text.strip().split("\n\n"):
        head, title, *fix = block.splitlines()
        code, chapter, severity = (part.strip() for part in head.split("|"))
        yield code, Entry(title, " ".join(line.strip() for line in fix), chapter, severity)


_FAMILIES = (scores, softmax, values, masks, heads, modes, conduct, variants)
CATALOGUE: dict[str, Entry] = {code: entry for family in _FAMILIES for code, entry in _entries(family.TEXT)}


def families() -> list[tuple[str, list[str]]]:
    """The families' names with their codes, in the order of the computation."""
    return [(family.__name__.rpartition(".")[2], [code for code, _ in _entries(family.TEXT)]) for family in _FAMILIES]
