"""How numbers are distributed, drawn as outlines: a mean hides what a softmax reacts to."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from attention_lib.plot.arrays import checked, named
from attention_lib.plot.canvas import axes_at, light_grid, sheet, text_width
from attention_lib.plot.picture import Picture
from attention_lib.plot.style import SIZE, SMALL, WIDTH, Mark, mark_for, styled

LEFT, BOTTOM, ROW, BETWEEN = 50.0, 38.0, 62.0, 12.0


def histograms(
    samples: Mapping[str, Any],
    *,
    x_label: str,
    alt: str,
    bins: int | Sequence[float] = 40,
    overlaid: bool = True,
    y_label: str = "density",
) -> Picture:
    """Densities of several samples over the same bins, on top of one another or one below the other.

    Args:
        samples: name -> numbers of any shape, flattened. At most 4.
        x_label: lower case, with the unit.
        alt: what the picture shows, in words.
        bins: how many bins over the range of all samples, or their edges; every sample uses the same.
        overlaid: True draws outlines on one pair of axes; False gives each sample its own row with its own
            density axis, for widths that differ a lot.
        y_label: name of the density axis.

    Returns:
        The picture. The area of each outline is 1 when the bins cover all its numbers.

    Raises:
        ValueError: NaN or infinity, an empty sample, no or more than 4 samples, fewer than 1 bin.

    Example:
        >>> histograms({"raw": [0, 1, 3], "scaled": [0, 0.5, 1.5]}, x_label="score", alt="scaled is narrower")
        Picture: scaled is narrower
    """
    flat = {
        name: checked(values, f"samples[{name!r}]", ndim=tuple(range(0, 9))).reshape(-1)
        for name, values in named(samples, "samples", at_most=4).items()
    }
    edges = _edges(flat, bins)
    marks = {name: mark_for(name, index) for index, name in enumerate(flat)}
    rows = 1 if overlaid else len(flat)
    row_height = 2.6 * ROW if overlaid else ROW
    height = BOTTOM + rows * row_height + (rows - 1) * BETWEEN + 8
    with styled():
        figure = sheet(WIDTH, height)
        for row in range(rows):
            bottom = BOTTOM + (rows - 1 - row) * (row_height + BETWEEN)
            ax = axes_at(figure, LEFT, bottom, WIDTH - LEFT - 8, row_height)
            shown = flat if overlaid else dict([list(flat.items())[row]])
            _draw(ax, shown, edges, marks)
            ax.tick_params(labelbottom=row == rows - 1)
        ax.set_xlabel(x_label)
        middle = (BOTTOM + height) / 2 / height
        figure.text(8 / WIDTH, middle, y_label, rotation=90, ha="center", va="center", fontsize=SIZE)
    return Picture(figure, alt)


def _edges(flat: dict[str, np.ndarray], bins: int | Sequence[float]) -> np.ndarray:
    if isinstance(bins, int):
        if bins < 1:
            raise ValueError(f"bins={bins} is not at least 1")
        return np.histogram_bin_edges(np.concatenate(list(flat.values())), bins)
    edges = checked(bins, "bins", ndim=1)
    if len(edges) < 2 or (np.diff(edges) <= 0).any():
        raise ValueError(f"bins must be at least 2 rising edges, got {len(edges)} from {edges[0]:g} to {edges[-1]:g}")
    return edges


def _draw(ax: Axes, shown: dict[str, np.ndarray], edges: np.ndarray, marks: dict[str, Mark]) -> None:
    light_grid(ax)
    for name, values in shown.items():
        density, _ = np.histogram(values, edges, density=True)
        mark = marks[name]
        ax.stairs(density, edges, fill=True, color=mark.color, alpha=0.15, linewidth=0)
        ax.stairs(density, edges, color=mark.color, linewidth=1.8, linestyle=mark.dashes, label=name)
    ax.set(xlim=(edges[0], edges[-1]))
    ax.set_ylim(bottom=0)
    ax.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    ax.yaxis.set_major_locator(MaxNLocator(5 if len(shown) > 1 else 3, steps=[1, 2, 5, 10]))
    if len(shown) == 1:
        ax.text(0.995, 0.94, next(iter(shown)), transform=ax.transAxes, ha="right", va="top", fontsize=SMALL)
        return
    ax.legend(loc="lower left", bbox_to_anchor=(0, 0.97), ncols=_legend_columns(shown), fontsize=SMALL,
              handlelength=2.4, borderaxespad=0, columnspacing=1.4)  # fmt: skip


def _legend_columns(shown: dict[str, np.ndarray]) -> int:
    """As many names in a line as fit over the axes."""
    return max(1, min(len(shown), int((WIDTH - LEFT) // (max(map(text_width, shown)) + 46))))
