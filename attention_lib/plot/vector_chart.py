"""Vectors of the plane as arrows from the origin: a query and the keys it is compared with."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from attention_lib.plot.arrays import checked, named
from attention_lib.plot.canvas import axes_at, light_grid, sheet, spread, text_width
from attention_lib.plot.picture import Picture
from attention_lib.plot.style import INK, SIZE, role_color, styled

SIDE = 250.0
"""Points of the longer side of the drawing area."""

DASHES = {"query": "-", "key": (0, (5, 1.5)), "value": (0, (6, 2, 1.5, 2)), "weights": (0, (1.5, 1.5)), "plain": "-"}


def vectors(
    named_vectors: Mapping[str, Any],
    *,
    alt: str,
    roles: Mapping[str, str] | None = None,
    x_label: str = "dimension 1",
    y_label: str = "dimension 2",
) -> Picture:
    """Arrows from the origin to points of the plane, one unit equally long on both axes.

    Args:
        named_vectors: name -> (2,); the name stands at the tip.
        alt: what the picture shows, in words.
        roles: name -> "query", "key", "value", "weights" or "plain", for colour and dashes. A name without a
            role that is a role's own name or begins with one ("key 2") takes it; any other is "plain".
        x_label: name of the first axis.
        y_label: name of the second axis.

    Returns:
        The picture.

    Raises:
        ValueError: a vector that is not 2 finite numbers, an unknown role, or a role for a name that is not drawn.

    Example:
        >>> vectors({"query": [2, 1], "key 1": [1, 1]}, alt="the query and a key 18 degrees apart")
        Picture: the query and a key 18 degrees apart
    """
    arrows = {name: _two(vector, name) for name, vector in named(named_vectors, "named_vectors").items()}
    extra = sorted(set(roles or {}) - set(arrows))
    if extra:
        raise ValueError(f"roles names {extra[0]!r}, but named_vectors holds only {', '.join(arrows)}")
    kinds = {name: (roles or {}).get(name, _role_of(name)) for name in arrows}
    colors = {name: role_color(kind) for name, kind in kinds.items()}
    low, high = _frame(np.array(list(arrows.values())))
    unit = SIDE / float((high - low).max())  # points for one unit
    wide, tall = (high - low) * unit
    with styled():
        figure = sheet(wide + 50, tall + 40)
        ax = axes_at(figure, 50, 40, wide, tall)
        ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xlabel=x_label, ylabel=y_label)
        _draw_axes(ax)
        for name, tip in arrows.items():
            _draw_arrow(ax, tip, colors[name], DASHES[kinds[name]])
        _name_tips(ax, arrows, unit)
    return Picture(figure, alt)


def _two(vector: Any, name: str) -> np.ndarray:
    array = checked(vector, f"named_vectors[{name!r}]", ndim=1)
    if array.shape != (2,):
        raise ValueError(f"named_vectors[{name!r}] has shape {array.shape}, but a plane needs (2,)")
    return array


def _role_of(name: str) -> str:
    return next((role for role in ("query", "key", "value", "weights") if name.startswith(role)), "plain")


def _frame(tips: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Corners (2,), (2,) around the origin and all tips (n, 2), with room for the names."""
    low, high = np.minimum(tips.min(axis=0), 0), np.maximum(tips.max(axis=0), 0)
    margin = 0.12 * max(float((high - low).max()), 1e-9)
    low, high = low - margin, high + margin
    narrow = 0.45 * float((high - low).max()) - (high - low)  # no side below 45 % of the other
    return low - np.maximum(narrow, 0) / 2, high + np.maximum(narrow, 0) / 2


def _draw_axes(ax: Axes) -> None:
    light_grid(ax)
    for line in (ax.axhline, ax.axvline):
        line(0, color=INK, linewidth=0.8, alpha=0.55, zorder=1)
    ax.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    ax.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)


def _draw_arrow(ax: Axes, tip: np.ndarray, color: str, dashes: Any) -> None:
    """The shaft keeps its dashes and the head is solid: two artists."""
    if not tip.any():
        ax.plot(0, 0, marker="o", color=color)
        return
    ax.plot([0, tip[0] * 0.97], [0, tip[1] * 0.97], color=color, linewidth=2.2, linestyle=dashes, solid_capstyle="butt")
    ax.annotate("", tuple(tip), tuple(tip * 0.9), arrowprops={
        "arrowstyle": "-|>,head_length=0.55,head_width=0.28", "color": color, "linewidth": 1.5,
        "shrinkA": 0, "shrinkB": 0, "mutation_scale": 14,
    })  # fmt: skip


def _name_tips(ax: Axes, arrows: dict[str, np.ndarray], unit: float) -> None:
    """Names right of the tips that point right, beyond the others' tips, inside the frame, never on each other."""
    low, high = ax.get_ylim()
    for right in (True, False):
        side = {name: tip for name, tip in arrows.items() if (tip[0] >= 0) == right}
        if not side:
            continue
        away = 6.0 if right else 11.0  # points from the tip, away from the horizontal axis
        wanted = [tip[1] * unit + (away if tip[1] >= 0 else -away) for tip in side.values()]
        placed = spread(wanted, [SIZE * 1.3] * len(side), low * unit, high * unit) / unit
        for (name, tip), y in zip(side.items(), placed, strict=True):
            ax.text(_name_left(ax, name, tip[0], unit, right), y, name, fontsize=SIZE, ha="left", va="center")


def _name_left(ax: Axes, name: str, tip: float, unit: float, right: bool) -> float:
    """Where a name begins: beside a tip that points right, centred on any other, and never outside the frame."""
    width = text_width(name, SIZE) / unit
    least, most = ax.get_xlim()
    wanted = tip + 5 / unit if right else tip - width / 2
    return float(max(min(wanted, most + 30 / unit - width), least + 3 / unit))
