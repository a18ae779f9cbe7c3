"""The gallery of mistakes: each one broken, diagnosed and repaired, written from the doctor's own corpus.

The line ``% doctor-gallery`` of a page is replaced by one section for each family of mistakes. What the doctor says
there is what it said while this site was built; nothing is typed.
"""

import difflib
import sys
from collections.abc import Iterator
from pathlib import Path

MARK = "% doctor-gallery"
ALONE = {"raises", "mask-raises", "time-limit", "exits"}  # tracebacks and times are not the same everywhere
NAMES = {
    "scores": "Scores", "softmax": "Softmax", "values": "Values", "masks": "Masks", "heads": "Heads",
    "modes": "Training and evaluation", "conduct": "Conduct", "variants": "Variants, not mistakes",
}  # fmt: skip


def load_corpus(root: Path) -> list:
    """The wrong implementations that the doctor is tested with."""
    folder = str(root / "tests" / "doctor")
    if folder not in sys.path:
        sys.path.append(folder)
    from specimens import load

    return load("wrong")


def choose(corpus: list) -> dict:
    """One specimen a code: with a repair if there is one, with this mistake alone if possible, the shortest."""
    chosen: dict = {}
    for specimen in sorted(corpus, key=lambda one: (not one.repair, len(one.codes), len(one.source))):
        for code in specimen.codes:
            if code not in ALONE:
                chosen.setdefault(code, specimen)
    return chosen


def gallery(chosen: dict) -> str:
    """The sections of the page as Markdown."""
    from attention_lib.doctor.catalogue import families

    parts = []
    for family, codes in families():
        shown = [code for code in codes if code in chosen]
        if shown:
            parts += [f"## {NAMES[family]}", _contents(shown), *(entry(code, chosen[code]) for code in shown)]
    return "\n\n".join(parts)


def _contents(codes: list[str]) -> str:
    from attention_lib.doctor import CATALOGUE

    return "\n".join(f"- [{CATALOGUE[code].title}](#mistake-{code})" for code in codes)


def entry(code: str, specimen) -> str:
    """One mistake: the code, what the doctor says of it, and what to change."""
    from attention_lib.doctor import CATALOGUE

    parts = [
        f"(mistake-{code})=\n### {CATALOGUE[code].title}",
        f"```python\n{specimen.source}\n```",
        f"`{_call(specimen)}` finds:",
        *_said(specimen, code),
    ]
    if specimen.repair:
        changed = "\n".join(_changes(specimen.source, specimen.repaired))
        parts.append(f"The repair:\n\n```diff\n{changed}\n```")
    chapter = CATALOGUE[code].chapter
    parts.append(f"Explained in [chapter {int(chapter[:2])}](../chapters/{chapter}.md).")
    return "\n\n".join(parts)


def _said(specimen, shown: str) -> Iterator[str]:
    """The findings that the specimen stands for; the remarks that come along would be the same in each entry."""
    from attention_lib.doctor import diagnose

    for finding in diagnose(specimen.fresh(), specimen.kind, **specimen.options).findings:
        if finding.code in specimen.codes:
            evidence = finding.evidence if "\n" not in finding.evidence else f"```text\n{finding.evidence}\n```"
            title = f"`{finding.code}`" + ("" if finding.code == shown else f" {finding.title}")
            yield f":::{{admonition}} {title}\n:class: warning\n{evidence}\n\n*Fix:* {finding.fix}\n:::"


def _changes(before: str, after: str) -> Iterator[str]:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=1, lineterm="")
    for number, line in enumerate(lines):
        if number > 2:  # the names of the files and the first place are of no use here
            yield " ..." if line.startswith("@@") else line


def _call(specimen) -> str:
    words = [specimen.name]
    if specimen.kind != "attention":
        words.append(repr(specimen.kind))
    return f"diagnose({', '.join(words + [f'{name}={value!r}' for name, value in specimen.options.items()])})"


def _fill(app, docname: str, source: list[str]) -> None:
    if MARK not in source[0]:
        return
    root = Path(app.srcdir)
    app.env.note_dependency(__file__)
    for folder in (root / "attention_lib" / "doctor", root / "tests" / "doctor" / "wrong"):
        for path in folder.rglob("*.py"):
            app.env.note_dependency(str(path))
    source[0] = source[0].replace(MARK, gallery(choose(load_corpus(root))))


def setup(app) -> dict:
    """Fill the mark when a page is read."""
    app.connect("source-read", _fill)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
