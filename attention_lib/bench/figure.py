"""The report as a picture: how far each target is reached."""

from __future__ import annotations

from pathlib import Path

from attention_lib.bench.verdict import Verdict, names
from attention_lib.errors import OptionError
from attention_lib.plot import Picture, bars

__all__ = ["draw", "save"]


def draw(verdicts: list[Verdict]) -> Picture:
    """One bar a target of time or memory: measured over required, 1 where the target is just reached."""
    named = dict(zip(names(verdicts), verdicts, strict=True))
    shown = {name: each for name, each in named.items() if each.ratios and each.row != 13}
    if not shown:
        raise OptionError("nothing was measured that could be drawn; choose rows that have targets of their own")
    reached = [min(each.ratios.values()) / each.required for each in shown.values()]
    missed = sum(each.verdict == "missed" for each in shown.values())
    return bars(
        reached,
        labels=[f"{name} {'memory' if 'memory' in each.target else 'time'}" for name, each in shown.items()],
        x_label="measured / required",
        reference={"target": 1.0},
        alt=f"Of {len(shown)} targets of time and memory, {len(shown) - missed} are reached: their bars end at 1 or "
        f"beyond. The longest ends at {max(reached):.1f}, the shortest at {min(reached):.1f}.",
    )


def save(picture: Picture, path: Path) -> None:
    """Write a PNG or an SVG, as the name says.

    Raises:
        OptionError: Another ending.
    """
    if path.suffix not in (".png", ".svg"):
        raise OptionError(f"cannot draw into {path.name}: its name must end in .png or .svg")
    path.write_bytes(picture.png() if path.suffix == ".png" else picture.svg().encode("utf-8"))
