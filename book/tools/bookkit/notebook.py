"""A chapter as a notebook: plain Markdown, executed code, and a first cell that installs what is missing.

Deterministic to the byte: ids come from content, counts from order, and nothing names the machine.
"""

import hashlib
import json
import re
from collections import Counter
from pathlib import Path

from nbformat import NotebookNode, v4

from bookkit.book import Book
from bookkit.context import Context
from bookkit.errors import BookError
from bookkit.execution import cache_path
from bookkit.lowering import leftovers, lower
from bookkit.source import Cell, read_cells

FOLDED = {"remove-cell", "hide-cell"}
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
INTERACTIVE = """ class="attention-figure" data='"""  # how attention_lib.viz writes a figure; a static one has no data
INSTALL = """\
# Installs the book's library where it is missing, as on Colab; does nothing otherwise.
import importlib.util

if importlib.util.find_spec("attention_lib") is None:
    %pip install -q "attention-lib @ git+{url}" matplotlib tqdm"""


def build_notebook(path: Path, context: Context, outputs: bool = True) -> NotebookNode:
    """The notebook of a chapter.

    Args:
        path: the chapter.
        context: what the book's other pages hold.
        outputs: take the outputs from the execution cache; False leaves them empty.

    Returns:
        A notebook in format 4.5.

    Raises:
        BookError: the chapter leaves the allowed syntax, or its outputs are not in the cache.
    """
    source = read_cells(path)
    executed = iter(_executed(path, context.book) if outputs else [])
    cells = [_links(path, context), v4.new_code_cell(INSTALL.format(url=context.book.repository_url))]
    for cell in source:
        if cell.is_code:
            cells.append(_code(cell, next(executed).outputs if outputs else []))
        else:
            cells.append(_markdown(cell, context, first=len(cells) == 2))
    _finish(cells, outputs)
    return v4.new_notebook(cells=[cell for cell in cells if cell.source], metadata=METADATA)


def _links(path: Path, context: Context) -> NotebookNode:
    name = context.book.docname(path)
    return v4.new_markdown_cell(
        f"[Open in Colab]({context.book.colab_url(name)}) · "
        f"[Read this chapter on the site]({context.book.page_url(name)})"
    )


def _markdown(cell: Cell, context: Context, first: bool) -> NotebookNode:
    text = lower(cell.text, context)
    if first:
        text = _numbered_title(text, cell, context)
    rest = leftovers(text)
    if rest:
        raise cell.text.error(0, f"the lowering left {rest[0]!r} in this cell; please report it as a bug")
    node = v4.new_markdown_cell(text)
    attachments = context.take_attachments()
    if attachments:
        node.attachments = attachments
    return node


def _numbered_title(text: str, cell: Cell, context: Context) -> str:
    """The chapter's title with its number, as the site shows it."""
    number = context.book.chapter_number(context.book.docname(cell.text.path))
    title = re.search(r"^# (.*)", text, flags=re.M)
    if title is None:
        raise cell.text.error(0, "a chapter begins with its title: '# Title'")
    if re.match(r"\d", title[1]):
        raise cell.text.error(0, f"title {title[1]!r}: leave the number out, it comes from the file's name")
    return text[: title.start()] + f"# {number}. {title[1]}" + text[title.end() :]


def _code(cell: Cell, outputs: list[NotebookNode]) -> NotebookNode:
    tags = list(cell.node.metadata.get("tags", []))
    node = v4.new_code_cell(cell.node.source, metadata={"tags": tags} if tags else {})
    if FOLDED & set(tags):
        node.metadata["jupyter"] = {"source_hidden": True}
        node.metadata["cellView"] = "form"  # Colab's word for the same
    node.outputs = _merge_streams([_clean(output, cell) for output in outputs])
    return node


def _merge_streams(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Prints in a row as one output: where the kernel cuts them depends on the machine's speed."""
    merged: list[NotebookNode] = []
    for output in outputs:
        if output.output_type == "stream" and merged and merged[-1].output_type == "stream":
            merged[-1].text += output.text
        else:
            merged.append(output)
    return merged


def _clean(output: NotebookNode, cell: Cell) -> NotebookNode:
    """An output that every machine repeats: one picture a figure, no counters, nothing on stderr."""
    if output.get("name") == "stderr":
        raise cell.text.error(0, f"the cell writes to stderr: {output.text.strip()[:200]!r}; remove its cause")
    data = output.get("data", {})
    if "image/png" in data and "text/html" in data:
        _use_outside_the_site(data)
    if output.get("metadata") and "data" in output:
        output["metadata"] = {key: value for key, value in output.metadata.items() if key in data}
    return output


def _use_outside_the_site(data: dict) -> None:
    """A static figure is PNG only, its SVG stays on the site; an interactive one brings its own script along."""
    if INTERACTIVE in data["text/html"]:
        from attention_lib.viz.figure import with_script  # brings torch, so only where it is needed

        data["text/html"] = with_script(data["text/html"])
    else:
        del data["text/html"]


def _executed(path: Path, book: Book) -> list[NotebookNode]:
    """The code cells of a chapter with the outputs of the last execution."""
    from jupyter_cache import get_cache
    from myst_nb.core.read import myst_nb_reader_plugin

    cache = get_cache(str(cache_path(book.root)))
    notebook = myst_nb_reader_plugin(str(path))
    try:
        _, merged = cache.merge_match_into_notebook(notebook)
    except KeyError:
        raise BookError(path, 0, "not executed yet; run book/tools/execute.py first") from None
    return [cell for cell in merged.cells if cell.cell_type == "code"]


def _finish(cells: list[NotebookNode], executed: bool) -> None:
    """Give cells their ids - from their content, so that they stay when cells around them change - and counts."""
    seen: Counter[str] = Counter()
    count = 0
    for cell in cells:
        content = f"{cell.cell_type}\n{cell.source}"
        seen[content] += 1
        cell.id = hashlib.sha256(f"{content}\n{seen[content]}".encode()).hexdigest()[:12]
        if cell.cell_type == "code":
            count += 1
            cell.execution_count = count if executed else None
            for output in cell.outputs:
                if output.output_type == "execute_result":
                    output.execution_count = count


def as_bytes(notebook: NotebookNode) -> bytes:
    """The notebook's file: sorted keys, one-space indent, lines as lists, a newline at the end."""
    from nbformat.v4.rwbase import split_lines, strip_transient

    ready = split_lines(strip_transient(v4.upgrade(notebook)))
    text = json.dumps(ready, ensure_ascii=False, indent=1, sort_keys=True, separators=(",", ": "))
    return (text + "\n").encode()
