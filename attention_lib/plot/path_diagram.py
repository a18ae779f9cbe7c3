"""How far the first token is from the last: hop by hop through a recurrence, one hop through attention."""

from matplotlib.axes import Axes
from matplotlib.patches import Circle

from attention_lib.plot.canvas import drawing
from attention_lib.plot.picture import Picture
from attention_lib.plot.style import INK, PALETTE, SIZE, SMALL, WIDTH, styled

RADIUS = 13.0
SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def path_lengths(n: int, *, alt: str | None = None) -> Picture:
    """A recurrent chain of n states above, attention over n tokens below, each with its longest path drawn.

    Args:
        n: tokens, at least 2. Above 8 the middle is left out; the counts are for n all the same.
        alt: what the picture shows; None writes it with the counts of this n.

    Returns:
        The picture: n - 1 dependent steps against 1, and n * n pairs.

    Raises:
        ValueError: n is not a whole number from 2.

    Example:
        >>> path_lengths(3).alt[:58]
        'From token 1 to token 3: 2 steps, one after the other, thr'
    """
    if not isinstance(n, int) or isinstance(n, bool) or n < 2:
        raise ValueError(f"n={n!r} is not a whole number from 2; a path needs two tokens")
    steps = "1 step" if n == 2 else f"{n - 1} steps"
    words = (
        f"From token 1 to token {n}: {steps}, one after the other, through the states of a recurrent network; "
        f"1 step through attention, which compares all {n} times {n} pairs at once."
    )
    shown = [1, 2, 3, 0, n - 1, n] if n > 8 else list(range(1, n + 1))  # 0 marks what is left out
    with styled():
        figure, ax = drawing(WIDTH, 304)
        places = [RADIUS + 6 + i * (WIDTH - 2 * RADIUS - 12) / (len(shown) - 1) for i in range(len(shown))]
        one_by_one = ", one after the other" if n > 2 else ""
        _heading(ax, 294, "recurrent network", f"token 1 reaches token {n} in {steps}{one_by_one}")
        _chain(ax, shown, places, 230, n)
        _heading(ax, 174, "attention", f"1 step; all {n} × {n} = {n * n} pairs at once")
        _all_pairs(ax, shown, places, 120, 14, n)
    return Picture(figure, alt if alt is not None else words)


def _heading(ax: Axes, y: float, name: str, words: str) -> None:
    ax.text(0, y, name, fontsize=SIZE, weight="bold", va="center")
    ax.text(0, y - 16, words, fontsize=SIZE, va="center")


def _node(ax: Axes, x: float, y: float, letter: str, number: int, color: str) -> None:
    ax.add_patch(Circle((x, y), RADIUS, facecolor=(color, 0.18), edgecolor=color, linewidth=1.4, clip_on=False))
    ax.text(x, y, letter + str(number).translate(SUBSCRIPTS), ha="center", va="center_baseline", fontsize=SMALL)


def _arrow(ax: Axes, start: tuple[float, float], end: tuple[float, float], color: str, width: float) -> None:
    ax.annotate("", end, start, arrowprops={
        "arrowstyle": "-|>,head_length=0.4,head_width=0.2", "color": color, "linewidth": width,
        "shrinkA": RADIUS + 1, "shrinkB": RADIUS + 1, "mutation_scale": 14,
    })  # fmt: skip


def _chain(ax: Axes, shown: list[int], places: list[float], y: float, n: int) -> None:
    """States h1 to hn; each arrow of the path carries the number of its step."""
    color = PALETTE["vermillion"]
    for number, x in zip(shown, places, strict=True):
        if number:
            _node(ax, x, y, "h", number, color)
            ax.text(x, y - RADIUS - 10, f"x{number}".translate(SUBSCRIPTS), ha="center", va="center", fontsize=SMALL)
        else:
            ax.text(x, y, "…", ha="center", va="center", fontsize=SIZE + 3)
    for (number, x), (_, after) in zip(
        zip(shown, places, strict=True), list(zip(shown, places, strict=True))[1:], strict=False
    ):
        _arrow(ax, (x, y), (after, y), color, 2.0)
        step = number or n - 2
        ax.text((x + after) / 2, y + 12, str(step), ha="center", va="center", fontsize=SMALL)


def _all_pairs(ax: Axes, shown: list[int], places: list[float], top: float, bottom: float, n: int) -> None:
    """Inputs below, outputs above, every pair joined; the one pair (token 1, output n) stands out."""
    color = PALETTE["blue"]
    real = [(number, x) for number, x in zip(shown, places, strict=True) if number]
    for _, x in real:
        for _, above in real:
            ax.plot([x, above], [bottom + RADIUS, top - RADIUS], color=INK, linewidth=0.6, alpha=0.28, clip_on=False)
    _arrow(ax, (places[0], bottom), (places[-1], top), color, 2.6)
    for number, x in real:
        _node(ax, x, bottom, "x", number, color)
        _node(ax, x, top, "y", number, color)
    if 0 in shown:
        for y in (bottom, top):
            ax.text(places[shown.index(0)], y, "…", ha="center", va="center", fontsize=SIZE + 3)
