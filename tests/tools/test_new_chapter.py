"""``make new-chapter`` gives a chapter that the notebook builder accepts, at its place in the contents."""

from pathlib import Path

import pytest
from bookkit.book import Book
from bookkit.context import Context
from bookkit.notebook import build_notebook
from new_chapter import new_chapter


def test_a_new_chapter_stands_in_order_and_lowers(small_book: Path):
    path = new_chapter(small_book, "05_soft_max")
    book = Book(small_book)
    assert [chapter.stem for chapter in book.chapters] == ["02_every_construct", "05_soft_max", "07_second"]
    title = build_notebook(path, Context(book), outputs=False).cells[2].source
    assert title.startswith("# 5. Soft max")


@pytest.mark.parametrize(
    ("name", "message"), [("softmax", "is not two digits"), ("07_second", "exists already"), ("", "NAME=''")]
)
def test_a_bad_name_says_what_to_write(small_book: Path, name: str, message: str):
    with pytest.raises(SystemExit, match=message):
        new_chapter(small_book, name)
