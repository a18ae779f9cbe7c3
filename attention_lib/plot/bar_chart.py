"""One number per name as a horizontal bar, so that names and numbers are read without turning the head."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from attention_lib.plot.arrays import checked, same_length
from attention_lib.plot.canvas import axes_at, light_grid, sheet, text_width, wrapped
from attention_lib.plot.picture import Picture
from attention_lib.plot.style import INK, PALETTE, SIZE, SMALL, WIDTH, styled

BOTTOM, STEP = 38.0, 26.0


def bars(
    values: Any,
    *,
    labels: Sequence[str],
    x_label: str,
    alt: str,
    y_label: str = "",
    ranges: tuple[Any, Any] | None = None,
    reference: Mapping[str, Any] | None = None,
    value_format: str = ".2f",
) -> Picture:
    """Horizontal bars from 0, the first on top, each with its number and, if known, its spread.

    Args:
        values: (n,) numbers.
        labels: n names.
        x_label: what the numbers are, lower case, with the unit.
        alt: what the picture shows, in words.
        y_label: what the names are.
        ranges: (lowest, highest), each (n,), drawn as a thin line over the bar.
        reference: name -> number of vertical lines to compare with, such as {"chance": 0.125}.
        value_format: how the numbers are written.

    Returns:
        The picture.

    Raises:
        ValueError: lengths that differ, NaN or infinity, or a range that does not hold its value.

    Example:
        >>> bars([0.5, 1.0], labels=["1 head", "2 heads"], x_label="accuracy", alt="two heads are right")
        Picture: two heads are right
    """
    lengths = checked(values, "values", ndim=1)
    same_length(lengths, labels, ("values", "labels"))
    spans = _spans(lengths, ranges)
    levels = {str(k): float(checked(v, f"reference[{k!r}]", ndim=0)) for k, v in (reference or {}).items()}
    names = [wrapped(str(label), 18) for label in labels]
    left = max(map(text_width, names)) + 8 + (SIZE + 6 if y_label else 0)
    height = BOTTOM + STEP * len(names) + (16 if levels else 4)
    with styled():
        figure = sheet(WIDTH, height)
        ax = axes_at(figure, left, BOTTOM, WIDTH - left - 40, STEP * len(names))
        _draw(ax, lengths, spans, value_format)
        ax.set_yticks(range(len(names)), names)
        ax.set(xlabel=x_label, ylabel=y_label, ylim=(len(names) - 0.5, -0.5))
        for name, level in levels.items():
            ax.axvline(level, color=INK, linewidth=1.1, linestyle=(0, (2, 2)))
            ax.annotate(name, (level, 1), (0, 3), xycoords=("data", "axes fraction"), textcoords="offset points",
                        ha="center", fontsize=SMALL)  # fmt: skip
    return Picture(figure, alt)


def _spans(values: np.ndarray, ranges: tuple[Any, Any] | None) -> np.ndarray:
    """(2, n) lowest and highest; the values themselves when there is no range."""
    if ranges is None:
        return np.stack([values, values])
    if len(ranges) != 2:
        raise ValueError(f"ranges must be a pair (lowest, highest), got {len(ranges)} entries")
    low, high = (checked(part, f"ranges[{i}]", ndim=1) for i, part in enumerate(ranges))
    for index, part in enumerate((low, high)):
        same_length(values, part, ("values", f"ranges[{index}]"))
    outside = np.flatnonzero((low > values) | (high < values))
    if outside.size:
        i = int(outside[0])
        raise ValueError(f"values[{i}]={values[i]:g} lies outside its range from {low[i]:g} to {high[i]:g}")
    return np.stack([low, high])


def _draw(ax: Axes, values: np.ndarray, spans: np.ndarray, value_format: str) -> None:
    rows = np.arange(len(values))
    light_grid(ax, "x")
    ax.barh(rows, values, height=0.62, color=PALETTE["blue"])
    if (spans[0] < spans[1]).any():
        ax.hlines(rows, spans[0], spans[1], color=INK, linewidth=1.4)
        ax.plot(np.concatenate([spans[0], spans[1]]), np.tile(rows, 2), "|", color=INK, markersize=7)
    for row, value, (low, high) in zip(rows, values, spans.T, strict=True):
        end = max(high, 0) if value >= 0 else min(low, 0)
        ax.annotate(format(value, value_format).replace("-", "−"), (end, row), (5 if value >= 0 else -5, 0),
                    textcoords="offset points", ha="left" if value >= 0 else "right", va="center",
                    fontsize=SMALL)  # fmt: skip
    low, high = min(0.0, float(spans[0].min())), max(0.0, float(spans[1].max()))
    ax.set_xlim(low - 0.2 * (high - low) * (low < 0), high + 0.02 * (high - low) or 1.0)  # numbers left of 0 need room
    ax.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    ax.axvline(0, color=INK, linewidth=0.8)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0, pad=5)
