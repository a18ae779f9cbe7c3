"""Reading a MyST page: its cells, its tokens, its directives, each with the line where it stands."""

import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from myst_nb.core.read import is_myst_markdown_notebook, read_myst_markdown_notebook
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.directives import parse_directive_text
from myst_parser.parsers.mdit import create_md_parser
from nbformat import NotebookNode

from bookkit.errors import BookError

DIRECTIVE = re.compile(r"\{([^}]+)\}\s*(.*)", re.S)


@cache
def _parser():
    return create_md_parser(MdParserConfig(enable_extensions={"dollarmath", "colon_fence"}), RendererHTML)


def parse(text: str) -> list[Token]:
    """The Markdown tokens of a text, with the syntax that the site accepts."""
    return _parser().parse(text + "\n")


@dataclass(frozen=True)
class Text:
    """A piece of Markdown that remembers where it came from.

    Args:
        text: the Markdown.
        path: the file.
        line: the file's line, counted from 1, of the text's first line.
    """

    text: str
    path: Path
    line: int

    def error(self, offset: int, message: str) -> BookError:
        """An error at the text's line ``offset`` (counted from 0)."""
        return BookError(self.path, self.line + offset, message)


@dataclass(frozen=True)
class Directive:
    """One directive: ``{name} argument``, its options and its body."""

    name: str
    argument: str
    options: dict
    body: Text
    at: Text = field(repr=False)

    def error(self, message: str) -> BookError:
        """An error at the directive's first line."""
        return self.at.error(0, message)


def directive_of(token: Token, text: Text) -> Directive | None:
    """The directive that a fence stands for; None for a plain code block.

    Raises:
        BookError: a ``:::`` block without a directive's name, or options that cannot be read.
    """
    match = DIRECTIVE.fullmatch(token.info.strip())
    at = Text(token.content, text.path, text.line + token.map[0])
    if not match:
        if token.type == "colon_fence":
            raise at.error(0, "a ':::' block needs a directive's name, as in ':::{note}'")
        return None
    parsed = parse_directive_text(_AnyDirective, match[2], token.content, validate_options=False)
    if parsed.warnings:
        raise at.error(0, f"the options of {{{match[1]}}} cannot be read: {parsed.warnings[0]}")
    body = Text("\n".join(parsed.body), text.path, at.line + 1 + parsed.body_offset)
    return Directive(match[1], match[2].strip(), dict(parsed.options), body, at)


class _AnyDirective:
    """What the parser of options asks of a directive's class."""

    option_spec = {"any": True}  # noqa: RUF012 - read by myst-parser as a class attribute
    required_arguments = 0
    optional_arguments = 1
    final_argument_whitespace = True
    has_content = True


@dataclass(frozen=True)
class Cell:
    """A cell of a chapter: Markdown text, or code with its tags."""

    node: NotebookNode
    text: Text

    @property
    def is_code(self) -> bool:
        """True for a code cell."""
        return self.node.cell_type == "code"


def read_cells(path: Path) -> list[Cell]:
    """The cells of a page; a page without code is one Markdown cell.

    Raises:
        BookError: code cells without the jupytext header that makes the page a notebook.
    """
    source = path.read_text("utf-8")
    if not is_myst_markdown_notebook(source) and "{code-cell}" in source:
        raise BookError(path, 1, "code cells need the jupytext header; copy it from another chapter")
    notebook = read_myst_markdown_notebook(source, add_source_map=True, path=path)
    lines = source.split("\n")
    return [
        Cell(node, Text(node.source, path, _first_line(lines, start, node)))
        for node, start in zip(notebook.cells, notebook.metadata["source_map"], strict=True)
    ]


def _first_line(lines: list[str], start: int, node: NotebookNode) -> int:
    """The line, from 1, where a cell's text begins: the reader strips blank lines but not its count."""
    if node.cell_type == "code":
        code = node.source.split("\n")[0].strip()
        while start < len(lines) and lines[start].strip() != code:
            start += 1
        return start + 1
    while start < len(lines) and not lines[start].strip():
        start += 1
    return start + 1
