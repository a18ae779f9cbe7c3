"""A notebook edited by hand is caught, and so is one without a chapter."""

from pathlib import Path

import nbformat
import pytest
from bookkit.book import Book
from bookkit.context import Context
from bookkit.in_step import differences
from bookkit.notebook import as_bytes, build_notebook


@pytest.fixture
def context(small_book: Path) -> Context:
    """A book whose notebooks are written and in step."""
    context = Context(Book(small_book))
    context.book.notebooks.mkdir(parents=True)
    for path in context.book.chapters:
        notebook = build_notebook(path, context, outputs=False)
        (context.book.notebooks / f"{path.stem}.ipynb").write_bytes(as_bytes(notebook))
    return context


def edit(context: Context, change) -> list[str]:
    """Change the second chapter's notebook by hand and compare."""
    target = context.book.notebooks / "07_second.ipynb"
    notebook = nbformat.read(target, as_version=4)
    change(notebook)
    nbformat.write(notebook, target)
    return differences(context, context.book.notebooks)


def test_fresh_notebooks_are_in_step(context: Context):
    assert differences(context, context.book.notebooks) == []


def test_an_edited_cell_is_named(context: Context):
    [found] = edit(context, lambda notebook: notebook.cells[-1].update(source="[1, 2]"))
    assert "07_second.ipynb: cell 4: source differs" in found
    assert "make notebooks" in found


def test_a_changed_tag_is_named(context: Context):
    [found] = edit(context, lambda notebook: notebook.cells[-1].metadata.update(tags=["nbval-skip"]))
    assert "cell 4: metadata differs" in found


def test_an_added_cell_is_named(context: Context):
    [found] = edit(context, lambda notebook: notebook.cells.append(nbformat.v4.new_code_cell("1")))
    assert "5 cells, but the chapter gives 4" in found


def test_outputs_are_not_compared(context: Context):
    output = nbformat.v4.new_output("stream", text="anything")
    assert edit(context, lambda notebook: notebook.cells[-1].outputs.append(output)) == []


def test_missing_and_orphaned_notebooks_are_named(context: Context):
    (context.book.notebooks / "07_second.ipynb").rename(context.book.notebooks / "08_gone.ipynb")
    missing, orphan = differences(context, context.book.notebooks)
    assert "07_second.ipynb: missing" in missing
    assert "08_gone.ipynb: no chapter of that name" in orphan
