#!/usr/bin/env python3
"""Write chapters/notebooks/*.ipynb from the chapters and the execution cache, or check that they are in step."""

import argparse
import sys
from pathlib import Path

from bookkit.book import ROOT, Book
from bookkit.context import Context
from bookkit.errors import BookError
from bookkit.in_step import differences
from bookkit.notebook import as_bytes, build_notebook


def write_notebooks(root: Path, folder: Path | None = None) -> list[Path]:
    """Write every chapter's notebook; a file that would not change is not touched.

    Args:
        root: the book's root.
        folder: where to; default ``chapters/notebooks``.

    Returns:
        The files that changed.
    """
    context = Context(Book(root))
    folder = folder or context.book.notebooks
    folder.mkdir(parents=True, exist_ok=True)
    changed = []
    for path in context.book.chapters:
        target, content = folder / f"{path.stem}.ipynb", as_bytes(build_notebook(path, context))
        if not target.is_file() or target.read_bytes() != content:
            target.write_bytes(content)
            changed.append(target)
    _remove_orphans(folder, {path.stem for path in context.book.chapters})
    return changed


def _remove_orphans(folder: Path, names: set[str]) -> None:
    """A notebook whose chapter has gone would be run and offered for ever."""
    for target in folder.glob("*.ipynb"):
        if target.stem not in names:
            target.unlink()


def main() -> int:
    """Read the command line; see --help."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=ROOT, help="the book's root (default: this checkout)")
    parser.add_argument("--out", type=Path, help="folder to write to (default: chapters/notebooks)")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a notebook is out of step")
    arguments = parser.parse_args()
    book = Book(arguments.root.resolve())
    try:
        if arguments.check:
            return _check(book, arguments.out or book.notebooks)
        changed = write_notebooks(book.root, arguments.out)
    except BookError as error:
        print(f"notebooks: FAILED\n{error}", file=sys.stderr)
        return 1
    print(f"notebooks: {len(book.chapters)} chapters, {len(changed)} notebooks changed")
    return 0


def _check(book: Book, folder: Path) -> int:
    found = differences(Context(book), folder)
    for line in found:
        print(line, file=sys.stderr)
    print(f"notebooks: {'OUT OF STEP' if found else f'{len(book.chapters)} in step with their chapters'}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
