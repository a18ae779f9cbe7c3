"""The cells of a matrix picture: colours, numbers, names around them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Colormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from attention_lib.plot.canvas import axes_at, text_width
from attention_lib.plot.style import INK, SIZE, SMALL, text_on


@dataclass(frozen=True)
class Look:
    """What all matrices of one picture share: number format, colours, scale, cell size in points, names."""

    number: str
    colors: Colormap
    low: float
    high: float
    cell: tuple[float, float]
    row_names: Sequence[str] | None
    column_names: Sequence[str] | None
    row_title: str
    column_title: str

    def color(self, value: float) -> tuple[float, float, float, float]:
        """The cell's colour; a scale without extent gives its lowest colour."""
        share = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.0
        return self.colors(float(np.clip(share, 0.0, 1.0)))

    @property
    def head(self) -> float:
        """Points above the cells for column names and title."""
        return (SIZE + 6 if self.column_title else 0) + self.names_height

    @property
    def names_height(self) -> float:
        """Points that the column names take: one line, or their length when they stand upright."""
        if self.column_names is None:
            return 0.0
        return max(map(text_width, self.column_names)) + 4 if self.upright else SMALL + 6

    @property
    def upright(self) -> bool:
        """Whether the column names must stand because the cells are too narrow for them."""
        return max(map(text_width, self.column_names or [""])) > self.cell[0] + 2

    @property
    def side(self) -> float:
        """Points left of the cells for row names and title."""
        return side_width(self.row_names, self.row_title)


def side_width(names: Sequence[str] | None, title: str) -> float:
    """Points left of the cells that the row names and the title of the rows take."""
    return (SIZE + 9 if title else 0) + (max(map(text_width, names)) + 5 if names else 0)


def draw_cells(ax: Axes, grid: np.ndarray, look: Look, numbered: bool) -> None:
    """Fill the axes with one matrix: single cells with their numbers, or one image when there are too many."""
    rows, columns = grid.shape
    ax.set(xlim=(0, columns), ylim=(rows, 0))
    ax.set_axis_off()
    if not numbered:
        cells = np.array([[look.color(v) if np.isfinite(v) else (0, 0, 0, 0) for v in row] for row in grid])
        ax.imshow(cells, extent=(0, columns, rows, 0), aspect="auto", interpolation="none")
        return
    size = min(SMALL, 0.92 * look.cell[0] / max(text_width(t, 1.0) for t in _texts(grid, look)))
    for (row, column), value in np.ndenumerate(grid):
        _draw_cell(ax, row, column, float(value), look, size)


def _texts(grid: np.ndarray, look: Look) -> list[str]:
    return [_text(float(v), look) for v in grid.flat]


def _text(value: float, look: Look) -> str:
    """The number; 0.25 becomes .25 in a cell too narrow for it at a readable size."""
    if not np.isfinite(value):
        return ""
    text = format(value, look.number).replace("-", "−")
    if float(format(value, look.number)) == 0:
        text = text.replace("−", "")
    narrow = text_width(text, SMALL) > look.cell[0] * 0.92
    return text.replace("0.", ".", 1) if narrow and text.lstrip("−").startswith("0.") else text


def _draw_cell(ax: Axes, row: int, column: int, value: float, look: Look, size: float) -> None:
    gap_x, gap_y = 0.75 / look.cell[0], 0.75 / look.cell[1]  # the paper shows between the cells
    corner, extent = (column + gap_x, row + gap_y), (1 - 2 * gap_x, 1 - 2 * gap_y)
    if not np.isfinite(value):
        ax.add_patch(
            Rectangle(corner, *extent, facecolor="none", edgecolor=INK, alpha=0.35, linewidth=0.6, clip_on=False)
        )
        ax.plot([column + 0.35, column + 0.65], [row + 0.65, row + 0.35], color=INK, linewidth=0.9, alpha=0.6,
                clip_on=False)  # fmt: skip
        return
    color = look.color(value)
    ax.add_patch(Rectangle(corner, *extent, facecolor=color, edgecolor="none", linewidth=0, clip_on=False))
    ax.text(column + 0.5, row + 0.5, _text(value, look), color=text_on(color), fontsize=size, ha="center",
            va="center_baseline")  # fmt: skip


def write_names(ax: Axes, look: Look, first: bool) -> None:
    """Column names and title above; row names and title left of the first matrix in a line only."""
    offset: dict[str, Any] = {"textcoords": "offset points", "annotation_clip": False}
    for index, name in enumerate(look.column_names or []):
        ax.annotate(str(name), (index + 0.5, 0), (0, 4), ha="center", va="bottom",
                    rotation=90 if look.upright else 0, fontsize=SMALL, **offset)  # fmt: skip
    if look.column_title:
        ax.annotate(look.column_title, (0.5, 1), (0, look.names_height + 4), xycoords="axes fraction", ha="center",
                    va="bottom", fontsize=SIZE, **offset)  # fmt: skip
    if not first:
        return
    for index, name in enumerate(look.row_names or []):
        ax.annotate(str(name), (0, index + 0.5), (-5, 0), ha="right", va="center", fontsize=SMALL, **offset)
    if look.row_title:
        ax.annotate(look.row_title, (0, 0.5), (-(look.side - 7), 0), xycoords="axes fraction", ha="center",
                    va="center", rotation=90, fontsize=SIZE, **offset)  # fmt: skip


def color_bar(figure: Figure, look: Look, width: float) -> None:
    """A legend of the colours below matrices without numbers."""
    ax = axes_at(figure, look.side, -18, width, 9)
    ax.imshow(np.array([[look.colors(i / 63) for i in range(64)]]), extent=(look.low, look.high, 0, 1),
              aspect="auto", interpolation="none")  # fmt: skip
    ax.set(
        yticks=[],
        xticks=[look.low, look.high],
        xticklabels=[f"{v:.2g}".replace("-", "−") for v in (look.low, look.high)],
    )
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0, pad=3)
