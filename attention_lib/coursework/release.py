"""Makes what students and the site see of an assignment: a notebook and a page, with stubs in place of answers.

The source is ``source.md`` in the assignment's folder: Markdown, and code cells tagged ``answer`` (the solution stands
between its markers), ``check`` (shown) or ``hidden-check`` (never shown). It needs a checkout of the book, whose own
tools turn the page into a notebook.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attention_lib.coursework.model import Assignment, load_assignment
from attention_lib.coursework.variants import variant_text
from attention_lib.errors import OptionError

__all__ = ["BEGIN", "END", "OPEN_KEY", "Released", "cells_of", "checkout_of", "nowhere", "release", "stubbed"]

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
OPEN_KEY = "open"  # the course key of the notebooks that the book itself publishes
STUB = 'raise NotImplementedError("your code here")'
_PLACE = re.compile(r"@@(\w+)@@")
_LINE_MAGIC = "%pip install -q"
_UPLOAD = "https://colab.research.google.com/#upload=true"


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
    texts = _Texts(assignment, dict(variant), book)
    return Released(assignment.id, _notebook(shown, texts, context, root), _page(shown, texts))


class _Texts:
    """Fills the places in Markdown, and writes the cells that every notebook has."""

    def __init__(self, assignment: Assignment, variant: dict[str, Any], book: Any) -> None:
        self.assignment, self.variant, self.book = assignment, variant, book

    def filled(self, text: str, chapter: str) -> str:
        told = {
            "conventions": f"{variant_text(self.variant)}\n\n{_RULES}",
            "points": f"{self.assignment.points:g}",
            "minutes": str(self.assignment.minutes),
            "chapter": chapter,
            "goals": "\n".join(f"- {goal}" for goal in self.assignment.goals),
            "rubric": self.rubric(),
            **{name: str(value) for name, value in self.variant.items()},
        }

        def fill(match: re.Match[str]) -> str:
            if match[1] not in told:
                raise OptionError(f"{self.assignment.id}/source.md: @@{match[1]}@@ is not one of {', '.join(told)}")
            return told[match[1]]

        return _PLACE.sub(fill, text)

    def rubric(self) -> str:
        """The rubric without what earns the points: points for each answer."""
        rows = [f"- `{name}`: {sum(p for p, _ in parts):g} points" for name, parts in self.assignment.rubric.items()]
        return "\n".join(rows)

    @property
    def chapter_name(self) -> str:
        return f"chapters/{self.assignment.chapter}"

    @property
    def colab(self) -> str:
        owner, name = self.book.repository_url.split("/")[-2:]
        place = f"chapters/coursework/{self.assignment.id}.ipynb"
        return f"https://colab.research.google.com/github/{owner}/{name}/blob/{self.book.notebook_branch}/{place}"

    def opening(self) -> str:
        """How to open it in Colab: by the book's address only where the book's own copy has the same conventions."""
        if self.variant == self.assignment.variant(OPEN_KEY):
            return f"[Open in Colab]({self.colab})"
        return f"To work in Colab, open [colab.research.google.com]({_UPLOAD}) and upload this file."

    @property
    def number(self) -> int:
        return self.book.chapter_number(self.chapter_name)

    def setup(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self.variant.items())
        return (
            "import torch\n\nfrom attention_lib.coursework import assignment, check, submission\n\n"
            f"{_KEEP}\nassignment({self.assignment.id!r}, {options})"
        )


def _notebook(cells: list[Any], texts: _Texts, context: Any, root: Path) -> bytes:
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
    made.append(v4.new_markdown_cell(_HAND_IN if texts.assignment.checks else _HAND_IN_WRITTEN))
    made.append(v4.new_code_cell("submission()", metadata={"tags": ["submission"]}))
    made[2], made[3] = made[3], made[2]  # the title before the set-up
    notebook._finish(made, False)
    whole = v4.new_notebook(cells=made, metadata=notebook.METADATA)
    return notebook.as_bytes(whole)


def _replaced_text(text: Any, new: str) -> Any:
    return type(text)(new, text.path, text.line)


_RULES = (
    "The letters are the book's: B sequences in a batch, H heads, L queries, S keys; queries and keys are d_k wide, "
    "values d_v. Use torch, but no ready-made attention of torch or of this library: neither is there when your code "
    "is graded."
)
_KEEP = "# Tells `check` the conventions of your course. Leave it as it is."
_WHERE = "In Colab, open the folder symbol on the left to find and download it."
_HAND_IN = (
    "## Hand in\n\nThe last cell runs your definitions from a clean state, tells how many public checks they pass, and "
    f"writes one file. {_WHERE} Hand in that file, or this notebook: both are graded alike. The grader draws other "
    "inputs than the checks here do."
)
_HAND_IN_WRITTEN = (
    f"## Hand in\n\nRun every cell, then the last one: it writes one file. {_WHERE} Hand in that file, or this "
    "notebook. A person reads your answers."
)


def _page(cells: list[Any], texts: _Texts) -> str:
    """The statement for the site: Markdown as it stands, code as plain blocks, no answers."""
    chapter = f"[chapter {texts.number}](../../{texts.chapter_name}.md)"
    parts = []
    for cell in cells:
        if cell.is_code:
            if "answer" in tags_of(cell):
                parts.append(f"```python\n{stubbed(cell.node.source)}\n```")
        else:
            parts.append(texts.filled(cell.text.text, chapter).strip())
    where = f"[Open the notebook in Colab]({texts.colab}). {_ABOUT}"
    title, rest = parts[0].split("\n", 1)
    description = (
        f"{title.removeprefix('# ')}: an assignment on attention that names your mistake while you work on it."
    )
    head = f'---\nmyst:\n  html_meta:\n    description: "{description}"\n---'
    return "\n\n".join([head, title, where, rest.strip(), *parts[1:]]) + "\n"


_ABOUT = (
    "The conventions below are those of the open notebook; a course draws its own, so read yours. "
    "[Teaching with this book](../teaching.md) tells teachers how."
)


def as_plain(notebook: bytes) -> dict[str, Any]:
    """The notebook as plain json."""
    return json.loads(notebook)
