"""Are the committed notebooks what the chapters say? Outputs are left to nbval."""

from pathlib import Path

import nbformat
from nbformat import NotebookNode

from bookkit.context import Context
from bookkit.notebook import build_notebook

COMPARED = ("cell_type", "source", "metadata", "attachments", "id")
WAY_OUT = "edit the chapter's .md and run `make notebooks`; a notebook is never edited by hand"


def differences(context: Context, folder: Path) -> list[str]:
    """What is out of step, one line each; empty when every notebook equals its chapter.

    Args:
        context: the book.
        folder: the folder of the committed notebooks.
    """
    found = []
    chapters = context.book.chapters
    for path in chapters:
        target = folder / f"{path.stem}.ipynb"
        if not target.is_file():
            found.append(f"{target}: missing; run `make notebooks`")
            continue
        committed = nbformat.read(target, as_version=4)
        found += _compare(build_notebook(path, context, outputs=False), committed, target)
    names = {path.stem for path in chapters}
    for extra in sorted(folder.glob("*.ipynb")):
        if extra.stem not in names:
            found.append(f"{extra}: no chapter of that name in _toc.yml; remove the notebook")
    return found


def _compare(fresh: NotebookNode, committed: NotebookNode, target: Path) -> list[str]:
    if fresh.metadata != committed.metadata:
        return [f"{target}: the notebook's metadata differ; {WAY_OUT}"]
    for number, (new, old) in enumerate(zip(fresh.cells, committed.cells, strict=False), start=1):
        for key in COMPARED:
            if new.get(key) != old.get(key):
                seen = str(old.get(key)).strip().split("\n")[0][:60]
                return [f"{target}: cell {number}: {key} differs from the chapter ({seen!r}); {WAY_OUT}"]
    if len(fresh.cells) != len(committed.cells):
        return [f"{target}: {len(committed.cells)} cells, but the chapter gives {len(fresh.cells)}; {WAY_OUT}"]
    return []
