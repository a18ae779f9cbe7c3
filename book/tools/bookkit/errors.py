"""The one error of the book's tools: it always says which file and line to open."""

from pathlib import Path


class BookError(Exception):
    """A fault in the book's sources, reported as ``file:line: what is wrong and the way out``.

    Args:
        path: the file to open.
        line: its line, counted from 1; 0 when the whole file is meant.
        message: what is wrong, and what to write instead.
    """

    def __init__(self, path: Path | str, line: int, message: str):
        self.path, self.line = str(path), line
        super().__init__(f"{path}:{line}: {message}" if line else f"{path}: {message}")
