"""Exercises of chapter 13: the whole machine."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from attention_lib.doctor.diagnose import diagnose
from attention_lib.doctor.findings import Diagnosis
from attention_lib.exercises.exercise import Implement, Predict
from attention_lib.steps.scores import dot_product_scores

__all__ = ["EXERCISES"]


def _turns() -> list[tuple[Tensor, Tensor]]:
    generator = torch.Generator().manual_seed(131)
    return [(torch.randn(*shape, generator=generator), torch.rand(shape[-2], shape[-1] // 2, generator=generator))
            for shape in ((5, 6), (2, 3, 7, 10))]  # fmt: skip


def _turn(x: Tensor, angles: Tensor, *, direction: float = 1.0) -> Tensor:
    cos, sin = angles.cos(), direction * angles.sin()
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


def _turn_halves(x: Tensor, angles: Tensor) -> Tensor:
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()), dim=-1)


def _turn_unwoven(x: Tensor, angles: Tensor) -> Tensor:
    a, b = _turn(x, angles)[..., 0::2], _turn(x, angles)[..., 1::2]
    return torch.cat((a, b), dim=-1)


def _reflect(x: Tensor, angles: Tensor) -> Tensor:
    cos, sin, a, b = angles.cos(), angles.sin(), x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos + b * sin, a * sin + b * cos), dim=-1).flatten(-2)


def _norm(x: Tensor) -> Tensor:
    return torch.nn.functional.layer_norm(x, x.shape[-1:])


def _sublayers() -> list[tuple[Tensor, Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]]]:
    generator = torch.Generator().manual_seed(133)
    matrix = torch.randn(7, 7, generator=generator)
    return [(2 + 3 * torch.randn(5, 7, generator=generator), lambda x: x.roll(1, 0) @ matrix, _norm)]


def _images() -> list[tuple[Tensor, int, int]]:
    generator = torch.Generator().manual_seed(134)
    return [(torch.randn(2, 4, 6, 3, generator=generator), 2, 4), (torch.randn(1, 9, 2, 5, generator=generator), 3, 3)]


def _fold(x: Tensor, patch: int, height: int, order: tuple[int, ...] = (0, 5, 3, 1, 4, 2)) -> Tensor:
    rows = height // patch
    x = x.unflatten(2, (rows, -1)).unflatten(1, (patch, patch))  # (B, patch, patch, rows, columns, C)
    return x.permute(*order).reshape(x.shape[0], x.shape[-1], height, -1)


def _rotary_attention(answer: Callable[..., Tensor]) -> Diagnosis:
    def turned(x: Tensor) -> Tensor:
        frequencies = 10000.0 ** (-torch.arange(0, x.shape[-1], 2, dtype=x.dtype) / x.shape[-1])
        return answer(x, torch.arange(x.shape[-2], dtype=x.dtype)[:, None] * frequencies)

    def candidate(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return torch.softmax(dot_product_scores(turned(query), turned(key)), dim=-1) @ value

    return diagnose(candidate, variants=["rotary"])


EXERCISES = {
    "13.1": Predict(
        truth=19.0,
        praise="3 pixels after the first convolution, and 4 more for each of the other four.",
        mistakes={
            11.0: "That is five convolutions without the stride: after it, one step is two pixels.",
            15.0: "That is four convolutions; the first one counts, and four follow it.",
            23.0: "That is six convolutions; the one with the stride is one of the five.",
            5.0: "That counts convolutions, not pixels: each one sees a neighbour on both sides.",
            80.0: "After the first convolution the image is half as large: two pixels a step, not doubling each time.",
        },
        hint="After a stride of 2, one step to the side in the smaller image is two pixels in the original.",
    ),
    "13.2": Implement(
        truth=_turn,
        cases=_turns,
        praise="Every pair is turned by its angle, and no vector has changed its length.",
        mistakes={
            "You turn the other way: sin has the wrong sign.": lambda x, angles: _turn(x, angles, direction=-1.0),
            "You pair the two halves of the vector; here neighbours (2i, 2i + 1) make a pair.": _turn_halves,
            "The pairs are right, but put together in the wrong order: weave them back, one of each.": _turn_unwoven,
            "Both signs are plus: that is no rotation, lengths change.": _reflect,
            "You turn by twice the angle: is the rotation applied twice?": lambda x, angles: _turn(x, 2 * angles),
            "Nothing turns: you return x.": lambda x, angles: x,
        },
        hint="With a = x[..., 0::2] and b = x[..., 1::2], the new pair is (a cos - b sin, a sin + b cos).",
        examine=_rotary_attention,
    ),
    "13.3": Implement(
        truth=lambda x, part, norm: x + part(norm(x)),
        cases=_sublayers,
        praise="The shortcut carries x itself, untouched; only the part sees the normalised copy.",
        mistakes={
            "The shortcut still starts at the normalised x; the original is lost at every layer.": (
                lambda x, part, norm: norm(x) + part(norm(x))
            ),
            "That is post-norm: the sum is normalised, and so is the shortcut.": (
                lambda x, part, norm: norm(x + part(x))
            ),
            "The shortcut is gone: x itself has to be added.": lambda x, part, norm: part(norm(x)),
            "The norm is gone: the part should see norm(x).": lambda x, part, norm: x + part(x),
            "You normalise the part's result; it is the part's input that pre-norm means.": (
                lambda x, part, norm: x + norm(part(x))
            ),
        },
        hint="Pre-norm: what enters the part is normalised, what goes around it is not.",
    ),
    "13.4": Implement(
        truth=_fold,
        cases=_images,
        praise="Every pixel is back where it was.",
        mistakes={
            "Rows and columns inside each patch are exchanged.": (
                lambda x, patch, height: _fold(x, patch, height, (0, 5, 3, 2, 4, 1))
            ),
            "The place in the patch varies slower than the patch: you tile the image with small pictures of itself.": (
                lambda x, patch, height: _fold(x, patch, height, (0, 5, 1, 3, 2, 4))
            ),
            "The numbers are only reshaped: the axes have to be permuted first.": (
                lambda x, patch, height: x.reshape(x.shape[0], x.shape[-1], height, -1)
            ),
            "Columns of patches come before places in the row: (rows, patch) and (columns, patch) belong together.": (
                lambda x, patch, height: _fold(x, patch, height, (0, 5, 3, 4, 1, 2))
            ),
        },
        hint="Split P into (patch, patch) and N into (rows, columns); the height is (rows, patch), the width the rest.",
    ),
}
