"""A bold word of a chapter is a term at its definition, and the glossary has it."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "book" / "tools")]

from bookkit.book import Book  # noqa: E402 - the line above makes it importable
from bookkit.context import read_terms  # noqa: E402

BOOK = Book()
BOLD = re.compile(r"\*\*([^*\n]+)\*\*")
CODE = re.compile(r"^```\{code-cell\}.*?^```$", re.MULTILINE | re.DOTALL)
# bold -> why it is not a term of the glossary's own
EXEMPT = {
    "Takeaway.": "the mark of a section's last paragraph",
    "by hand": "a warning: these numbers are not learned",
    "saturated": "the glossary has saturation",
    "may attend": "what True means",
    "blocked": "what True means elsewhere",
    "a mask belongs to the keys": "a rule",
    "ring": "the glossary has ring attention",
    "CNN": "the glossary has it under convolution",
}


def missing(text: str, terms: dict[str, str]) -> list[str]:
    """The bold words of a chapter's prose that the glossary has in neither number."""
    bold = BOLD.findall(CODE.sub("", text))
    return [word for word in bold if word not in EXEMPT and not {word.lower(), word.lower().rstrip("s")} & terms.keys()]


@pytest.mark.parametrize("path", BOOK.chapters, ids=lambda path: path.stem)
def test_every_bold_term_stands_in_the_glossary(path: Path):
    assert missing(path.read_text("utf-8"), read_terms(BOOK)) == []


def test_a_bold_word_without_an_entry_is_found():
    text = "A **head** asks, a **gadget** does not.\n\n```{code-cell} ipython3\nx = 2**n + 3**n\n```\n"
    assert missing(text, {"head": "head"}) == ["gadget"]


def test_the_glossary_is_in_order():
    terms = [term.replace("-", "") for term in read_terms(BOOK)]
    assert terms == sorted(terms)
