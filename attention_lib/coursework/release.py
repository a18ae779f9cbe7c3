"""Makes what students and the site see of an assignment: a notebook and a page, with stubs in place of answers.

The source is ``source.md`` in the assignment's folder: Markdown, and code cells tagged ``answer`` (the solution stands
between its markers), ``check`` (shown) or ``hidden-check`` (never shown). It needs a checkout of the book, whose own
tools turn the page into a notebook.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attention_lib.coursework.model import load_assignment
from attention_lib.coursework.texts import ABOUT, HAND_IN, HAND_IN_WRITTEN, OPEN_KEY, Texts
from attention_lib.errors import OptionError

__all__ = ["BEGIN", "END", "OPEN_KEY", "Released", "cells_of", "checkout_of", "nowhere", "release", "stubbed"]

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
STUB = 'raise NotImplementedError("your code here")'
_LINE_MAGIC = "%pip install -q"


@dataclass(frozen=True)
class Released:
    """What may be published.

    Attributes:
        assignment: Its id.
        notebook: The student notebook, as the bytes of its file.
        page: The page of the site, as MyST Markdown.
    """

    assignment: str
    notebook: bytes
    page: str


def checkout_of(folder: Path) -> Path:
    """The book's root above a folder; for a course kept elsewhere, the checkout that this library runs from.

    Raises:
        OptionError: There is no checkout.
    """
    for place in (folder.resolve(), *folder.resolve().parents, *Path(__file__).resolve().parents):
        if (place / "book" / "tools" / "bookkit").is_dir() and (place / "_config.yml").is_file():
            return place
    raise OptionError(
        f"{folder} lies in no checkout of the book, which has the tools that write notebooks, nor does the library"
    )


def _bookkit(root: Path, module: str) -> Any:
    tools = str(root / "book" / "tools")
    if tools not in sys.path:
        sys.path.insert(0, tools)
    try:
        return importlib.import_module(f"bookkit.{module}")
    except ImportError as error:
        raise OptionError(f"writing notebooks needs the extra 'book' ({error}); run `make env`") from None


def stubbed(code: str) -> str:
    """A cell with every marked solution replaced by a stub of the same indent.

    Example:
        >>> print(stubbed("def f(x):\\n    ### BEGIN SOLUTION\\n    return x\\n    ### END SOLUTION"))
        def f(x):
            raise NotImplementedError("your code here")
    """
    kept: list[str] = []
    inside = False
    for line in code.split("\n"):
        word = line.strip()
        if word == BEGIN:
            if inside:
                raise OptionError(f"{BEGIN} stands twice without {END}")
            inside = True
            indent = line[: len(line) - len(line.lstrip())]
            kept += [indent + STUB] if indent else []
        elif word == END:
            inside = False
        elif not inside:
            kept.append(line)
    if inside:
        raise OptionError(f"{BEGIN} without {END}")
    return "\n".join(kept)


def cells_of(folder: Path, root: Path | None = None) -> list[Any]:
    """The cells of ``source.md``, as the book's tools read them."""
    path = folder / "source.md"
    if not path.is_file():
        raise OptionError(f"{folder} holds no source.md; an assignment's folder has source.md and checks.py")
    return _bookkit(root or checkout_of(folder), "source").read_cells(path)


def tags_of(cell: Any) -> set[str]:
    """The tags of a cell; a code cell has exactly one of answer, check, hidden-check and given."""
    return set(cell.node.metadata.get("tags", []))


def nowhere(folder: Path) -> str:
    """A sentence where the notebooks would install the library from an address that nobody has; else empty."""
    url = str(_bookkit(checkout_of(folder), "book").Book(checkout_of(folder)).repository_url)
    if not url.split("/")[-2].endswith("-"):  # no account's name ends so: the placeholder of _config.yml
        return ""
    return (
        f"the notebook installs the library from {url}, which does not exist: on Colab it would not start; set "
        "ATTENTION_REPOSITORY_URL to the address of your fork, and release again"
    )


def release(folder: Path, variant: Mapping[str, Any]) -> Released:
    """The notebook and the page of an assignment under some conventions.

    Args:
        folder: The assignment's folder, inside a checkout of the book.
        variant: Switch -> value.

    Raises:
        OptionError: The source is not complete, or the checkout has not the tools.
    """
    root = checkout_of(folder)
    assignment = load_assignment(folder)
    if not set(assignment.switches) == set(variant):
        raise OptionError(f"the conventions of {assignment.id} are {', '.join(assignment.switches)}")
    book = _bookkit(root, "book").Book(root)
    context = _bookkit(root, "context").Context(book)
    shown = [cell for cell in cells_of(folder, root) if not tags_of(cell) & {"hidden-check"}]
    for cell in shown:
        if cell.is_code and not tags_of(cell) & {"answer", "check", "given"}:
            raise cell.text.error(0, "tag this cell answer, check, given or hidden-check")
    texts = Texts(assignment, dict(variant), book)
    return Released(assignment.id, _notebook(shown, texts, context, root), _page(shown, texts))


def _notebook(cells: list[Any], texts: Texts, context: Any, root: Path) -> bytes:
    notebook, lowering = _bookkit(root, "notebook"), _bookkit(root, "lowering")
    v4 = importlib.import_module("nbformat.v4")
    install = notebook.INSTALL.format(url=texts.book.repository_url)
    chapter = f"[chapter {texts.number}]({texts.book.page_url(texts.chapter_name)})"
    made = [
        v4.new_markdown_cell(texts.opening()),
        v4.new_code_cell(install),
        v4.new_code_cell(texts.setup()),
    ]
    for cell in cells:
        if cell.is_code:
            tags = sorted(tags_of(cell))
            made.append(v4.new_code_cell(stubbed(cell.node.source), metadata={"tags": tags}))
        else:
            lowered = lowering.lower(_replaced_text(cell.text, texts.filled(cell.text.text, chapter)), context)
            made.append(v4.new_markdown_cell(lowered))
    made.append(v4.new_markdown_cell(HAND_IN if texts.assignment.checks else HAND_IN_WRITTEN))
    made.append(v4.new_code_cell("submission()", metadata={"tags": ["submission"]}))
    made[2], made[3] = made[3], made[2]  # the title before the set-up
    notebook._finish(made, False)
    whole = v4.new_notebook(cells=made, metadata=notebook.METADATA)
    return notebook.as_bytes(whole)


def _replaced_text(text: Any, new: str) -> Any:
    return type(text)(new, text.path, text.line)


def _page(cells: list[Any], texts: Texts) -> str:
    """The statement for the site: Markdown as it stands, code as plain blocks, no answers."""
    chapter = f"[chapter {texts.number}](../../{texts.chapter_name}.md)"
    parts = []
    for cell in cells:
        if cell.is_code:
            if "answer" in tags_of(cell):
                parts.append(f"```python\n{stubbed(cell.node.source)}\n```")
        else:
            parts.append(texts.filled(cell.text.text, chapter).strip())
    where = f"[Open the notebook in Colab]({texts.colab}). {ABOUT}"
    title, rest = parts[0].split("\n", 1)
    description = (
        f"{title.removeprefix('# ')}: an assignment on attention that names your mistake while you work on it."
    )
    head = f'---\nmyst:\n  html_meta:\n    description: "{description}"\n---'
    return "\n\n".join([head, title, where, rest.strip(), *parts[1:]]) + "\n"
