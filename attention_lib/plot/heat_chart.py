"""Matrices as coloured cells with their numbers: weights, scores, masks."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from attention_lib.plot.arrays import checked, named
from attention_lib.plot.canvas import axes_at, sheet
from attention_lib.plot.heat_cells import Look, color_bar, draw_cells, side_width, write_names
from attention_lib.plot.picture import Picture
from attention_lib.plot.style import SIGNED_MAP, SIZE, WEIGHTS_MAP, WIDTH, styled

MOST_NUMBERED = 13
"""Rows or columns up to which the cells carry their numbers."""

WIDEST, TALLEST, SHORTEST = 46.0, 32.0, 18.0
BETWEEN = 26.0


def heatmap(
    matrix: Any,
    *,
    row_title: str,
    column_title: str,
    alt: str,
    row_labels: Sequence[str] | None = None,
    column_labels: Sequence[str] | None = None,
    value_format: str = ".2f",
    vmin: float = 0.0,
    vmax: float | None = None,
    signed: bool = False,
) -> Picture:
    """One matrix as cells, the darker the larger, with the numbers written in up to 13 x 13.

    Args:
        matrix: (L, S) numbers or booleans; minus infinity is drawn as a crossed-out cell (a blocked score).
        row_title: what a row is, such as "query".
        column_title: what a column is, such as "key".
        alt: what the picture shows, in words.
        row_labels: L names, often tokens.
        column_labels: S names.
        value_format: how a number is written; the leading zero goes where cells are narrow.
        vmin: value of the lightest colour.
        vmax: value of the darkest colour; None is the largest value.
        signed: colours diverge from 0 over [-vmax, vmax] and `vmin` is not used: for scores.

    Returns:
        The picture.

    Raises:
        ValueError: not two axes, NaN or plus infinity, labels of another length than the matrix, or a value
            below `vmin` with `signed=False`.

    Example:
        >>> heatmap([[1.0, 0.0], [0.5, 0.5]], row_title="query", column_title="key", alt="causal weights")
        Picture: causal weights
    """
    return heatmaps(
        {"": matrix}, row_title=row_title, column_title=column_title, alt=alt, row_labels=row_labels,
        column_labels=column_labels, value_format=value_format, vmin=vmin, vmax=vmax, signed=signed,
    )  # fmt: skip


def heatmaps(
    matrices: Mapping[str, Any],
    *,
    row_title: str,
    column_title: str,
    alt: str,
    row_labels: Sequence[str] | None = None,
    column_labels: Sequence[str] | None = None,
    value_format: str = ".2f",
    vmin: float = 0.0,
    vmax: float | None = None,
    signed: bool = False,
    columns: int | None = None,
) -> Picture:
    """Several matrices of one shape on one colour scale, to compare: raw and scaled, head by head.

    Args:
        matrices: name -> (L, S); the name stands above its matrix.
        row_title: what a row is.
        column_title: what a column is.
        alt: what the picture shows, in words.
        row_labels: L names.
        column_labels: S names.
        value_format: how a number is written.
        vmin: value of the lightest colour.
        vmax: value of the darkest colour; None is the largest value of all matrices.
        signed: colours diverge from 0 over [-vmax, vmax] and `vmin` is not used.
        columns: matrices in a line; None takes as many as stay readable on a telephone.

    Returns:
        The picture.

    Raises:
        ValueError: as for `heatmap`, and when the shapes differ.

    Example:
        >>> pair = {"raw": [[3.0, 1.0]], "scaled": [[1.5, 0.5]]}
        >>> heatmaps(pair, row_title="query", column_title="key", alt="halved")
        Picture: halved
    """
    grids = {
        name: checked(m, f"matrices[{name!r}]" if name else "matrix", ndim=2, infinite=True)
        for name, m in named(matrices, "matrices").items()
    }
    shape = _one_shape(grids)
    _check_labels(shape, row_labels, column_labels)
    low, high = _range(grids, vmin, vmax, signed)
    if columns is not None and columns < 1:
        raise ValueError(f"columns={columns} is not at least 1")
    across = columns or _columns(len(grids), shape, row_labels, row_title)
    look = Look(
        value_format, SIGNED_MAP if signed else WEIGHTS_MAP, low, high,
        _cell(shape, across, row_labels, row_title), row_labels, column_labels, row_title, column_title,
    )  # fmt: skip
    with styled():
        figure = _place(grids, look, min(across, len(grids)))
    return Picture(figure, alt)


def _one_shape(grids: dict[str, np.ndarray]) -> tuple[int, int]:
    first, *rest = grids.items()
    for name, grid in rest:
        if grid.shape != first[1].shape:
            raise ValueError(
                f"matrices[{name!r}] has shape {grid.shape} but matrices[{first[0]!r}] has {first[1].shape}; "
                "draw matrices of different shape one by one"
            )
    return first[1].shape[0], first[1].shape[1]


def _check_labels(shape: tuple[int, int], rows: Sequence[str] | None, columns: Sequence[str] | None) -> None:
    for labels, size, axis in ((rows, shape[0], "row"), (columns, shape[1], "column")):
        if labels is not None and len(labels) != size:
            raise ValueError(f"{axis}_labels has length {len(labels)} but the matrix has {size} {axis}s")


def _range(grids: dict[str, np.ndarray], vmin: float, vmax: float | None, signed: bool) -> tuple[float, float]:
    """The lowest and highest value of the colour scale, from the finite cells of all matrices."""
    values = np.concatenate([grid[np.isfinite(grid)] for grid in grids.values()])
    values = values if values.size else np.zeros(1)
    if signed:
        extent = float(np.abs(values).max()) if vmax is None else vmax
        return -extent, extent
    if values.min() < vmin:
        raise ValueError(f"vmin={vmin:g} but the smallest value is {values.min():g}; pass signed=True or a lower vmin")
    return vmin, float(values.max()) if vmax is None else vmax


def _columns(count: int, shape: tuple[int, int], names: Sequence[str] | None, title: str) -> int:
    """As many side by side as leave each cell room: 25 points with numbers, a 90 point matrix without."""
    numbered = max(shape) <= MOST_NUMBERED
    least = shape[1] * 25.0 if numbered else 90.0
    room = WIDTH - side_width(names, title) + BETWEEN
    most = max(1, min(count, int(room // (least + BETWEEN))))
    return -(-count // -(-count // most))  # four matrices where three fit: two and two


def _cell(shape: tuple[int, int], across: int, names: Sequence[str] | None, title: str) -> tuple[float, float]:
    """Width and height of a cell: flat where it holds a number, square where it does not."""
    room = max(WIDTH - side_width(names, title), 0.5 * WIDTH)  # very long row names make the picture wider
    width = (room - (across - 1) * BETWEEN) / across / shape[1]
    if max(shape) > MOST_NUMBERED:
        side = min(width, 230.0 / shape[0])
        return side, side
    width = min(width, WIDEST)
    return width, min(max(0.72 * width, SHORTEST), TALLEST)


def _place(grids: dict[str, np.ndarray], look: Look, across: int) -> Figure:
    rows, columns = next(iter(grids.values())).shape
    wide, tall = columns * look.cell[0], rows * look.cell[1]
    down = -(-len(grids) // across)
    name_height = SIZE + 8 if any(grids) else 0.0
    block = tall + look.head + name_height + (22 if down > 1 else 0)
    numbered = max(rows, columns) <= MOST_NUMBERED
    figure = sheet(look.side + across * wide + (across - 1) * BETWEEN, down * block)
    for index, (name, grid) in enumerate(grids.items()):
        row, column = divmod(index, across)
        left = look.side + column * (wide + BETWEEN)
        ax = axes_at(figure, left, (down - row) * block - name_height - look.head - tall, wide, tall)
        draw_cells(ax, grid, look, numbered)
        write_names(ax, look, first=column == 0)
        if name:
            ax.annotate(name, (0, 1), (0, look.head + 5), xycoords="axes fraction", textcoords="offset points",
                        fontsize=SIZE, weight="bold")  # fmt: skip
    if not numbered:
        color_bar(figure, look, min(wide, 120.0))
    return figure
