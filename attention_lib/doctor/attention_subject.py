"""Candidates of kind ``attention``: ``f(query, key, value, mask=None)``."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace

import torch
from torch import Tensor

from attention_lib.doctor.inputs import normal
from attention_lib.doctor.modes import backward, weighting
from attention_lib.doctor.options import MASK_MODES, MIXES, NO_SHAPE, NORMS, PATTERN_MODES, READINGS, scales
from attention_lib.doctor.patterns import patterns
from attention_lib.doctor.pipeline import Case, Material, Menu, Option, Recipe, Sizes, evaluate
from attention_lib.doctor.properties import ATTENTION_PROPERTIES
from attention_lib.doctor.subject import Cut, Declared, Inputs, Layout, Subject

__all__ = ["AttentionSubject", "alternating", "attention_menu", "sizes_for"]

# B, H, L, S, d_k, d_v of the three sizes tried with seed 0: two ordinary ones, one long.
_SIZES = ((2, 3, 5, 7, 6, 11), (3, 2, 7, 11, 4, 13), (1, 2, 3, 131, 10, 5))


def sizes_for(seed: int, size: int) -> tuple[int, int, int, int, int, int]:
    """B, H, L, S, d_k and d_v, other ones for every seed.

    L is less than S, d_k is even, and d_v is another number than L and S, so that no axis passes for another."""
    if seed == 0:
        return _SIZES[size]
    choose = random.Random(1000 * seed + size).choice
    B, H = choose(((2, 3), (3, 2), (2, 5), (5, 2), (3, 5)))
    lengths = [(L, S) for L, S in ((5, 7), (3, 7), (7, 11), (5, 11), (7, 13)) if L not in (B, H)]  # no (B, S) is (L, S)
    L, S = choose(lengths) if size < 2 else (3, choose((67, 101, 131)))
    d_k = choose([d for d in (4, 6, 8, 10, 12) if d != L])
    return (
        (B if size < 2 else 1),
        (H if size < 2 else 2),
        L,
        S,
        d_k,
        choose([d for d in (5, 9, 11, 13) if d not in (L, S)]),
    )


_ANY = Layout(4)


def _pair(left: str, right: str) -> Callable[[Material], tuple[Tensor, Tensor]]:
    return lambda material: (material.tensors[left], material.tensors[right])


def _tensor(name: str) -> Callable[[Material], Tensor]:
    return lambda material: material.tensors[name]


_PAIRS = (
    Option("query, key", "", _pair("query", "key")),
    Option("key, query", "query-key-swapped", _pair("key", "query")),
    Option("query, query", "key-unused", _pair("query", "query")),
    Option("key, key", "query-unused", _pair("key", "key")),
    Option("query, value", "key-unused", _pair("query", "value")),
    Option("value, key", "query-unused", _pair("value", "key")),
)
_VALUES = (
    Option("value", "", _tensor("value")),
    Option("key", "value-from-key", _tensor("key")),
    Option("query", "value-from-query", _tensor("query")),
)
_FINISHES = (
    Option("plain", "", lambda heads, material: heads),
    Option("residual", "adds-residual", lambda heads, material: heads + material.tensors["query"]),
    Option("value added", "adds-residual", lambda heads, material: heads + material.tensors["value"]),
)


def attention_menu(declared: Declared) -> Menu:
    """All options of kind ``attention``, the declared ones first."""
    return Menu(
        {
            "pair": _PAIRS, "scale": scales(declared.scale), "shape": (NO_SHAPE,),
            "pattern": patterns(declared.causal, declared.window), "pattern_mode": PATTERN_MODES,
            "reading": READINGS, "mask_mode": MASK_MODES, "norm": NORMS,
            "value": _VALUES, "mix": MIXES, "finish": _FINISHES,
        }
    )  # fmt: skip


class AttentionSubject(Subject):
    """Inputs are ``(B, H, L, d)`` for the doctor; the candidate gets them without B and H where it wants that."""

    def layouts(self) -> Iterator[Layout]:
        for dtype in (torch.float64, torch.float32):
            for square, same_width in ((False, False), (False, True), (True, False), (True, True)):
                for rank in (4, 3, 2):
                    yield Layout(rank, square, same_width, dtype)

    def draw(self, layout: Layout, size: int, generator: torch.Generator, **overrides: int) -> dict[str, Tensor]:
        B, H, L, S, d_k, d_v = sizes_for(self.declared.seed, size)
        if layout.square:
            S = L = L if size < 2 else 37
        axes = {"B": B, "H": H, "L": L, "S": S, "d_k": d_k, "d_v": d_k if layout.same_width else d_v} | overrides
        B, H = (axes["B"] if layout.rank >= 3 else 1), (axes["H"] if layout.rank == 4 else 1)
        axes["d_v"] = axes["d_k"] if layout.same_width else axes["d_v"]
        return {
            "query": normal(B, H, axes["L"], axes["d_k"], generator=generator),
            "key": normal(B, H, axes["S"], axes["d_k"], generator=generator),
            "value": normal(B, H, axes["S"], axes["d_v"], generator=generator),
        }

    def sizes(self, tensors: dict[str, Tensor], layout: Layout) -> Sizes:
        B, H, L, d_k = tensors["query"].shape
        S, d_v = tensors["value"].shape[-2:]
        return Sizes(B, H, L, S, d_k, d_v, H * d_k)

    def material(self, tensors: dict[str, Tensor], layout: Layout) -> Material:
        return Material(tensors, self.sizes(tensors, layout))

    def expected_shape(self, sizes: Sizes, layout: Layout) -> tuple[int, ...]:
        return ((), (), (), (sizes.B,), (sizes.B, sizes.H))[layout.rank] + (sizes.L, sizes.d_v)

    def outward(self, tensor: Tensor, layout: Layout) -> Tensor:
        return tensor[0, 0] if layout.rank == 2 else tensor[:, 0] if layout.rank == 3 else tensor

    def inward(self, tensor: Tensor, layout: Layout) -> Tensor:
        return tensor[None, None] if layout.rank == 2 else tensor[:, None] if layout.rank == 3 else tensor

    def cuts(self, layout: Layout) -> list[Cut]:
        """Ways to make a failing input smaller."""

        def shorten(axis: str) -> Cut:
            def cut(tensors: dict[str, Tensor], mask: Tensor | None) -> Inputs | None:
                return _shortened(tensors, mask, axis, layout)

            return cut

        return [shorten(axis) for axis in ("B", "H", "S", "L", "d_v", "d_k")]

    def elsewhere(self, case: Case) -> Iterator[tuple[str, str, Case, int]]:
        """Batch and length exchanged, or heads and length: only what has equal lengths fits."""
        n = case.sizes
        text = f"With B = {n.B} and L = {n.L} it computes attention over the {n.B} sequences of the batch."
        if n.H == 1 and n.B > 1:
            yield "batch-first-swapped", text, self._exchanged(case, 0), 1
        if n.H > 1:
            text = f"With H = {n.H} and L = {n.L} the {n.H} heads of one position attend to each other; no token sees"
            yield "wrong-heads", f"{text} another one. It expects (B, L, H, d_head).", self._exchanged(case, 1), 1

    def _exchanged(self, case: Case, axis: int) -> Case:
        tensors = {role: tensor.transpose(axis, 2) for role, tensor in case.inputs.items()}
        return replace(case, material=self.material(tensors, _ANY), target=case.target.transpose(axis, 2))

    def properties(self) -> tuple[Callable[..., str], ...]:
        return ATTENTION_PROPERTIES

    def steep(self, layout: Layout, top: float, generator: torch.Generator, recipe: Recipe) -> dict[str, Tensor]:
        """Inputs whose scores are about +top in one row and -top in its neighbours of all axes."""
        tensors = self.draw(layout, 0, generator)
        factor = abs(float(recipe["scale"].apply(self.sizes(tensors, layout)))) or 1.0
        d_k = tensors["query"].shape[-1]
        signs = alternating(tensors["query"].shape[:3])[..., None]
        size = (top / (factor * d_k)) ** 0.5
        tensors["query"] = signs * size + 0.01 * tensors["query"]
        slope = torch.linspace(0.2, 1.0, tensors["key"].shape[-2], dtype=torch.float64)[:, None]
        tensors["key"] = size * slope + 0.01 * tensors["key"]
        return tensors

    def gradients(self, tensors: dict[str, Tensor], layout: Layout) -> tuple[dict[str, Tensor], str]:
        """Gradients of a fixed weighted sum of the outputs, by role; or why there are none."""
        reply, given = self.run_for_gradients(tensors, layout)
        if reply.failure is not None:
            return {}, reply.failure.message
        if reply.output is None or not reply.output.requires_grad:
            return {}, "The output does not require a gradient although all inputs do."
        return backward(self.runner, reply.output, given)

    def right_gradients(self, tensors: dict[str, Tensor], layout: Layout, recipe: Recipe) -> dict[str, Tensor]:
        leaves = {role: tensor.clone().requires_grad_() for role, tensor in tensors.items()}
        with torch.enable_grad():
            output, _ = evaluate(recipe, Case(self.material(leaves, layout), None, torch.empty(0)))
            found = torch.autograd.grad((output * weighting(output)).sum(), list(leaves.values()), allow_unused=True)
        return {role: grad for role, grad in zip(leaves, found, strict=True) if grad is not None}


def alternating(shape: torch.Size | tuple[int, ...]) -> Tensor:
    """+1 and -1 like a chessboard."""
    places = torch.zeros(1, 1, 1, dtype=torch.int64)
    for axis, size in enumerate(shape):
        places = places + torch.arange(size).view([size if a == axis else 1 for a in range(3)])
    return 1.0 - 2.0 * (places % 2).double()


def _shortened(
    tensors: dict[str, Tensor], mask: Tensor | None, axis: str, layout: Layout
) -> tuple[dict[str, Tensor], Tensor | None] | None:
    """One entry less on an axis, or None when it has only one."""
    places = {"B": (0, ("query", "key", "value")), "H": (1, ("query", "key", "value")), "L": (2, ("query",)),
              "S": (2, ("key", "value")), "d_k": (3, ("query", "key")), "d_v": (3, ("value",))}  # fmt: skip
    place, roles = places[axis]
    if (layout.square and axis in ("L", "S")) or (layout.same_width and axis in ("d_k", "d_v")):
        roles = ("query", "key", "value")
    if any(tensors[role].shape[place] <= 1 for role in roles):
        return None
    tensors = {role: t.narrow(place, 0, t.shape[place] - 1) if role in roles else t for role, t in tensors.items()}
    if mask is not None:
        for mask_place in {"B": (0,), "H": (1,), "L": (2,), "S": (3,)}.get(axis, ()):
            if mask.shape[mask_place] > 1:
                mask = mask.narrow(mask_place, 0, mask.shape[mask_place] - 1)
        if layout.square and axis in ("L", "S"):
            other = 2 if axis == "S" else 3
            mask = mask.narrow(other, 0, mask.shape[other] - 1) if mask.shape[other] > 1 else mask
        if not bool(mask.any(-1).all()):
            return None
    return tensors, mask
