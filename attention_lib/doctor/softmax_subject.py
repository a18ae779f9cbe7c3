"""Candidates of kind ``softmax``: ``f(scores, mask=None) -> weights``, seen as attention with values of one."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from attention_lib.doctor.attention_subject import AttentionSubject, alternating, sizes_for
from attention_lib.doctor.inputs import normal
from attention_lib.doctor.options import BEFORE, MASK_MODES, MIXES, NO_SHAPE, NORMS, READINGS
from attention_lib.doctor.pipeline import Material, Menu, Option, Recipe, Sizes
from attention_lib.doctor.subject import Cut, Inputs, Layout

__all__ = ["SoftmaxSubject", "softmax_menu"]


def _scores(material: Material) -> tuple[Tensor, Tensor]:
    scores = material.tensors["query"]
    return scores, torch.eye(scores.shape[-1], dtype=scores.dtype)


def softmax_menu() -> Menu:
    """The steps after the scores."""
    same = Option("plain", "", lambda heads, material: heads)
    return Menu(
        {
            "pair": (Option("scores", "", _scores),),
            "scale": (
                Option("one", "", lambda n: 1.0),
                Option("negative", "scale-negative", lambda n: -1.0),
                Option("root", "wrong-scale", lambda n: n.S**-0.5),
            ),
            "shape": (NO_SHAPE,), "pattern": (Option("none", "", lambda L, S: None),), "pattern_mode": (BEFORE,),
            "reading": READINGS, "mask_mode": MASK_MODES, "norm": NORMS,
            "value": (Option("identity", "", lambda material: _scores(material)[1]),),
            "mix": MIXES[:1], "finish": (same,),
        }
    )  # fmt: skip


class SoftmaxSubject(AttentionSubject):
    """The only input is the scores, under the role ``query``."""

    def draw(self, layout: Layout, size: int, generator: torch.Generator, **overrides: int) -> dict[str, Tensor]:
        B, H, L, S, _, _ = sizes_for(self.declared.seed, size)
        L = S if layout.square else L
        axes = {"B": B, "H": H, "L": L, "S": S} | overrides
        B, H = (axes["B"] if layout.rank >= 3 else 1), (axes["H"] if layout.rank == 4 else 1)
        return {"query": normal(B, H, axes["L"], axes["S"], generator=generator) * 1.5}

    def sizes(self, tensors: dict[str, Tensor], layout: Layout) -> Sizes:
        B, H, L, S = tensors["query"].shape
        return Sizes(B, H, L, S, S, S, S)

    def steep(self, layout: Layout, top: float, generator: torch.Generator, recipe: Recipe) -> dict[str, Tensor]:
        scores = self.draw(layout, 0, generator)["query"]
        return {"query": scores + top * alternating(scores.shape[:3])[..., None]}

    def properties(self) -> tuple[Callable[..., str], ...]:
        return ()

    def cuts(self, layout: Layout) -> list[Cut]:
        def shorten(place: int) -> Cut:
            def cut(tensors: dict[str, Tensor], mask: Tensor | None) -> Inputs | None:
                scores = tensors["query"]
                if scores.shape[place] <= 1:
                    return None
                size = scores.shape[place] - 1
                if mask is not None and mask.shape[place] > 1:
                    mask = mask.narrow(place, 0, size)
                    if not bool(mask.any(-1).all()):
                        return None
                return {"query": scores.narrow(place, 0, size)}, mask

            return cut

        return [shorten(place) for place in range(4)]
