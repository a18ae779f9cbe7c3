"""Every label of the book: what it names, its number, and where it stands on the site.

Numbers are the chapter's number and a count within the chapter ("4.2"): chapter 4 keeps its numbers
when chapter 2 is written. The site's extension ``chapter_numbers`` gives the same ones.
"""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from docutils.nodes import fully_normalize_name, make_id
from markdown_it.token import Token

from bookkit.book import Book
from bookkit.errors import BookError
from bookkit.source import Directive, Text, directive_of, parse, read_cells

PROOF_KINDS = (
    *("proof", "theorem", "axiom", "definition", "lemma", "algorithm", "criterion", "remark", "conjecture"),
    *("corollary", "example", "property", "observation", "proposition", "assumption", "notation"),
)
UNNUMBERED = {"proof", "notation"}  # sphinx-proof never numbers a proof


@dataclass(frozen=True)
class Label:
    """What a label names.

    Args:
        kind: chapter, section, equation, figure, exercise, solution, a proof kind, or place.
        docname: the page.
        anchor: the id on the page.
        number: "4.2", or "" when it has none.
        title: its title as plain text, "" when it has none.
    """

    kind: str
    docname: str
    anchor: str
    number: str = ""
    title: str = ""

    @property
    def name(self) -> str:
        """The words a numbered reference shows: "Fig. 4.2"."""
        words = {"figure": "Fig.", "chapter": "Chapter"}.get(self.kind, self.kind.capitalize())
        return f"{words} {self.number}".strip()


class Labels:
    """The labels of all pages of a book, by name.

    Args:
        book: the book; its pages are read once.
    """

    def __init__(self, book: Book):
        self.book = book
        self.by_name: dict[str, Label] = {}
        self._at: dict[tuple[Path, int], Label] = {}
        for docname in book.docnames:
            if book.source(docname).is_file():
                _Page(self, docname).read()

    def find(self, name: str, text: Text, offset: int) -> Label:
        """The label of that name, or an error at the place that asks for it."""
        label = self.by_name.get(normalise(name))
        if label is None:
            raise text.error(offset, f"unknown label '{name}'; write ({name})= or :label: {name} at its target")
        return label

    def at(self, path: Path, line: int) -> Label:
        """The numbered thing that starts at a line of a file."""
        return self._at[path, line]

    def add(self, name: str | None, label: Label, path: Path, line: int) -> None:
        """Register a label; a second one of the same name is an error."""
        self._at[path, line] = label
        if name:
            if normalise(name) in self.by_name:
                raise BookError(path, line, f"label '{name}' is already used in {self.by_name[name].docname}")
            self.by_name[normalise(name)] = label


def normalise(name: str) -> str:
    """A label as Sphinx compares it: lower case, single spaces."""
    return fully_normalize_name(name)


def plain_title(inline: Token) -> str:
    """The words of a heading, without marks; formulas keep their dollars."""
    marks = {"math_inline": "$", "math_inline_double": "$$", "code_inline": "`"}
    return "".join(
        f"{marks.get(child.type, '')}{child.content}{marks.get(child.type, '')}"
        for child in inline.children or []
        if child.content
    )


class _Page:
    """Walks one page in order and counts what is numbered."""

    def __init__(self, labels: Labels, docname: str):
        self.labels, self.docname = labels, docname
        self.path = labels.book.source(docname)
        self.chapter = labels.book.chapter_number(docname)
        self.counts: Counter[str] = Counter()

    def read(self) -> None:
        for cell in read_cells(self.path):
            if not cell.is_code:
                self.walk(cell.text)

    def walk(self, text: Text) -> None:
        targets: list[tuple[str, int]] = []
        tokens = parse(text.text)
        for position, token in enumerate(tokens):
            line = text.line + (token.map[0] if token.map else 0)
            if token.type == "myst_target":
                targets.append((token.content, line))
            elif token.type == "math_block_label":
                self.equation(token.info, line)
            elif token.type in ("fence", "colon_fence"):
                self.targets(targets, "place", "")
                self.directive(directive_of(token, text))
            elif token.type == "heading_open":
                kind = "chapter" if token.tag == "h1" and self.chapter else "section"
                self.targets(targets, kind, plain_title(tokens[position + 1]))
            elif token.type == "paragraph_open":
                self.targets(targets, "place", "")

    def targets(self, targets: list[tuple[str, int]], kind: str, title: str) -> None:
        number = str(self.chapter) if kind == "chapter" else ""
        for name, line in targets:
            self.labels.add(name, Label(kind, self.docname, make_id(name), number, title), self.path, line)
        targets.clear()

    def number(self, kind: str) -> str:
        self.counts[kind] += 1
        return f"{self.chapter}.{self.counts[kind]}" if self.chapter else str(self.counts[kind])

    def equation(self, name: str, line: int) -> None:
        label = Label("equation", self.docname, "equation-" + make_id(name), self.number("equation"))
        self.labels.add(name, label, self.path, line)

    def directive(self, directive: Directive | None) -> None:
        if directive is None:
            return
        name, options = directive.name, directive.options
        label = options.get("label") or options.get("name")
        kind = name.removeprefix("prf:")
        if name == "math":
            if label:
                self.equation(label, directive.at.line)
            return
        if name == "figure" or kind == "exercise" or (kind in PROOF_KINDS and kind != name):
            numbered = "nonumber" not in options and kind not in UNNUMBERED
            numbered = numbered and (kind != "figure" or bool(directive.body.text.strip()))
            number = self.number(kind) if numbered else ""
            title = "" if kind == "figure" else directive.argument
            self.add(directive, label, Label(kind, self.docname, make_id(label or ""), number, title))
        elif label:
            self.add(directive, label, Label("place", self.docname, make_id(label)))
        if name not in ("code-cell", "figure", "image"):
            self.walk(directive.body)

    def add(self, directive: Directive, name: str | None, label: Label) -> None:
        self.labels.add(name, label, self.path, directive.at.line)
