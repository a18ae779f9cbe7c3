"""Hidden checks of "Masks and what they mean". Never published. course-secret: masks-a86f24"""

import torch

from attention_lib.coursework.model import Assignment, Case, Check
from attention_lib.coursework.words import said

INF = float("inf")


def told(allowed, variant):
    return said(allowed, variant, torch.float32)


def distances(L, S, variant):
    """How far key j lies behind query i."""
    first = S - L if variant["corner"] == "bottom_right" else 0
    return first + torch.arange(L)[:, None] - torch.arange(S)[None, :]


def causal_case(L, S, variant):
    return Case("causal_mask", (L, S), told(distances(L, S, variant) >= 0, variant))


def square(draw):
    return [causal_case(L, L, draw.variant) for L in (1, *draw.sizes(2))]


def unequal(draw):
    L, S = sorted(draw.sizes(2))
    return [causal_case(L, S, draw.variant), causal_case(1, S, draw.variant)]


def padding(draw):
    cases = []
    for S in (7, draw.integer(9, 13)):
        lengths = torch.tensor([S, 1, 0, *(draw.integer(2, S - 1) for _ in range(2))])
        place = torch.arange(S)
        real = place < lengths[:, None] if draw.variant["side"] == "right" else place >= S - lengths[:, None]
        cases.append(Case("padding_mask", (lengths, S), told(real[:, None, None, :], draw.variant)))
    return cases


def window_case(L, S, window, variant):
    behind = distances(L, S, variant)
    allowed = {
        "past": (behind >= 0) & (behind < window),
        "before": (behind >= 0) & (behind <= window),
        "around": behind.abs() < window,
    }[variant["reach"]]
    return Case("window_mask", (L, S, window), told(allowed, variant))


def window(draw):
    return [window_case(n, n, w, draw.variant) for n, w in ((11, 3), (draw.integer(6, 9), 1), (13, draw.integer(2, 5)))]


def window_unequal(draw):
    return [window_case(draw.integer(3, 5), draw.integer(9, 12), draw.integer(2, 4), draw.variant)]


def combined(draw):
    B, L, S = draw.sizes(3)
    cases = []
    for one, other in (((B, 1, L, S), (L, S)), ((L, S), (L, S)), ((B, 1, 1, S), (L, S))):
        first, second = draw.allowed(*one, share=0.7), draw.allowed(*other, share=0.7)
        cases.append(
            Case("combine", (told(first, draw.variant), told(second, draw.variant)), told(first & second, draw.variant))
        )
    return cases


def converted(draw):
    L, S = draw.sizes(2)
    allowed = draw.allowed(L, S)
    return [Case("to_additive", (told(allowed, draw.variant),), torch.where(allowed, 0.0, -INF).float())]


ASSIGNMENT = Assignment(
    id="masks",
    title="Masks and what they mean",
    chapter="07_masks",
    minutes=45,
    goals=(
        "build the three masks of everyday use, also where queries and keys differ in number",
        "combine masks, and convert them, without guessing what True means",
    ),
    functions={
        "causal_mask": "L, S",
        "padding_mask": "lengths, S",
        "window_mask": "L, S, window",
        "combine": "first, second",
        "to_additive": "mask",
    },
    switches=("mask", "corner", "side", "reach"),
    checks=(
        Check("causal", 10, "the causal mask of a square", square),
        Check("causal_unequal", 20, "the causal mask with L < S", unequal),
        Check("padding", 20, "padding, lengths 0 and S included", padding),
        Check("window", 20, "the window of a square", window),
        Check("window_unequal", 10, "the window with L < S", window_unequal),
        Check("combine", 10, "two masks at once", combined),
        Check("to_additive", 10, "your kind of mask as 0 and -inf in float32", converted),
    ),
)
