"""For paper: pictures that TeX cannot read become PDF files beside it."""

import shutil
import subprocess

from sphinx.transforms.post_transforms.images import ImageConverter

RENDERER = "rsvg-convert"


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


def setup(app) -> dict:
    """Register the extension."""
    app.add_post_transform(SvgToPdf)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
