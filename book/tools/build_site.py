#!/usr/bin/env python3
"""Build the website into _build/html: run what must run, write the notebooks it offers, then Jupyter Book.

Every warning is an error. Set ATTENTION_REPOSITORY_URL (and, if the site lives elsewhere,
ATTENTION_SITE_URL) to build a fork's site.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from bookkit.book import ROOT, Book
from bookkit.errors import BookError
from bookkit.execution import settle_cache
from bookkit.offline import write_archive
from execute import execute_chapters
from notebooks import write_notebooks

# `python -m jupyter_book.cli.main` does nothing and exits 0; this is what the jupyter-book script does.
JUPYTER_BOOK = "import sys; from jupyter_book.cli.main import main; sys.exit(main())"
FLAGS = ["-W", "-n", "--keep-going"]


def build(root: Path, verbose: bool = False) -> int:
    """Build the site.

    Args:
        root: the book's root.
        verbose: show Sphinx's progress too, not only its complaints.

    Returns:
        The exit status of Jupyter Book.
    """
    start = time.perf_counter()
    settle_cache(root)
    execute_chapters(root)
    write_notebooks(root, Book(root).build / "notebooks")
    print(f"site: Sphinx reads {len(Book(root).docnames)} pages", flush=True)
    command = [sys.executable, "-c", JUPYTER_BOOK, "build", str(root), *FLAGS, *([] if verbose else ["-q"])]
    status = subprocess.run(command, cwd=root, env=os.environ | {"PYTHONUTF8": "1"}, check=False).returncode
    if status:
        # Sphinx remembers pages it has read, and would not warn about them a second time.
        shutil.rmtree(root / "_build" / ".doctrees", ignore_errors=True)
        print("site: FAILED; each WARNING above is an error, with its file and line", file=sys.stderr)
    else:
        index = root / "_build" / "html" / "index.html"
        archive = write_archive(index.parent)
        print(
            f"site: {archive.relative_to(root)}, {archive.stat().st_size / 1e6:.1f} MB, is the same site to take along"
        )
        print(f"site: done in {time.perf_counter() - start:.1f} s; open {index.relative_to(root)}")
    return status


def main() -> int:
    """Read the command line; see --help."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=ROOT, help="the book's root (default: this checkout)")
    parser.add_argument("--verbose", action="store_true", help="show Sphinx's progress")
    arguments = parser.parse_args()
    try:
        return build(arguments.root.resolve(), arguments.verbose)
    except BookError as error:
        print(f"site: FAILED\n{error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
