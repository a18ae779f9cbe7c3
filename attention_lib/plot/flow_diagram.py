"""Boxes with live shapes, from the top down: what goes in, what it is multiplied with, what comes out."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from attention_lib.plot.canvas import drawing
from attention_lib.plot.picture import Picture
from attention_lib.plot.style import SIZE, SMALL, WIDTH, role_color, styled

TALL, BETWEEN, GAP, WIDEST = 40.0, 26.0, 12.0, 150.0


@dataclass(frozen=True)
class Box:
    """One box of a flow: a name, the shape or words below it, the role that colours it.

    Example:
        >>> Box("Q", (5, 3), role="query").note
        '(5, 3)'
    """

    name: str
    shape: tuple[int, ...] | str = ""
    role: str = "plain"

    @property
    def note(self) -> str:
        """The second line of the box."""
        return self.shape if isinstance(self.shape, str) else "(" + ", ".join(map(str, self.shape)) + ")"


def flow(levels: Sequence[Sequence[Box]], *, alt: str) -> Picture:
    """Levels of boxes from the top down, each level joined to the next by arrows.

    Args:
        levels: 1 to 5 boxes each. Levels of equal size are joined one to one; from or to a single box, each to each.
        alt: what the picture shows, in words.

    Returns:
        The picture.

    Raises:
        ValueError: no level, a level without boxes or with more than 5, neighbours such as 2 and 3 boxes that
            cannot be joined, an unknown role.

    Example:
        >>> flow([[Box("X", (5, 7))], [Box("Q", (5, 3), role="query")]], alt="X gives Q")
        Picture: X gives Q
    """
    _check(levels)
    height = len(levels) * TALL + (len(levels) - 1) * BETWEEN
    with styled():
        figure, ax = drawing(WIDTH, height)
        places = [_places(len(level)) for level in levels]
        for depth, level in enumerate(levels):
            bottom = height - TALL - depth * (TALL + BETWEEN)
            for box, (left, width) in zip(level, places[depth], strict=True):
                _draw_box(ax, box, left, bottom, width)
            if depth:
                _join(ax, places[depth - 1], places[depth], level, bottom + TALL)
    return Picture(figure, alt)


def projections(n: int, d_model: int, d_k: int, d_v: int | None = None, *, alt: str | None = None) -> Picture:
    """The same X, three times projected: X W_Q = Q, X W_K = K, X W_V = V, with the shapes of these sizes.

    Args:
        n: tokens.
        d_model: width of X.
        d_k: width of Q and K.
        d_v: width of V; None is d_k.
        alt: what the picture shows; None writes it with these shapes.

    Returns:
        The picture.

    Raises:
        ValueError: a size that is not a whole number from 1.

    Example:
        >>> projections(5, 7, 3).alt[:41]
        'X of shape (5, 7) is multiplied by W_Q (7'
    """
    d_v = d_k if d_v is None else d_v
    for name, size in (("n", n), ("d_model", d_model), ("d_k", d_k), ("d_v", d_v)):
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            raise ValueError(f"{name}={size!r} is not a whole number from 1")
    parts = (("Q", "query", d_k), ("K", "key", d_k), ("V", "value", d_v))
    words = "; ".join(f"by W_{letter} ({d_model}, {d}) to give {letter} ({n}, {d})" for letter, _, d in parts)
    return flow(
        [
            [Box("X", (n, d_model))],
            [Box(f"× W_{letter}", (d_model, d), role) for letter, role, d in parts],
            [Box(f"{letter} · {role}", (n, d), role) for letter, role, d in parts],
        ],
        alt=alt if alt is not None else f"X of shape ({n}, {d_model}) is multiplied {words}.",
    )


def _check(levels: Sequence[Sequence[Box]]) -> None:
    if not levels:
        raise ValueError("levels is empty; give at least one level of boxes")
    sizes = [len(level) for level in levels]
    for index, size in enumerate(sizes):
        if not 1 <= size <= 5:
            raise ValueError(f"levels[{index}] has {size} boxes; 1 to 5 fit side by side")
        before = sizes[index - 1] if index else size
        if size != before and 1 not in (size, before):
            raise ValueError(
                f"levels[{index - 1}] has {before} boxes but levels[{index}] has {size}; one of them must be 1"
            )


def _places(count: int) -> list[tuple[float, float]]:
    """Left edge and width of each box, centred on the sheet."""
    width = min(WIDEST, (WIDTH - (count - 1) * GAP) / count)
    start = (WIDTH - count * width - (count - 1) * GAP) / 2
    return [(start + i * (width + GAP), width) for i in range(count)]


def _draw_box(ax: Axes, box: Box, left: float, bottom: float, width: float) -> None:
    color, middle = role_color(box.role), left + width / 2
    face, corner = (color, 0.14), (left + 1, bottom + 1)
    ax.add_patch(Rectangle(corner, width - 2, TALL - 2, facecolor=face, edgecolor=color, linewidth=1.4, clip_on=False))
    ax.text(middle, bottom + TALL * (0.68 if box.note else 0.5), box.name, ha="center", va="center", fontsize=SIZE)
    ax.text(middle, bottom + TALL * 0.28, box.note, ha="center", va="center", fontsize=SMALL)


def _join(
    ax: Axes, above: list[tuple[float, float]], below: list[tuple[float, float]], boxes: Sequence[Box], y: float
) -> None:
    one_to_one = len(above) == len(below)
    for i, (left, width) in enumerate(above):
        for j, (under, below_width) in enumerate(below):
            if one_to_one and i != j:
                continue
            ax.annotate("", (under + below_width / 2, y + 1), (left + width / 2, y + BETWEEN - 1), arrowprops={
                "arrowstyle": "-|>,head_length=0.4,head_width=0.2", "color": role_color(boxes[j].role),
                "linewidth": 1.4, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 14,
            })  # fmt: skip
