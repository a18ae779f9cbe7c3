"""The page of benchmarks, from the record of one run: ``{benchmarks} machine``, ``verdicts``, ``figure``, ``cases``.

Nothing on that page is typed: each directive reads ``book/results/benchmarks.json``.
"""

import json
from collections.abc import Callable
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

LOGGER = logging.getLogger(__name__)


def verdicts_of(record: dict) -> list:
    """The verdicts, again as what the bench made."""
    from attention_lib.bench.verdict import Verdict

    return [Verdict(**fields) for fields in record["verdicts"]]


def machine_lines(record: dict) -> list[str]:
    """One paragraph: where, when, how."""
    machine, (before, after) = record["machine"], record["load"]
    threads = " and ".join(map(str, record["threads"]))
    counts = {word: 0 for word in ("met", "tie", "missed", "not measured")}
    for verdict in verdicts_of(record):
        counts[verdict.verdict] += 1
    totals = ", ".join(f"{number} {word}" for word, number in counts.items())
    return [
        f"Recorded on {record['date']} with torch {record['torch']} on {machine.get('gpu') or machine['processor']}, "
        f"{machine['cores']} cores, instruction set {machine['instructions']}, {threads} threads, "
        f"{record['rounds']} rounds, by `{record['command']}`. The machine did other work, too: its load, the programs "
        f"that wanted a processor, was {before} at the start and {after} at the end. Targets: {totals}."
    ]


def verdict_lines(record: dict) -> list[str]:
    """A table: one row a target of time, memory or growth; errors are summed up below it."""
    from attention_lib.bench.verdict import names

    lines = ["| row | case | target | measured | verdict |", "|---|---|---|---|---|"]
    errors = []
    verdicts = verdicts_of(record)
    for name, each in zip(names(verdicts), verdicts, strict=True):
        if " the error of " in each.target:
            errors.append(each)
            continue
        word = f"{each.verdict}: {each.why}" if each.why else each.verdict
        lines.append(f"| {name} | {each.title} | {each.target} | {each.measured()} | {word} |")
    met = sum(each.verdict == "met" for each in errors)
    worst = [f"{each.title} ({1 / min(each.ratios.values()):.2f} times)" for each in errors if each.verdict == "missed"]
    return [
        *lines,
        "",
        f"Row 13 also asks every case for an error of at most twice its peer's: {met} of {len(errors)} meet it"
        + (f"; not {', '.join(worst)}." if worst else "."),
    ]


def case_lines(record: dict) -> list[str]:
    """One small table a case: every variant, its times, memory and error."""
    from attention_lib.bench.measure import Variant
    from attention_lib.bench.report import megabytes, milliseconds

    lines = []
    for case in record["cases"]:
        lines += [f"**{case['row']}. {case['title']}**", "", "| variant | ms | MiB | error |", "|---|---|---|---|"]
        for fields in case["variants"]:
            each = Variant(**fields)
            error = "" if each.error is None else f"{each.error:.1e}"
            cells = (each.failure, "", "") if each.failure else (milliseconds(each), megabytes(each.peak_bytes), error)
            lines.append(f"| {each.name} | {' | '.join(cells)} |")
        lines += [f"| {name} | absent: {why} | | |" for name, why in case["absent"].items()]
        lines.append("")
    return lines


LINES: dict[str, Callable[[dict], list[str]]] = {
    "machine": machine_lines, "verdicts": verdict_lines, "cases": case_lines,
}  # fmt: skip


class Benchmarks(SphinxDirective):
    """``{benchmarks} PART``: one part of the page."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Read the record and write that part."""
        part = self.arguments[0]
        path = Path(self.env.srcdir) / "book" / "results" / "benchmarks.json"
        self.env.note_dependency(str(path))
        if not path.is_file():
            LOGGER.warning("there is no %s; record it with `make bench`", path.name, location=self.get_location())
            return []
        record = json.loads(path.read_text("utf-8"))
        if part == "figure":
            from attention_lib.bench.figure import draw

            return [nodes.raw("", draw(verdicts_of(record)).html(), format="html")]
        if part not in LINES:
            known = ", ".join(("figure", *LINES))
            LOGGER.warning("benchmarks has no part %r; choose from %s", part, known, location=self.get_location())
            return []
        container = nodes.container(classes=["benchmarks"])
        self.state.nested_parse(StringList(LINES[part](record)), self.content_offset, container)
        return [container]


def setup(app) -> dict:
    """Register the extension."""
    app.add_directive("benchmarks", Benchmarks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
