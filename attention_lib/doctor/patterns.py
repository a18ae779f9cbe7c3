"""Who may see whom by position alone: causal masks and windows, right and wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from attention_lib.doctor.pipeline import Option
from attention_lib.steps.masks import allowed_by_position

__all__ = ["patterns"]


def patterns(causal: bool, window: int | None) -> tuple[Option, ...]:
    """Who may see whom by position alone; what was declared comes first."""
    if window is not None:
        return _window_patterns(causal, window)
    known = [*_causal_patterns(), *_undeclared_windows()]
    none = Option("none", "future-leak" if causal else "", lambda L, S: None)
    if causal:
        bottom_right = Option("causal", "", _positions(causal=True))
        return (bottom_right, none, *[option for option in known if option.name != "causal"])
    causal_option = Option("causal", "variant-causal", _positions(causal=True))
    top_left = Option("top left", "variant-causal", _triangle(0))
    others = [replace(option, rare=True) for option in known if option.name not in ("causal", "top left")]
    return (none, causal_option, top_left, *others)


def _positions(*, causal: bool, window: int | None = None) -> Callable[[int, int], Tensor]:
    return lambda L, S: allowed_by_position(torch.arange(S - L, S), S, causal=causal, window=window)


def _triangle(shift: int, *, upper: bool = False, corner: bool = False) -> Callable[[int, int], Tensor]:
    def build(L: int, S: int) -> Tensor:
        ones = torch.ones(L, S, dtype=torch.bool)
        offset = shift + (S - L if corner else 0)
        return ones.triu(offset) if upper else ones.tril(offset)

    return build


def _causal_patterns() -> list[Option]:
    return [
        Option("top left", "causal-misaligned", _triangle(0)),
        Option("strict", "causal-excludes-itself", _triangle(-1, corner=True)),
        Option("next", "causal-sees-next", _triangle(1, corner=True)),
        Option("upper", "mask-transposed", _triangle(0, upper=True, corner=True)),
        Option("future only", "mask-inverted", _triangle(1, upper=True, corner=True)),
        Option("strict, top left", "causal-excludes-itself", _triangle(-1)),
        Option("next, top left", "causal-sees-next", _triangle(1)),
        Option("upper, top left", "mask-transposed", _triangle(0, upper=True)),
        Option("future only, top left", "mask-inverted", _triangle(1, upper=True)),
    ]


def _undeclared_windows() -> list[Option]:
    return [
        Option(
            f"{'causal ' if causal else ''}window {width}",
            "variant-window",
            _positions(causal=causal, window=width),
            width,
            rare=True,
        )
        for width in (1, 2, 3, 4, 5)
        for causal in (True, False)
    ] + [
        Option(f"blocks of {size}", "variant-window", _blocks(size, causal), size, rare=True)
        for size in (2, 3, 4, 5)
        for causal in (True, False)
    ]


def _blocks(size: int, causal: bool) -> Callable[[int, int], Tensor]:
    """Every block of queries sees its own block of keys and the one before, or both neighbours."""

    def build(L: int, S: int) -> Tensor:
        positions, keys = torch.arange(S - L, S)[:, None], torch.arange(S)
        near = (positions // size - keys // size).abs() <= 1
        return near & (keys <= positions) if causal else near

    return build


def _band(before: int, after: int) -> Callable[[int, int], Tensor]:
    def build(L: int, S: int) -> Tensor:
        behind = torch.arange(S - L, S)[:, None] - torch.arange(S)
        return (behind <= before) & (behind >= -after)

    return build


def _top_left_band(width: int) -> Callable[[int, int], Tensor]:
    def build(L: int, S: int) -> Tensor:
        behind = torch.arange(L)[:, None] - torch.arange(S)
        return (behind < width) & (behind >= 0)

    return build


def _window_patterns(causal: bool, window: int) -> tuple[Option, ...]:
    right = Option("window", "", _positions(causal=causal, window=window), window)
    wrong = [
        Option("no window", "window-ignored", _positions(causal=causal)),
        Option("nothing", "window-ignored", lambda L, S: None),
        Option("no window, top left", "window-ignored+causal-misaligned", _triangle(0)),
        Option("window, top left", "causal-misaligned", _top_left_band(window)),
    ]
    for width in (window + 1, window - 1, window + 2, 2 * window, 2 * window + 1, 2 * window - 1):
        if width > 0 and causal:
            wrong.append(Option(f"window {width}", "window-off-by-one", _band(width - 1, 0), width))
    wrong += [
        Option(f"blocks of {n}", "window-off-by-one", _blocks(n, causal), n) for n in (window, window - 1) if n > 0
    ]
    wrong.append(Option("window, centred", "future-leak" if causal else "", _band(window // 2, (window - 1) // 2)))
    wrong.append(Option("window, both sides", "window-off-by-one", _band(window, window), 2 * window + 1))
    wrong.append(
        Option("window, both sides less one", "window-off-by-one", _band(window - 1, window - 1), 2 * window - 1)
    )
    wrong.append(Option("window, other side", "", _band((window - 1) // 2, window // 2), window))
    if causal:
        wrong[-1] = Option("window, excluding itself", "causal-excludes-itself", _band(window, -1), window)
    return (right, *wrong)
