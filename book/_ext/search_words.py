"""Search finds the chapter that answers a question by the words in which people ask it.

Each question of ``book/questions.md`` adds its words to the index of the chapters that its answer links to, as
keywords. Nobody has to write "initialisation" into a chapter that says "start" for the search to find it.
"""

import re
from pathlib import Path

from bookkit.book import Book
from docutils import nodes
from questions_back import PAGE, questions

WORD = re.compile(r"\w{2,}")


def question_words(book: Book) -> dict[str, list[str]]:
    """For each chapter, the words of the questions it answers."""
    source = book.source(PAGE)
    found: dict[str, list[str]] = {}
    for (docname, _), asked in questions(source.read_text("utf-8") if source.is_file() else "").items():
        found.setdefault(docname, []).extend(word for question, _ in asked for word in WORD.findall(question.lower()))
    return {docname: list(dict.fromkeys(words)) for docname, words in found.items()}


def _add_words(app, doctree: nodes.document, docname: str) -> None:
    words = question_words(Book(Path(app.srcdir))).get(docname)
    if words:
        doctree.insert(0, nodes.meta("", name="keywords", content=", ".join(words)))


def setup(app) -> dict:
    """Register the extension."""
    app.connect("doctree-resolved", _add_words)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
