"""The picture of a page in a chat or a feed: its title, its question, and a map of attention weights.

The map is computed, not decorative: causal softmax weights of random queries and keys, seeded by the page's
name, so that every page has its own and two builds have the same.
"""

import hashlib
import io
import textwrap
from pathlib import Path

import numpy as np
from bookkit.book import Book

SIZE = (1200, 630)
TOKENS = 9
PAPER, INK, FAINT, BLUE = "#ffffff", "#1a1a1a", "#5a5a5a", "#0072b2"
COLOURS = 64


def draw_card(book: Book, docname: str, title: str, description: str) -> Path:
    """The card of one page, drawn unless it is there already.

    Args:
        book: the book.
        docname: the page.
        title: its title, without a number.
        description: one or two sentences.

    Returns:
        A PNG file of 1200 x 630 in the build folder.
    """
    code = Path(__file__).read_bytes()
    key = hashlib.sha256(b"\0".join([code, docname.encode(), title.encode(), description.encode()])).hexdigest()[:8]
    folder = book.build / "cards"
    stem = docname.replace("/", "-")
    path = folder / f"{stem}-{key}.png"
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob(f"{stem}-????????.png"):
            old.unlink()
        number = book.chapter_number(docname)
        kicker = f"{book.config['title']} · chapter {number}" if number else book.config["title"]
        path.write_bytes(_draw(kicker, title, description, _weights(docname)))
    return path


def _weights(name: str) -> np.ndarray:
    """Causal attention weights of random queries and keys."""
    random = np.random.default_rng(int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big"))
    query, key = random.standard_normal((2, TOKENS, 4))
    scores = np.where(np.tri(TOKENS, dtype=bool), query @ key.T / 2.0, -np.inf)  # (L, S), d_k = 4
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def _draw(kicker: str, title: str, description: str, weights: np.ndarray) -> bytes:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(SIZE[0] / 100, SIZE[1] / 100), dpi=100, facecolor=PAPER)
    FigureCanvasAgg(figure)
    sheet = figure.add_axes((0, 0, 1, 1), xlim=(0, SIZE[0]), ylim=(SIZE[1], 0))
    sheet.axis("off")
    sheet.text(70, 96, kicker, fontsize=19, color=FAINT, va="center")
    title_lines = textwrap.wrap(title, 16)[:3]
    sheet.text(70, 150, "\n".join(title_lines), fontsize=41, weight="bold", color=INK, va="top", linespacing=1.25)
    words = textwrap.wrap(description, 42)
    kept = words[: 8 - 2 * len(title_lines)]
    text = "\n".join(kept) + (" …" if len(kept) < len(words) else "")
    sheet.text(70, 190 + 74 * len(title_lines), text, fontsize=20, color=INK, va="top", linespacing=1.45)
    _map(figure, weights)
    return _compress(figure)


def _map(figure, weights: np.ndarray) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    side = 400
    box = ((SIZE[0] - side - 70) / SIZE[0], (SIZE[1] - side) / 2 / SIZE[1], side / SIZE[0], side / SIZE[1])
    ax = figure.add_axes(box)
    ax.pcolormesh(
        np.ma.masked_equal(weights[::-1], 0.0),
        cmap=LinearSegmentedColormap.from_list("weights", ["#e3eef6", BLUE]),
        edgecolors=PAPER,
        linewidth=4,
    )
    ax.axis("off")


def _compress(figure) -> bytes:
    """A PNG of few colours: a card weighs some 15 kB instead of 60."""
    from PIL import Image

    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", facecolor=PAPER)
    small = io.BytesIO()
    Image.open(drawn).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(small, "PNG", optimize=True)
    return small.getvalue()
