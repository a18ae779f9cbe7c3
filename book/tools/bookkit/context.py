"""What the lowering of one chapter needs to know beside the text itself."""

import base64
import mimetypes
import re
from dataclasses import dataclass, field

from bookkit.book import Book
from bookkit.citations import Citations
from bookkit.labels import Labels
from bookkit.source import Text

GLOSSARY, BIBLIOGRAPHY, REFERENCES = "book/glossary", "book/bibliography", "book/references.bib"


@dataclass
class Context:
    """Labels, citations, glossary and addresses of a book; collects the images a cell embeds.

    Args:
        book: the book.
    """

    book: Book
    glossary: str = GLOSSARY
    bibliography: str = BIBLIOGRAPHY
    attachments: dict[str, dict[str, str]] = field(default_factory=dict)

    def __post_init__(self):
        self.labels = Labels(self.book)
        self.citations = Citations(self.book.root / REFERENCES)
        self.terms = read_terms(self.book)

    def embed(self, source: str, alt: str, text: Text) -> str:
        """Embed an image beside the chapter into the cell, and return the Markdown that shows it."""
        path = (text.path.parent / source).resolve()
        if not path.is_file():
            raise text.error(0, f"image {source} does not exist beside {text.path.name}")
        kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        self.attachments[path.name] = {kind: base64.b64encode(path.read_bytes()).decode()}
        return f"![{alt}](attachment:{path.name})"

    def take_attachments(self) -> dict[str, dict[str, str]]:
        """The images embedded since the last call."""
        taken, self.attachments = self.attachments, {}
        return taken


def read_terms(book: Book) -> dict[str, str]:
    """The terms of the glossary: lower case -> as written.

    In a Sphinx glossary a term is a line without indent; its definition is indented.
    """
    path = book.source(GLOSSARY)
    if not path.is_file():
        return {}
    blocks = re.findall(r"^(`{3,}|:{3,})\{glossary\}\n(.*?)^\1", path.read_text("utf-8"), flags=re.S | re.M)
    lines = [line for _, block in blocks for line in block.split("\n")]
    terms = [line.strip() for line in lines if line and not line[0].isspace() and not line.startswith(":")]
    return {term.split(" : ")[0].lower(): term.split(" : ")[0] for term in terms}
