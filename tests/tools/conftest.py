"""The small book as a fixture, and the book's tools on the path."""

import sys
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).resolve().parents[2] / "book" / "tools")]


@pytest.fixture
def small_book(tmp_path: Path) -> Path:
    """The root of a book with one chapter that uses every allowed construct, and a second one."""
    from small_book import copy_small_book

    return copy_small_book(tmp_path / "book")
