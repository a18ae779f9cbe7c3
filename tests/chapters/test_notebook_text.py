"""What the committed notebooks say, without running them."""

import ast
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "book" / "tools")]

from bookkit.book import Book  # noqa: E402 - the line above makes it importable
from bookkit.lowering import leftovers  # noqa: E402

STEMS = [path.stem for path in Book().chapters]


@pytest.fixture(params=STEMS)
def notebook(request: pytest.FixtureRequest) -> nbformat.NotebookNode:
    """Each chapter's notebook."""
    path = Book().notebooks / f"{request.param}.ipynb"
    assert path.is_file(), f"{path.name} is missing; run `make notebooks`"
    return nbformat.read(path, as_version=4)


def test_no_myst_is_left_in_any_markdown_cell(notebook: nbformat.NotebookNode):
    markdown = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    assert len(markdown) > 3
    assert [rest for text in markdown for rest in leftovers(text)] == []
    assert not [text for text in markdown if "{code-cell}" in text or text.count(":::")]


def test_the_first_code_cell_installs_the_library_and_leaves_torch_alone(notebook: nbformat.NotebookNode):
    first = next(cell for cell in notebook.cells if cell.cell_type == "code")
    assert 'find_spec("attention_lib") is None' in first.source
    assert "torch" not in first.source
    assert first.outputs == []


def test_every_cell_was_run_and_none_failed(notebook: nbformat.NotebookNode):
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert not [out for cell in code for out in cell.outputs if out.output_type == "error"]


def test_every_chapter_has_a_guard_that_asserts(notebook: nbformat.NotebookNode):
    guards = [cell.source for cell in notebook.cells if "remove-cell" in cell.metadata.get("tags", [])]
    asserts = [node for text in guards for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Assert)]
    assert asserts


def test_nothing_names_the_machine(notebook: nbformat.NotebookNode):
    text = nbformat.writes(notebook)
    for trace in (str(ROOT), str(Path.home()), "site-packages", " at 0x"):
        assert trace not in text
