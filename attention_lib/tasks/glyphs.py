"""The ten digits as small pictures, seven rows of five dots each."""

from __future__ import annotations

import torch

from attention_lib.shapes import Float

__all__ = ["GLYPHS", "digit_glyphs"]

GLYPHS = (
    ".###. #...# #..## #.#.# ##..# #...# .###.",
    "..#.. .##.. ..#.. ..#.. ..#.. ..#.. .###.",
    ".###. #...# ....# ...#. ..#.. .#... #####",
    ".###. #...# ....# ..##. ....# #...# .###.",
    "...#. ..##. .#.#. #..#. ##### ...#. ...#.",
    "##### #.... ####. ....# ....# #...# .###.",
    "..##. .#... #.... ####. #...# #...# .###.",
    "##### ....# ...#. ..#.. .#... .#... .#...",
    ".###. #...# #...# .###. #...# #...# .###.",
    ".###. #...# #...# .#### ....# ...#. .##..",
)


def digit_glyphs() -> Float[torch.Tensor, "10 7 5"]:
    """The digits 0 to 9, 1 where there is ink.

    Example:
        >>> digit_glyphs()[1].sum(dim=1).int().tolist()  # dots in each row of the digit one
        [1, 2, 1, 1, 1, 1, 3]
    """
    return torch.tensor([[[float(dot == "#") for dot in row] for row in glyph.split()] for glyph in GLYPHS])
