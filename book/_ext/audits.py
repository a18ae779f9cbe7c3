"""What a recorded long run counted: ``{audit} doctor_audit``, ``{audit} coursework_audit``."""

import json
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

LOGGER = logging.getLogger(__name__)


def lines_of(record: dict) -> list[str]:
    """A table of what was counted; a sentence with the date, the versions and the command."""
    rows = [f"| {what} | {_number(count)} |" for what, count in record["summary"].items()]
    where = f"Run on {record['date']} with torch {record['torch']} ({record['device']}) by `{record['command']}`."
    return ["| counted | number |", "|---|---:|", *rows, "", where]


def _number(count: float) -> str:
    """Thousands apart; whole numbers without a point."""
    return f"{count:,.0f}" if count == int(count) else f"{count:,}"


class Audit(SphinxDirective):
    """``{audit} RECORD``: the summary of ``book/results/RECORD.json``."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Read the record and write its table."""
        path = Path(self.env.srcdir) / "book" / "results" / f"{self.arguments[0]}.json"
        self.env.note_dependency(str(path))
        if not path.is_file():
            LOGGER.warning("there is no record %s of an audit", path.name, location=self.get_location())
            return []
        record = json.loads(path.read_text("utf-8"))
        container = nodes.container(classes=["audit"])
        self.state.nested_parse(StringList(lines_of(record)), self.content_offset, container)
        return [container]


def setup(app) -> dict:
    """Register the extension."""
    app.add_directive("audit", Audit)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
