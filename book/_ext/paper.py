"""For paper: pictures that TeX cannot read become PDF files, and chapters keep the numbers they have on the site."""

import shutil
import subprocess

from bookkit.book import Book
from docutils import nodes
from sphinx.transforms.post_transforms.images import ImageConverter

RENDERER = "rsvg-convert"
UNNUMBERED = r"\setcounter{secnumdepth}{-1}"
NUMBERED = r"\setcounter{{secnumdepth}}{{0}}\setcounter{{chapter}}{{{}}}"


class SvgToPdf(ImageConverter):
    """Draws an SVG file as PDF with the renderer of Debian's package librsvg2-bin."""

    conversion_rules = [("image/svg+xml", "application/pdf")]  # noqa: RUF012 - Sphinx reads it from the class

    def is_available(self) -> bool:
        """True where the renderer is installed."""
        return shutil.which(RENDERER) is not None

    def convert(self, _from: str, _to: str) -> bool:
        """Draw one file.

        Args:
            _from: the SVG file.
            _to: the PDF file to write.
        """
        return subprocess.run([RENDERER, "--format=pdf", f"--output={_to}", _from], check=False).returncode == 0


def _number(app, doctree: nodes.document) -> None:
    """Tell TeX a chapter's number from its file name; the pages around the chapters have none."""
    number = Book.chapter_number(app.env.docname)
    command = NUMBERED.format(number - 1) if number else UNNUMBERED
    doctree.insert(0, nodes.raw("", command, format="latex"))


def setup(app) -> dict:
    """Register the extension."""
    app.add_post_transform(SvgToPdf)
    app.connect("doctree-read", _number)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
