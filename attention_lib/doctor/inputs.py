"""The inputs a candidate is tried on: random tensors with distinct prime axes, and masks in every usual form."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from attention_lib.steps.masks import allowed_by_position

__all__ = ["FORMS", "Form", "normal", "present", "random_mask"]


@dataclass(frozen=True)
class Form:
    """A shape in which a mask may be handed over.

    Attributes:
        axes: Its axes, such as ``B 1 1 S``.
        ranks: The ranks of the scores it goes with; 3 for (B, L, S), 4 for (B, H, L, S).
        expected: Whether every candidate should take it. The others are tried only when these all fail.
    """

    axes: str
    ranks: tuple[int, ...]
    expected: bool = True

    @property
    def only_keys(self) -> bool:
        return "L" not in self.axes

    @property
    def lengths(self) -> bool:
        return self.axes == "lengths"

    @property
    def per_batch(self) -> bool:
        return "B" in self.axes or self.lengths


FORMS = (
    Form("L S", (2, 3, 4)),
    Form("B 1 L S", (4,)),
    Form("B L S", (3,)),
    Form("B 1 1 S", (4,)),
    Form("B 1 S", (3,)),
    Form("B H L S", (4,), expected=False),
    Form("B L S", (4,), expected=False),
    Form("B S", (3, 4), expected=False),
    Form("B 1 S", (4,), expected=False),
    Form("lengths", (3, 4), expected=False),
    Form("1 S", (2, 3, 4), expected=False),
)


def normal(*shape: int, generator: torch.Generator) -> Tensor:
    """Standard normal float64 numbers that float32 holds exactly."""
    return torch.randn(shape, generator=generator, dtype=torch.float32).double()


def random_mask(form: Form, sizes: dict[str, int], generator: torch.Generator, *, empty: bool = False) -> Tensor:
    """A boolean mask ``(B or 1, H or 1, L or 1, S)``, True = may attend, for a form.

    Every row allows and blocks at least one key; with ``empty`` the first row, or the first sequence, allows none.
    Forms without an L axis get padding at the end.
    """
    B = sizes["B"] if form.per_batch else 1
    H, L, S = sizes["H"] if "H" in form.axes else 1, sizes["L"], sizes["S"]
    if form.only_keys:
        lengths = [max(S - 2 - b, 1) for b in range(B)]
        mask = torch.arange(S)[None, None, None] < torch.tensor(lengths)[:, None, None, None]
        if empty:
            mask[0] = False
        return mask
    mask = _scattered(B, H, L, S, generator)
    for _ in range(8):  # where L > S no draw may do
        if _mostly_filled(mask):
            break
        mask = _scattered(B, H, L, S, generator)
    if empty:
        mask[:, :, 0] = False
    return mask


def _scattered(B: int, H: int, L: int, S: int, generator: torch.Generator) -> Tensor:
    """``(B, H, L, S)``, a little more than half True, in no row all or none."""
    mask = torch.rand(B, H, L, S, generator=generator) < 0.55
    mask.scatter_(-1, torch.randint(S, (B, H, L, 1), generator=generator), True)
    off = torch.randint(S, (B, H, L, 1), generator=generator)
    only = mask.sum(-1, keepdim=True) == 1
    return mask.scatter_(-1, off, mask.gather(-1, off) & only)


def _mostly_filled(mask: Tensor) -> bool:
    """Whether most rows keep a key under a causal mask: what comes out for the others says nothing."""
    L, S = mask.shape[-2:]
    return bool(
        (mask & allowed_by_position(torch.arange(S - L, S), S, causal=True, window=None)).any(-1).double().mean() > 0.5
    )


def present(mask: Tensor, form: Form, convention: str, dtype: torch.dtype, number: str) -> Tensor:
    """The mask as the candidate gets it.

    Args:
        mask: ``(B or 1, H or 1, L or 1, S)``, True = may attend.
        form: The axes wanted.
        convention: ``allowed``, ``blocked`` or ``additive``.
        dtype: Dtype of float masks.
        number: ``bool``, ``int`` or ``float`` for the first two conventions, ``-inf`` or ``finite`` for additive.
    """
    axes = form.axes.split()
    if "H" not in axes and len(axes) != 4:
        mask = mask[:, 0]  # (B or 1, L or 1, S)
    if "L" not in axes and len(axes) == 2 and mask.ndim == 3:
        mask = mask[:, 0]  # (B, S)
    elif len(axes) == 2 and mask.ndim == 3:
        mask = mask[0]  # (L, S)
    if convention == "additive":
        low = -math.inf if number == "-inf" else torch.finfo(dtype).min
        return torch.zeros(mask.shape, dtype=dtype).masked_fill(~mask, low)
    mask = ~mask if convention == "blocked" else mask.clone()
    return {"bool": mask, "int": mask.long(), "float": mask.to(dtype)}[number]
