"""The ledger of claims: what the articles say, beside what the chapters measured when this site was built.

``{claims-ledger}`` prints one row for each claim of ``book/claims.yml``. Its verdict and values come from the
records that chapters write while they run; none is typed. A claim of a chapter that is in the book must have
its record, or the build fails.
"""

import json
import re
from pathlib import Path

import yaml
from bookkit.book import Book
from bookkit.execution import cache_path, claims_folder
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

LOGGER = logging.getLogger(__name__)
CLAIM = re.compile(r"""^[ ]*claim\(\s*(["'])(?P<claim>S\d+)\1,\s*(["']).+?\3,\s*(["'])(?P<measured>.+?)\4""", re.M)
HEADING = re.compile(r"^## (.+)$", re.M)


def guards(book: Book) -> dict[str, list[tuple[str, str, str]]]:
    """For each claim, where it is guarded: (page, heading of the section, what is measured)."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    for chapter in book.chapters:
        text = chapter.read_text("utf-8")
        for match in CLAIM.finditer(text):
            headings = HEADING.findall(text[: match.start()])
            place = (book.docname(chapter), headings[-1] if headings else "", match["measured"])
            found.setdefault(match["claim"], []).append(place)
    return found


def record(folder: Path, number: str, measured: str) -> dict | None:
    """The record of one guard, or None if its chapter did not write it."""
    from attention_lib.experiments.claims import record_name

    path = folder / record_name(number, measured)
    return json.loads(path.read_text("utf-8")) if path.is_file() else None


def measured_text(entry: dict) -> str:
    """The values of a record as text: one number, or mean and range."""
    value = f"{entry['mean']:.3g}"
    if entry["count"] > 1:
        value += f" ({entry['least']:.3g} to {entry['most']:.3g}, {entry['count']} values)"
    return f"{entry['measured']}: {value}"


class ClaimsLedger(SphinxDirective):
    """``{claims-ledger}``: the table."""

    def run(self) -> list[nodes.Node]:
        """Join claims, guards and records."""
        root = Path(self.env.srcdir)
        self.env.note_reread()  # records change when chapters run, not when this page changes
        claims = yaml.safe_load((root / "book" / "claims.yml").read_text("utf-8"))
        places = guards(Book(root))
        lines = ["| no. | the claim | verdict | measured here | where |", "|---|---|---|---|---|"]
        for number, text in claims.items():
            lines += self._rows(number, text, places.get(number, []), claims_folder(cache_path(root)))
        container = nodes.container(classes=["claims-ledger"])
        self.state.nested_parse(StringList(lines), self.content_offset, container)
        return [container]

    def _rows(self, number: str, text: str, places: list[tuple[str, str, str]], folder: Path) -> list[str]:
        if not places:
            LOGGER.warning("claim %s is guarded in no chapter", number, location=self.get_location())
        rows = []
        for docname, heading, measured in places:
            entry = record(folder, number, measured)
            if entry is None:
                LOGGER.warning(
                    "claim %s, %r: %s did not record it", number, measured, docname, location=self.get_location()
                )
                continue
            link = f"[{heading}](../{docname}.md#{nodes.make_id(heading)})" if heading else f"[]({docname}.md)"
            verdict = entry["verdict"] + (f": {entry['condition']}" if entry["condition"] else "")
            first = not rows
            rows.append(
                f"| {number if first else ''} | {text if first else ''} | {verdict} | {measured_text(entry)} | {link} |"
            )
        return rows


def setup(app) -> dict:
    """Register the extension."""
    app.add_directive("claims-ledger", ClaimsLedger)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
