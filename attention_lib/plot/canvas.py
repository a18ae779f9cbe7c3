"""Figures and axes measured in points, labels that keep out of each other's way."""

import textwrap
from collections.abc import Sequence
from functools import cache
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from attention_lib.plot.style import INK, SMALL

POINTS = 72.0


def sheet(width: float, height: float) -> Figure:
    """An empty figure of that many points, known to no global state, so nothing is shown twice."""
    return Figure(figsize=(width / POINTS, height / POINTS), dpi=POINTS)


def axes_at(figure: Figure, left: float, bottom: float, width: float, height: float) -> Axes:
    """Axes whose drawing area sits exactly there, in points from the figure's lower left corner."""
    full_width, full_height = figure.get_size_inches() * POINTS
    return figure.add_axes((left / full_width, bottom / full_height, width / full_width, height / full_height))


def drawing(width: float, height: float) -> tuple[Figure, Axes]:
    """A figure with one bare axes whose data units are points: paper for a diagram."""
    figure = sheet(width, height)
    ax = axes_at(figure, 0, 0, width, height)
    ax.set(xlim=(0, width), ylim=(0, height))
    ax.set_axis_off()
    return figure, ax


def text_width(text: str, size: float = SMALL) -> float:
    """Points that the longest line of the text takes.

    Example:
        >>> text_width("abc", 10) < text_width("注意力", 10)
        True
    """
    return size * max(map(_width_in_em, text.split("\n")))


@cache
def _width_in_em(line: str) -> float:
    """Measured in the font that ships with matplotlib, wider than the fonts that browsers choose."""
    wide = sum(ord(character) > 0x2E80 for character in line)
    narrow = "".join(character for character in line if ord(character) <= 0x2E80)
    font = FontProperties(family=["DejaVu Sans"], size=100)
    return wide + text_to_path.get_text_width_height_descent(narrow, font, False)[0] / 100 if narrow else wide


def wrapped(text: str, width: int = 14) -> str:
    """The text on as few lines of at most `width` characters as its spaces allow, the lines about equally long.

    Example:
        >>> wrapped("16 heads of width 2", 18)
        '16 heads\\nof width 2'
    """
    tries = [textwrap.wrap(text, w, break_long_words=False) or [text] for w in range(width, 0, -1)]
    return "\n".join([lines for lines in tries if len(lines) == len(tries[0])][-1])


def spread(wanted: Sequence[float], heights: Sequence[float], low: float, high: float) -> np.ndarray:
    """Positions near the wanted ones, in the same order, that do not overlap.

    Args:
        wanted: centres, any order, length n.
        heights: room that each takes, length n.
        low: least end of the first label.
        high: greatest end of the last label; given up when the labels need more.

    Returns:
        Centres (n,), each neighbour at least half of both heights away.

    Example:
        >>> spread([5.0, 5.0], [2.0, 2.0], 0.0, 10.0).tolist()
        [4.0, 6.0]
    """
    order = np.argsort(wanted, kind="stable")
    tall = np.asarray(heights, dtype=float)[order]
    start = np.concatenate([[0.0], np.cumsum((tall[1:] + tall[:-1]) / 2)])
    free = np.asarray(wanted, dtype=float)[order] - start  # overlap-free means: free never falls
    upward = np.maximum.accumulate(free)
    downward = np.minimum.accumulate(free[::-1])[::-1]
    ceiling = high - tall[-1] / 2 - start[-1]
    placed = np.maximum(np.minimum((upward + downward) / 2, ceiling), low + tall[0] / 2) + start
    result = np.empty_like(placed)
    result[order] = placed
    return result


def light_grid(ax: Axes, axis: Literal["both", "x", "y"] = "both") -> None:
    """Faint lines behind the data, in ink so that they follow the page."""
    ax.set_axisbelow(True)
    ax.grid(True, axis=axis, color=INK, alpha=0.15, linewidth=0.6)
    ax.tick_params(length=3, width=0.8)
