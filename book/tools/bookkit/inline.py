"""Inline MyST - roles, cross references, links to pages, images - as plain Markdown.

Tokens say what stands in a line; the text is changed in place, at the role's own characters, so that all
other characters of the author's line stay as they are.
"""

import re
from collections.abc import Callable

from markdown_it.token import Token
from sphinx.util.nodes import _make_id

from bookkit.context import Context
from bookkit.source import Text

WITH_TARGET = re.compile(r"(.+?)\s*<([^<>]+)>", re.S)
Edit = tuple[int, int, str]


def inline_edits(tokens: list[Token], text: Text, context: Context) -> list[Edit]:
    """The changes that make the inline parts of a text plain Markdown.

    Args:
        tokens: the text's tokens.
        text: the text.
        context: labels, citations and addresses; receives embedded images.

    Returns:
        (start, end, new characters), in order, never overlapping.

    Raises:
        BookError: a role that is not allowed, or a target that does not exist.
    """
    scanner = _Scanner(text, context)
    for token in tokens:
        if token.type == "inline":
            scanner.enter(token.map[0])
            for child in token.children or []:
                scanner.child(child)
    return scanner.edits


class _Scanner:
    """Walks the inline tokens and the text side by side; the cursor only moves forward."""

    def __init__(self, text: Text, context: Context):
        self.text, self.context = text, context
        self.starts = [0]
        for line in text.text.split("\n"):
            self.starts.append(self.starts[-1] + len(line) + 1)
        self.cursor = 0
        self.links: list[tuple[Token, int]] = []
        self.edits: list[Edit] = []

    @property
    def line(self) -> int:
        return self.text.text.count("\n", 0, self.cursor)

    def error(self, message: str):
        return self.text.error(self.line, message)

    def enter(self, line: int) -> None:
        self.cursor = max(self.cursor, self.starts[line])

    def take(self, pattern: str) -> re.Match:
        """Move past the next match of a pattern."""
        match = re.compile(pattern, re.S).search(self.text.text, self.cursor)
        if match is None:
            raise self.error(f"cannot find {pattern!r} in the source; write it on one line")
        self.cursor = match.end()
        return match

    def child(self, token: Token) -> None:
        marks = re.escape(token.markup)
        match token.type:
            case "code_inline":
                self.take(rf"{marks}\s?{flexible(token.content)}\s?{marks}")
            case "math_inline" | "math_inline_double":
                self.take(rf"{marks}{flexible(token.content)}{marks}")
            case "myst_role":
                self.role(token)
            case "link_open":
                self.links.append((token, self.cursor))
            case "link_close":
                self.link(*self.links.pop())
            case "image":
                self.image(token)
            case "html_inline":
                raise self.error(f"raw HTML {token.content!r} is not allowed; use Markdown")
            case "footnote_ref":
                raise self.error("footnotes do not work in Colab; write a {margin} note or a sentence")

    def role(self, token: Token) -> None:
        name = token.meta["name"]
        match = self.take(rf"\{{{re.escape(name)}\}}(`+)\s?{flexible(token.content)}\s?\1")
        self.cursor = match.start()  # errors below name the line where the role begins
        if name not in ROLES:
            allowed = ", ".join(sorted(ROLES))
            raise self.error(f"role {{{name}}} is not in the allowed syntax; use one of {allowed}")
        self.edits.append((match.start(), match.end(), ROLES[name](self, token.content)))
        self.cursor = match.end()

    def link(self, token: Token, start: int) -> None:
        href = token.attrs["href"]
        if token.markup in ("autolink", "linkify"):
            return
        if re.match(r"(https?|mailto):", href):
            return
        match = self.take(r"\]\(([^)\s]*)[^)]*\)")
        url, title = self.resolve(href)
        empty = self.text.text[match.start() - 1] == "["
        self.edits.append((match.start(), match.end(), f"{title if empty else ''}]({url})"))

    def resolve(self, href: str) -> tuple[str, str]:
        """The published address of a link, and the title to show when the author gave no text."""
        page, _, anchor = href.partition("#")
        book = self.context.book
        if not page:
            label = self.context.labels.find(anchor, self.text, self.line)
            return book.page_url(label.docname, label.anchor), label.title or label.name
        target = (self.text.path.parent / page).resolve()
        if not target.is_file():
            raise self.error(f"link to {page}: no such file beside {self.text.path.name}")
        if target.suffix == ".md" and book.docname(target) in book.docnames:
            return book.page_url(book.docname(target), anchor), page
        path = target.relative_to(book.root.resolve()).as_posix()
        return f"{book.repository_url}/blob/{book.branch}/{path}", page

    def image(self, token: Token) -> None:
        match = self.take(rf"!\[(.*?)\]\({flexible(token.attrs['src'])}[^)]*\)")
        if not match[1].strip():
            raise self.error(f"image {token.attrs['src']} has no alt text; write ![what it shows](...)")
        self.edits.append((match.start(), match.end(), self.context.embed(token.attrs["src"], match[1], self.text)))


def flexible(content: str) -> str:
    """A pattern for a text whose line breaks the parser has turned into spaces."""
    return r"\s+".join(re.escape(part) for part in re.split(r"\s+", content))


def split_target(content: str) -> tuple[str, str]:
    """("text", "target") of ``text <target>``; the text is empty when only a target stands there."""
    match = WITH_TARGET.fullmatch(content)
    return (match[1], match[2]) if match else ("", content.strip())


def _reference(scanner: _Scanner, content: str) -> str:
    shown, name = split_target(content)
    label = scanner.context.labels.find(name, scanner.text, scanner.line)
    words = shown or (label.name if label.kind == "exercise" and label.number else label.title)
    if not words:
        raise scanner.error(f"'{name}' has no title; write {{ref}}`your words <{name}>`")
    return f"[{words}]({scanner.context.book.page_url(label.docname, label.anchor)})"


def _numbered(scanner: _Scanner, content: str) -> str:
    shown, name = split_target(content)
    label = scanner.context.labels.find(name, scanner.text, scanner.line)
    if not label.number:
        raise scanner.error(f"'{name}' has no number; use {{ref}} with your own words")
    words = re.sub(r"%s|\{number\}", label.number, shown).replace("{name}", label.title) or label.name
    return f"[{words}]({scanner.context.book.page_url(label.docname, label.anchor)})"


def _equation(scanner: _Scanner, content: str) -> str:
    label = scanner.context.labels.find(content, scanner.text, scanner.line)
    if label.kind != "equation":
        raise scanner.error(f"'{content}' is a {label.kind}, not an equation; use {{ref}} or {{numref}}")
    return f"[({label.number})]({scanner.context.book.page_url(label.docname, label.anchor)})"


def _term(scanner: _Scanner, content: str) -> str:
    shown, name = split_target(content)
    terms = scanner.context.terms
    if name.lower() not in terms:
        raise scanner.error(f"'{name}' is not in the glossary; add it or use a term that is there")
    anchor = "term-" + _make_id(terms[name.lower()])
    return f"[{shown or name}]({scanner.context.book.page_url(scanner.context.glossary, anchor)})"


def _cite(parenthesised: bool) -> Callable[[_Scanner, str], str]:
    def cite(scanner: _Scanner, content: str) -> str:
        shown = []
        for key in (part.strip() for part in content.split(",")):
            try:
                authors, year = scanner.context.citations.authors_year(key)
            except KeyError:
                raise scanner.error(f"'{key}' is not in {scanner.context.citations.path.name}") from None
            words = f"{authors}, {year}" if parenthesised else f"{authors} ({year})"
            shown.append(f"[{words}]({scanner.context.book.page_url(scanner.context.bibliography)})")
        # The site puts several parenthesised citations in alphabetical order.
        return f"[{', '.join(sorted(shown))}]" if parenthesised else ", ".join(shown)

    return cite


ROLES: dict[str, Callable[[_Scanner, str], str]] = {
    "ref": _reference,
    "numref": _numbered,
    "prf:ref": _numbered,
    "eq": _equation,
    "term": _term,
    "cite:p": _cite(parenthesised=True),
    "cite:t": _cite(parenthesised=False),
}
