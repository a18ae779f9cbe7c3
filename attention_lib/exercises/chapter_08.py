"""Exercises of chapter 8: several heads."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from attention_lib.doctor.diagnose import diagnose
from attention_lib.doctor.findings import Diagnosis
from attention_lib.exercises.around import as_is
from attention_lib.exercises.exercise import Implement, Predict
from attention_lib.steps.heads import merge_heads, split_heads

__all__ = ["EXERCISES"]


def _wide() -> list[tuple[Tensor, int]]:
    generator = torch.Generator().manual_seed(82)
    shapes = (((2, 5, 12), 3), ((3, 7, 10), 2))  # (B, L, d_model) and H
    return [(torch.randn(shape, generator=generator), heads) for shape, heads in shapes]


def _heads() -> list[tuple[Tensor, Tensor]]:
    generator = torch.Generator().manual_seed(83)
    shapes = ((2, 3, 5, 4), (1, 2, 7, 5))  # (B, H, L, d_head)
    return [
        (torch.randn(B, H, L, d, generator=generator), torch.randn(H * d, H * d, generator=generator))
        for B, H, L, d in shapes
    ]


def _one_of_the_heads() -> list[tuple[Tensor, Tensor, int]]:
    return [(heads, W_O, head) for heads, W_O in _heads() for head in (0, 1)]


def _own_rows(heads: Tensor, W_O: Tensor, head: int) -> Tensor:
    d_head = heads.shape[-1]
    return W_O[head * d_head : (head + 1) * d_head]


def _only(heads: Tensor, head: int) -> Tensor:
    kept = torch.zeros_like(heads)
    kept[:, head] = heads[:, head]
    return kept


def _merged(answer: Callable[..., Tensor]) -> Diagnosis:
    """The answer with a W_O that changes nothing is the merge alone."""
    return diagnose(lambda x: answer(x, torch.eye(x.shape[1] * x.shape[3], dtype=x.dtype)), "merge_heads")


EXERCISES = {
    "8.1": Predict(
        truth=4 * 512**2,
        praise="Four square matrices of 512 by 512, however many heads they are cut into.",
        mistakes={
            8 * 4 * 512**2: "You gave each of the 8 heads matrices of its own at full width; a head has a slice of 64.",
            3 * 512**2: "W_Q, W_K and W_V are there; a fourth matrix mixes the heads at the end.",
            4 * 512 * 64: "That is what one head has; there are eight.",
            512**2: "That is one of the matrices.",
            4 * 512**2 + 4 * 512: "You counted biases; this layer has none.",
        },
        hint="How many matrices are there, and how large is each, before it is cut into heads?",
        tolerance=1e-4,
    ),
    "8.2": Implement(
        truth=split_heads,
        cases=_wide,
        praise="First cut the width, then move the heads before the length.",
        mistakes={
            "The numbers of different tokens are mixed: cut the last axis first, then transpose.": (
                lambda x, heads: x.reshape(x.shape[0], heads, x.shape[1], -1)
            ),
            "The cut is right, but the heads stand after the length; the shape is (B, H, L, d_head).": (
                lambda x, heads: x.unflatten(-1, (heads, -1))
            ),
            "A head takes every H-th number of yours; it takes a slice of neighbours.": (
                lambda x, heads: x.unflatten(-1, (-1, heads)).permute(0, 3, 1, 2)
            ),
            "The last two axes have changed places: (B, H, L, d_head).": (
                lambda x, heads: split_heads(x, heads).transpose(2, 3)
            ),
            "Every head gets the full width: nothing has been cut.": (
                lambda x, heads: x[:, None].expand(-1, heads, -1, -1)
            ),
        },
        hint="The result has shape (B, H, L, d_head), and heads[b, h, i] is a slice of x[b, i].",
        examine=as_is("split_heads"),
    ),
    "8.3": Implement(
        truth=lambda heads, W_O: merge_heads(heads) @ W_O,
        cases=_heads,
        praise="The heads of one token stand side by side again before the rows are cut.",
        mistakes={
            "The heads are still merged without transposing back: row 0 holds several tokens of head 0.": (
                lambda heads, W_O: heads.reshape(heads.shape[0], heads.shape[2], -1) @ W_O
            ),
            "The merge is right now, but W_O has gone.": lambda heads, W_O: merge_heads(heads),
            "You transpose the width and the length; it is heads and length that change places.": (
                lambda heads, W_O: heads.transpose(2, 3).reshape(heads.shape[0], heads.shape[2], -1) @ W_O
            ),
            "The numbers of the heads are interleaved; each head keeps its slice together.": (
                lambda heads, W_O: heads.permute(0, 2, 3, 1).flatten(2) @ W_O
            ),
            "W_O is transposed: rows of vectors are multiplied from the left.": (
                lambda heads, W_O: merge_heads(heads) @ W_O.T
            ),
        },
        hint="Which axis has to stand beside d_head when the two are flattened into one?",
        examine=_merged,
    ),
    "8.4": Implement(
        truth=lambda heads, W_O, head: heads[:, head] @ _own_rows(heads, W_O, head),
        cases=_one_of_the_heads,
        praise="Head h meets only its own d_head rows of W_O; the sum over h is the whole output.",
        mistakes={
            "You took the columns of W_O; a head meets d_head of its rows.": (
                lambda heads, W_O, head: heads[:, head] @ _own_rows(heads, W_O.T, head)
            ),
            "That is everything but this head: the output that is left when it is taken out.": (
                lambda heads, W_O, head: merge_heads(heads - _only(heads, head)) @ W_O
            ),
            "That is the head itself; W_O has not spread it over the width yet.": (
                lambda heads, W_O, head: merge_heads(_only(heads, head))
            ),
            "Every head is in it: that is the whole output.": lambda heads, W_O, head: merge_heads(heads) @ W_O,
            "You divide by the number of heads; contributions are added, not averaged.": (
                lambda heads, W_O, head: heads[:, head] @ _own_rows(heads, W_O, head) / heads.shape[1]
            ),
        },
        hint="Set all other heads to zero before the merge: which rows of W_O are still used?",
    ),
}
