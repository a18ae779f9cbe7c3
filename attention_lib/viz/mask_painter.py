"""`paint_masks`: masks to combine and to paint over, with the rows that stay empty and what it all costs."""

from typing import Any

import torch
from torch import Tensor

from attention_lib.errors import MaskError
from attention_lib.plot.heat_chart import heatmap
from attention_lib.viz.figure import Figure
from attention_lib.viz.inputs import numbers, texts, whole


def paint_masks(
    n: int = 8,
    mask: Any = None,
    *,
    causal: bool = False,
    length: int | None = None,
    window: int | None = None,
    block: int | None = None,
    question: str | None = None,
    observe: str | None = None,
) -> Figure:
    """A mask to build: causal, padding, window and blocks, combined by *and*, and painted over cell by cell.

    Args:
        n: number of positions, 1 to 64.
        mask: `(n, n)` boolean, True = may attend: a mask to start from.
        causal: whether the causal mask is on at first.
        length: positions that are no padding, from 1 to n; None leaves the padding mask off.
        window: a query sees keys nearer than this, on both sides unless causal; None leaves it off.
        block: positions see their own block of this size; None leaves it off.
        question: what the reader is to find out.
        observe: what the reader should then have seen.

    Returns:
        The figure.

    Raises:
        OptionError: a number out of range.
        MaskError: a mask that is not boolean, or not `(n, n)`.
        ShapeError: a mask that is neither a tensor nor nested lists.

    Example:
        >>> paint_masks(4, causal=True, length=2)
        Figure: A mask of 4 positions: 7 of 16 pairs allowed, no row empty.
    """
    n = whole(n, "n", 1, 64)
    limits = {"length": length, "window": window, "block": block}
    length, window, block = (None if x is None else whole(x, name, 1, n) for name, x in limits.items())
    given = None if mask is None else _checked(mask, n)
    use: dict[str, bool | int] = {
        "causal": causal,
        "padding": length is not None,
        "window": window is not None,
        "block": block is not None,
    }
    use |= {key: number for key, number in (("length", length), ("w", window), ("b", block)) if number is not None}

    allowed = _combined(n, given, causal, length, window, block)
    pairs, empty = int(allowed.sum()), (~allowed.any(dim=1)).nonzero().flatten().tolist()
    rows = f"rows {', '.join(map(str, empty))} empty" if empty else "no row empty"
    alt = f"A mask of {n} {'position' if n == 1 else 'positions'}: {pairs} of {n * n} pairs allowed, {rows}."
    picture = heatmap(allowed, row_title="query", column_title="key", alt=alt, value_format=".0f", vmax=1.0)
    table = [["query", "may attend to"]]
    table += [
        [str(i), ", ".join(map(str, row.nonzero().flatten().tolist())) or "nobody"] for i, row in enumerate(allowed)
    ]
    data: dict[str, Any] = {"n": n, "use": use} | ({} if given is None else {"mask": given.int().tolist()})
    return Figure("attn-mask", data | texts(question, observe), table, picture)


def _checked(mask: Any, n: int) -> Tensor:
    found = numbers(mask, "mask")
    if found.dtype != torch.bool:
        raise MaskError(f"mask has dtype {found.dtype}, but a mask is boolean, True = may attend; write mask.bool()")
    if tuple(found.shape) != (n, n):
        raise MaskError(f"mask has shape {tuple(found.shape)}, but n={n} positions need ({n}, {n})")
    return found


def _combined(
    n: int, given: Tensor | None, causal: bool, length: int | None, window: int | None, block: int | None
) -> Tensor:
    """(n, n), True where every mask that is on allows the pair."""
    i, j = torch.arange(n)[:, None], torch.arange(n)[None]
    allowed = torch.ones(n, n, dtype=torch.bool) if given is None else given.clone()
    for on, mask in (
        (causal, j <= i),
        (length, j < (length or 0)),
        (window, (i - j).abs() < (window or 0)),
        (block, i // (block or 1) == j // (block or 1)),
    ):
        allowed &= mask if on else True
    return allowed
