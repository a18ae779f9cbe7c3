"""The one look of every figure: colours that hold on white and on dark paper, marks that work without colour.

Text is always ink, never a palette colour: the palette passes 3:1 (enough for marks), text needs 4.5:1.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import matplotlib
from matplotlib.colors import Colormap, LinearSegmentedColormap, to_rgb

INK = "#212529"
"""Text, axes, ticks. Also the sentinel that the SVG writer turns into currentColor: use it for nothing else."""

PALETTE = {"blue": "#0072B2", "vermillion": "#D55E00", "green": "#009E73", "purple": "#CC79A7"}
"""The four Okabe-Ito colours, unchanged, that pass 3:1 on white and on the dark theme's background."""

ROLES = {
    "query": PALETTE["blue"],
    "key": PALETTE["vermillion"],
    "value": PALETTE["green"],
    "weights": PALETTE["purple"],
    "plain": INK,
}
"""The same colour is the same role in every chapter. "plain" is anything without a role."""

WEIGHTS_MAP: Colormap = LinearSegmentedColormap.from_list(
    "attention-weights", ["#f6ecf3", "#e3b3cf", "#cc79a7", "#9c4478", "#64204a"]
)
"""Weights, 0 to the largest: tints of the weights' purple, the luminance falls all the way."""

SIGNED_MAP: Colormap = LinearSegmentedColormap.from_list(
    "attention-signed", ["#7d3300", "#d55e00", "#f4c39f", "#f2f2f2", "#9fcbe6", "#0072b2", "#003f66"]
)
"""Scores: vermillion below zero, near white at zero, blue above."""

WIDTH = 345.0
"""Points that a full-width figure takes: on a 360 px telephone the text shrinks to no less than 9 px."""

SIZE, SMALL = 11.0, 10.0
"""Points: axis labels and names; tick labels and notes."""


@dataclass(frozen=True)
class Mark:
    """How one series is drawn: a colour, and a marker and dashes that tell it apart without the colour."""

    color: str
    marker: str
    dashes: Any


MARKS = (
    Mark(PALETTE["blue"], "o", "-"),
    Mark(PALETTE["vermillion"], "s", (0, (5, 2))),
    Mark(PALETTE["green"], "^", (0, (6, 2, 1.5, 2))),
    Mark(PALETTE["purple"], "D", (0, (1.5, 1.5))),
    Mark(INK, "v", (0, (8, 2))),
    Mark(PALETTE["blue"], "P", (0, (3, 1.5, 1, 1.5, 1, 1.5))),
    Mark(PALETTE["vermillion"], "X", (0, (10, 2, 2, 2))),
    Mark(PALETTE["green"], "*", (0, (2, 3))),
)

RC: dict[str, Any] = {
    "font.family": ["DejaVu Sans"],
    "font.size": SMALL,
    "axes.labelsize": SIZE,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.unicode_minus": True,
    "figure.facecolor": "white",
    "hatch.linewidth": 0.6,
    "legend.frameon": False,
    "legend.labelcolor": INK,
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
    "savefig.facecolor": "white",
    "svg.fonttype": "none",
    "svg.hashsalt": "attention",
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
}

CHINESE_FONTS = ("Noto Sans CJK SC", "Noto Sans SC", "Source Han Sans SC", "PingFang SC", "Microsoft YaHei")


@contextmanager
def styled() -> Iterator[None]:
    """Matplotlib's defaults plus this style, whatever the reader's own settings; they come back afterwards.

    Example:
        >>> with styled():
        ...     matplotlib.rcParams["svg.fonttype"]
        'none'
    """
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(cast(Any, RC))
        matplotlib.rcParams["font.family"] = [*RC["font.family"], *_chinese_font()]
        yield


def _chinese_font() -> list[str]:
    """The first installed font with Chinese characters, or none (naming a missing font would print warnings)."""
    from matplotlib.font_manager import fontManager

    installed = {entry.name for entry in fontManager.ttflist}
    return [name for name in CHINESE_FONTS if name in installed][:1]


def luminance(color: Any) -> float:
    """Relative luminance of WCAG 2: 0 for black, 1 for white.

    Args:
        color: anything matplotlib reads as a colour; its opacity is ignored.

    Returns:
        A float from 0 to 1.

    Example:
        >>> luminance("white"), luminance("black")
        (1.0, 0.0)
    """
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(color)]
    return round(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2], 6)


def contrast(first: Any, second: Any) -> float:
    """Contrast ratio of WCAG 2, from 1 (the same luminance) to 21 (black on white).

    Args:
        first: a colour.
        second: a colour; the order does not matter.

    Returns:
        (lighter + 0.05) / (darker + 0.05).

    Example:
        >>> round(contrast("black", "white"), 1)
        21.0
    """
    darker, lighter = sorted((luminance(first), luminance(second)))
    return (lighter + 0.05) / (darker + 0.05)


def text_on(color: Any) -> str:
    """Black or white, whichever reads better on `color`; always at least 4.5:1.

    Example:
        >>> text_on("#f6ecf3"), text_on("#64204a")
        ('#000000', '#ffffff')
    """
    return max(("#000000", "#ffffff"), key=lambda text: contrast(text, color))


def role_color(role: str) -> str:
    """The colour of a role.

    Args:
        role: "query", "key", "value", "weights" or "plain".

    Raises:
        ValueError: for any other role.

    Example:
        >>> role_color("query")
        '#0072B2'
    """
    if role not in ROLES:
        raise ValueError(f"role={role!r} is not known; choose one of {', '.join(ROLES)}")
    return ROLES[role]


def mark_for(name: str, index: int) -> Mark:
    """The mark of a series: a role's colour when the series is named after a role, else the next one in line.

    Example:
        >>> mark_for("LSTM", 1).marker, mark_for("query", 1).color
        ('s', '#0072B2')
    """
    mark = MARKS[index % len(MARKS)]
    return Mark(ROLES[name], mark.marker, mark.dashes) if name in ROLES else mark
