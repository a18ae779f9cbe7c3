"""Curves with their names at their ends, and a band where there are several seeds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, NullLocator

from attention_lib.plot.arrays import checked, named, same_length
from attention_lib.plot.canvas import POINTS, axes_at, light_grid, sheet, spread, text_width, wrapped
from attention_lib.plot.picture import Picture
from attention_lib.plot.style import INK, MARKS, SMALL, Mark, mark_for, styled

LEFT, BOTTOM, TOP = 50.0, 38.0, 8.0
GAP = 14.0


@dataclass(frozen=True)
class Curve:
    """One series ready to draw: x and middle (n,), low and high (n,) or None when there is one run."""

    name: str
    mark: Mark
    x: np.ndarray
    middle: np.ndarray
    low: np.ndarray | None
    high: np.ndarray | None


def lines(
    series: Mapping[str, Any],
    *,
    x_label: str,
    y_label: str,
    alt: str,
    x_log: bool = False,
    y_log: bool = False,
    middle: str = "median",
    reference: Mapping[str, Any] | None = None,
    y_range: tuple[float, float] | None = None,
    figsize: tuple[float, float] = (4.8, 3.0),
) -> Picture:
    """Curves of y against x, each named at its right end; several seeds become a line in a band.

    Args:
        series: name -> (x, y) with x (n,) and y (n,), or y (seeds, n): then the band runs from the smallest to
            the largest seed. At most 8. A series named "query", "key", "value" or "weights" takes that colour.
        x_label: lower case, with the unit.
        y_label: lower case, with the unit.
        alt: what the picture shows, in words.
        x_log: logarithmic x axis; with at most 8 different x they are the ticks.
        y_log: logarithmic y axis.
        middle: "median" or "mean" of the seeds, the line inside the band.
        reference: name -> y of horizontal lines to compare with, such as {"chance": 0.125}.
        y_range: (lowest, highest) y shown; None fits the data.
        figsize: width and height in inches, names included.

    Returns:
        The picture.

    Raises:
        ValueError: x and y of different length, NaN or infinity, a wrong number of axes, no or more than 8 series,
            an unknown `middle`, or a value of 0 or below on a logarithmic axis.

    Example:
        >>> lines({"a": ([1, 2], [3, 5])}, x_label="step", y_label="loss", alt="loss grows from 3 to 5")
        Picture: loss grows from 3 to 5
    """
    curves = [
        _curve(name, pair, index, middle)
        for index, (name, pair) in enumerate(named(series, "series", at_most=len(MARKS)).items())
    ]
    levels = {str(name): float(checked(y, f"reference[{name!r}]", ndim=0)) for name, y in (reference or {}).items()}
    _refuse_nonpositive(curves, levels, x_log, y_log)
    width, height = figsize[0] * POINTS, figsize[1] * POINTS
    room = GAP + 4 + max(text_width(wrapped(name)) for name in [*(c.name for c in curves), *levels])
    with styled():
        figure = sheet(width, height)
        ax = axes_at(figure, LEFT, BOTTOM, width - LEFT - room, height - BOTTOM - TOP)
        ax.set(xlabel=x_label, ylabel=y_label)
        light_grid(ax)
        for curve in curves:
            _draw(ax, curve)
        for level in levels.values():
            ax.axhline(level, color=INK, linewidth=1.1, linestyle=(0, (2, 2)), zorder=1.5)
        _scale(ax, curves, x_log, y_log, y_range)
        _name_ends(ax, curves, levels)
    return Picture(figure, alt)


def _curve(name: str, pair: Any, index: int, middle: str) -> Curve:
    if middle not in ("median", "mean"):
        raise ValueError(f"middle={middle!r} is not known; choose 'median' or 'mean'")
    if not isinstance(pair, list | tuple) or len(pair) != 2:
        raise ValueError(f"series[{name!r}] must be a pair (x, y), got {type(pair).__name__}")
    x = checked(pair[0], f"x of series[{name!r}]", ndim=1)
    y = checked(pair[1], f"y of series[{name!r}]", ndim=(1, 2))  # (n,) or (seeds, n)
    same_length(x, y.T, (f"x of series[{name!r}]", f"y of series[{name!r}]"))
    mark = mark_for(name, index)
    if y.ndim == 1 or len(y) == 1:
        return Curve(name, mark, x, y.reshape(-1), None, None)
    centre = np.median(y, axis=0) if middle == "median" else y.mean(axis=0)
    return Curve(name, mark, x, centre, y.min(axis=0), y.max(axis=0))


def _refuse_nonpositive(curves: list[Curve], levels: dict[str, float], x_log: bool, y_log: bool) -> None:
    for curve in curves:
        least = curve.middle if curve.low is None else curve.low
        for flag, axis, smallest in ((x_log, "x", curve.x.min()), (y_log, "y", least.min())):
            if flag and smallest <= 0:
                raise ValueError(
                    f"{axis}_log=True needs {axis} above 0, but {axis} of series[{curve.name!r}] holds {smallest:g}"
                )
    for name, level in levels.items():
        if y_log and level <= 0:
            raise ValueError(f"y_log=True needs y above 0, but reference[{name!r}] is {level:g}")


def _draw(ax: Axes, curve: Curve) -> None:
    """The band, then the line with about eight markers on it."""
    color, every = curve.mark.color, max(1, round(len(curve.x) / 8))
    if curve.low is not None and curve.high is not None:
        ax.fill_between(curve.x, curve.low, curve.high, color=color, alpha=0.2, linewidth=0)
    ax.plot(curve.x, curve.middle, color=color, linestyle=curve.mark.dashes, marker=curve.mark.marker, markevery=every)


def _scale(ax: Axes, curves: list[Curve], x_log: bool, y_log: bool, y_range: tuple[float, float] | None) -> None:
    ax.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    ax.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    if x_log:
        ax.set_xscale("log")
        ticks = np.unique(np.concatenate([curve.x for curve in curves]))
        if len(ticks) <= 8:
            ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        ax.xaxis.set_minor_formatter(NullFormatter())
        ax.xaxis.set_minor_locator(NullLocator())
    if y_log:
        ax.set_yscale("log")
        ax.yaxis.set_major_locator(LogLocator(numticks=6))
        ax.yaxis.set_minor_locator(NullLocator())
    if y_range is not None:
        ax.set_ylim(*y_range)


def _name_ends(ax: Axes, curves: list[Curve], levels: dict[str, float]) -> None:
    """Names in ink to the right, each joined to its line by a thread of the line's colour."""
    right = ax.get_xlim()[1]
    ends = [(c.name, c.mark.color, c.x[-1], c.middle[-1]) for c in curves]
    ends += [(name, INK, right, level) for name, level in levels.items()]
    ax.set(xlim=ax.get_xlim(), ylim=ax.get_ylim())
    tall = ax.get_window_extent().height
    to_axes = ax.transData + ax.transAxes.inverted()
    points = [to_axes.transform((x, y)) for _, _, x, y in ends]
    texts = [wrapped(name) for name, *_ in ends]
    heights = [SMALL * (1.25 + 1.15 * text.count("\n")) for text in texts]
    placed = spread([min(max(p[1], 0), 1) * tall for p in points], heights, -4, tall + 6) / tall
    step = GAP / ax.get_window_extent().width
    for text, (_, color, *_), point, y in zip(texts, ends, points, placed, strict=True):
        ax.plot(
            [point[0], 1, 1 + step], [point[1], point[1], y], transform=ax.transAxes, clip_on=False,
            color=color, linewidth=0.8, alpha=0.8,
        )  # fmt: skip
        ax.text(1 + step + 3 / ax.get_window_extent().width, y, text, transform=ax.transAxes, va="center",
                fontsize=SMALL, linespacing=1.1)  # fmt: skip
