"""The first time a chapter uses a term of the glossary, the word leads there (and its preview shows the meaning)."""

import re

from docutils import nodes
from sphinx.domains.std import StandardDomain
from sphinx.util.nodes import make_refnode

GLOSSARY = "book/glossary"
SHORTEST = 4
CLOSED = (nodes.reference, nodes.literal, nodes.math, nodes.title, nodes.caption, nodes.literal_block, nodes.footnote)


def terms(domain: StandardDomain) -> dict[str, tuple[str, str]]:
    """Every term of the glossary with its page and anchor."""
    return {
        name.lower(): (docname, anchor)
        for name, _, kind, docname, anchor, _ in domain.get_objects()
        if kind == "term" and len(name) >= SHORTEST
    }


def pattern(names: list[str]) -> re.Pattern[str]:
    """A pattern for any of the terms, the longest first, also in the plural."""
    ordered = sorted(names, key=len, reverse=True)
    return re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, ordered))})s?(?![\w-])", re.I)


def _link_terms(app, doctree: nodes.document, docname: str) -> None:
    if app.builder.format != "html" or not docname.startswith("chapters/"):
        return
    known = terms(app.env.get_domain("std"))
    left = set(known)
    for text in list(doctree.findall(nodes.Text)):
        if not left:
            return
        if not _closed(text):
            _link_first(app, docname, text, known, left)


def _closed(text: nodes.Text) -> bool:
    """True for words that are a link, code, a formula or a heading, and for all outside running text."""
    parent, inside = text.parent, False
    while parent is not None:
        if isinstance(parent, CLOSED):
            return True
        inside = inside or isinstance(parent, nodes.paragraph)
        parent = parent.parent
    return not inside


def _link_first(app, docname: str, text: nodes.Text, known: dict[str, tuple[str, str]], left: set[str]) -> None:
    """Link the first term in a piece of text that this chapter has not met yet."""
    for match in pattern(list(known)).finditer(text):
        name = match[1].lower()
        if name in left:
            left.discard(name)
            page, anchor = known[name]
            link = make_refnode(app.builder, docname, page, anchor, nodes.inline("", match[0], classes=["term"]))
            head, tail = nodes.Text(text[: match.start()]), nodes.Text(text[match.end() :])
            text.parent.replace(text, [head, link, tail])
            _link_first(app, docname, tail, known, left)
            return


def setup(app) -> dict:
    """Register the extension."""
    app.connect("doctree-resolved", _link_terms)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
