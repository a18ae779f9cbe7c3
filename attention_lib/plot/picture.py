"""A figure together with its words: what every plot function returns and a notebook shows."""

import io
import os
from typing import Any

from matplotlib.figure import Figure

from attention_lib.plot.style import styled
from attention_lib.plot.svg import inline_svg

DPI = 110


class Picture:
    """A drawn figure and the text that replaces it for whoever does not see it.

    A notebook shows a PNG on white. With the environment variable ATTENTION_FIGURES=svg (the site's build sets it)
    an inline SVG comes along, transparent and in the ink of the page, right in light and in dark mode.

    Args:
        figure: a matplotlib figure.
        alt: what the picture shows, in a sentence or two.

    Raises:
        ValueError: when `alt` is empty or not text.

    Example:
        >>> Picture(Figure(figsize=(1, 1)), "an empty square")
        Picture: an empty square
    """

    def __init__(self, figure: Figure, alt: str) -> None:
        if not isinstance(alt, str) or not alt.strip():
            raise ValueError(f"alt={alt!r} is empty; say in a sentence what the picture shows")
        self.figure = figure
        self.alt = " ".join(alt.split())

    def __repr__(self) -> str:
        return f"Picture: {self.alt}"

    def png(self) -> bytes:
        """The picture as PNG on white, the same bytes at every call."""
        return self._saved("png", dpi=DPI, facecolor="white", metadata={"Software": None})

    def svg(self) -> str:
        """The picture as one inline `<svg>` element, the same text at every call."""
        source = self._saved("svg", transparent=True, metadata={"Date": None})
        return inline_svg(source.decode(), self.alt)

    def html(self) -> str:
        """The inline SVG in the `<figure class="attention-figure">` that the site's style sheet knows."""
        return f'<figure class="attention-figure">{self.svg()}</figure>'

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict, dict]:
        data: dict[str, Any] = {"text/plain": repr(self), "image/png": self.png()}
        if os.environ.get("ATTENTION_FIGURES") == "svg":
            data["text/html"] = self.html()
        return data, {"image/png": {"alt": self.alt}}

    def _saved(self, kind: str, **options: Any) -> bytes:
        buffer = io.BytesIO()
        with styled():
            self.figure.savefig(buffer, format=kind, bbox_inches="tight", pad_inches=0.05, **options)
        return buffer.getvalue()
