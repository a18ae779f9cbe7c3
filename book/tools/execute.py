#!/usr/bin/env python3
"""Run every chapter once, in parallel, into the execution cache.

Chapters whose code, library and versions did not change are not run again.
"""

import argparse
import logging
import re
import sys
import time
from pathlib import Path

from bookkit.book import ROOT, Book
from bookkit.errors import BookError
from bookkit.execution import cache_path, forget_old_caches, set_environment
from bookkit.source import read_cells

READER = {"name": "myst_nb_md", "type": "plugin"}


def execute_chapters(root: Path, timeout: int = 120) -> int:
    """Bring the cache up to date.

    Args:
        root: the book's root.
        timeout: seconds that one cell may take.

    Returns:
        How many chapters were run.

    Raises:
        BookError: a cell raised; the message names file and line and carries the traceback.
    """
    from jupyter_cache import get_cache
    from jupyter_cache.executors import load_executor

    set_environment(root)
    forget_old_caches(root)
    cache = get_cache(str(cache_path(root)))
    chapters = Book(root).chapters
    keys = [cache.add_nb_to_project(str(path), read_data=READER).pk for path in chapters]
    waiting = len(cache.list_unexecuted(filter_pks=keys))
    print(f"execute: {waiting} of {len(chapters)} chapters to run", flush=True)
    if waiting:
        executor = load_executor("local-parallel", cache, _progress_logger())
        result = executor.run_and_cache(filter_pks=keys, timeout=timeout)
        if result.errored:  # a busy cache database, not the chapter: one more try settles it
            result = executor.run_and_cache(filter_pks=keys, timeout=timeout)
        _fail_on(cache, chapters, result)
    return waiting


def _progress_logger() -> logging.Logger:
    """A logger at the level at which the executor says which chapter starts and ends."""
    logger = logging.getLogger("book.execute")
    logger.setLevel(logging.INFO)
    return logger


def _fail_on(cache, chapters: list[Path], result) -> None:
    """Raise for the first chapter that did not run, with where and why."""
    for path in chapters:
        if str(path) in result.excepted:
            traceback = cache.get_project_record(str(path)).traceback or ""
            raise BookError(path, failing_line(path, traceback), _shorten(traceback))
        if str(path) in result.errored:
            raise BookError(path, 0, "the chapter could not be read or cached; see the log above")


def failing_line(path: Path, traceback: str) -> int:
    """The line that raised: of the first cell whose whole code stands in the traceback; 0 if none does."""
    text = _plain(traceback)
    for cell in read_cells(path):
        if cell.is_code and f"------------------\n{cell.node.source.strip()}\n" in text:
            inside = re.search(r"Cell In ?\[\d+\], line (\d+)", text)
            return cell.text.line + (int(inside[1]) - 1 if inside else 0)
    return 0


def _plain(traceback: str) -> str:
    """A traceback without colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", traceback)


def _shorten(traceback: str) -> str:
    """The part of nbclient's report that speaks of the chapter: the cell and its own traceback."""
    text = _plain(traceback)
    start = text.find("An error occurred while executing the following cell")
    return text[max(start, 0) :].strip()


def main() -> int:
    """Read the command line; see --help."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=ROOT, help="the book's root (default: this checkout)")
    parser.add_argument("--timeout", type=int, default=120, help="seconds one cell may take (default: 120)")
    arguments = parser.parse_args()
    start = time.perf_counter()
    try:
        execute_chapters(arguments.root.resolve(), arguments.timeout)
    except BookError as error:
        print(f"execute: FAILED\n{error}", file=sys.stderr)
        return 1
    print(f"execute: done in {time.perf_counter() - start:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
