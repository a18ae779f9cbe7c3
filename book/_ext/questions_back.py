"""Links every section that answers a question of readers back to ``book/questions.md``.

That page holds lines ``- *question* answer``, whose links lead to sections of chapters. Here the question is written
under the heading of each of these sections, so that both ends are linked and the search finds the answer by the
words of the question.
"""

import re
from pathlib import Path

from myst_parser.mdit_to_docutils.base import default_slugify

PAGE = "book/questions"
ENTRY = re.compile(r"^- \*(?P<question>[^*]+)\*(?P<answer>.*)$")
LINK = re.compile(r"\]\(\.\./(?P<page>chapters/\w+)\.md#(?P<section>[\w-]+)\)")
HEADING = re.compile(r"^#{2,3} (?P<title>.+?)\s*$")


def questions(text: str) -> dict[tuple[str, str], list[tuple[str, str]]]:
    """(page, section) of an answer -> its questions, each with the section of the questions page it stands in."""
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    group = ""
    for line in text.splitlines():
        if heading := HEADING.match(line):
            group = default_slugify(heading["title"])
        if entry := ENTRY.match(line):
            for link in LINK.finditer(entry["answer"]):
                asked = found.setdefault((link["page"], link["section"]), [])
                if (entry["question"], group) not in asked:
                    asked.append((entry["question"], group))
    return found


def with_questions(page: str, text: str, asked: dict[tuple[str, str], list[tuple[str, str]]]) -> str:
    """The page's source with the questions under their headings."""
    lines, in_code = [], False
    for line in text.splitlines():
        lines.append(line)
        in_code ^= line.startswith("```")
        heading = None if in_code else HEADING.match(line)
        here = asked.get((page, default_slugify(heading["title"])), []) if heading else []
        if here:
            links = " ".join(f"[{question}](../{PAGE}.md#{group})" for question, group in here)
            lines += ["", ":::{div} people-ask", f"People ask: {links}", ":::"]
    return "\n".join(lines) + "\n"


def _fill(app, docname: str, source: list[str]) -> None:
    if not docname.startswith("chapters/"):
        return
    path = Path(app.srcdir) / f"{PAGE}.md"
    if path.is_file():
        app.env.note_dependency(str(path))
        source[0] = with_questions(docname, source[0], questions(path.read_text("utf-8")))


def setup(app) -> dict:
    """Fill in the questions when a chapter is read."""
    app.connect("source-read", _fill)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
