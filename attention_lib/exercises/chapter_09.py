"""Exercises of chapter 9: meaning in context. None of them needs the pretrained weights."""

from __future__ import annotations

import functools
import math

import torch
from torch import Tensor

from attention_lib.exercises.around import MaskedLayer, as_layer
from attention_lib.exercises.exercise import Implement, Predict
from attention_lib.steps.heads import merge_heads, split_heads
from attention_lib.steps.softmax import masked_softmax

__all__ = ["EXERCISES"]

NUM_HEADS = 3


def _maps_and_values() -> list[tuple[Tensor, ...]]:
    generator = torch.Generator().manual_seed(92)
    weights = masked_softmax(torch.randn(NUM_HEADS, 5, 7, generator=generator))
    value = torch.randn(NUM_HEADS, 7, 4, generator=generator) * torch.arange(1.0, 8.0)[:, None]
    w_o = torch.randn(NUM_HEADS, 4, 11, generator=generator)
    return [(weights, value, w_o)]


def _projections() -> list[tuple[Tensor, int, int]]:
    generator = torch.Generator().manual_seed(93)
    return [(torch.randn(12, 12, generator=generator), head, NUM_HEADS) for head in (0, 2)]


def _maps() -> list[tuple[Tensor]]:
    generator = torch.Generator().manual_seed(94)
    return [(masked_softmax(2 * torch.randn(2, NUM_HEADS, 7, 7, generator=generator)),)]


def _norms(vectors: Tensor) -> Tensor:
    return vectors.norm(dim=-1)[..., None, :]


def _without_head(weight: Tensor, head: int, num_heads: int) -> Tensor:
    width = weight.shape[1] // num_heads
    weight[:, head * width : (head + 1) * width] = 0
    return weight


def _without_rows(weight: Tensor, head: int, num_heads: int) -> Tensor:
    return _without_head(weight.T, head, num_heads).T


def _without_every_third(weight: Tensor, head: int, num_heads: int) -> Tensor:
    weight[:, head::num_heads] = 0
    return weight


def _shares(weights: Tensor, dim: int = -1) -> Tensor:
    return weights / weights.sum(dim=dim, keepdim=True)


def _layers() -> list[tuple[object, ...]]:
    generator = torch.Generator().manual_seed(95)
    x = torch.randn(2, 5, 12, generator=generator)
    matrices = [torch.randn(12, 12, generator=generator) / 3 for _ in range(4)]
    kept = (torch.arange(5) < torch.tensor([[5], [3]]))[:, None, None, :]  # (B, 1, 1, S)
    return [(x, *matrices, NUM_HEADS, None), (x, *matrices, NUM_HEADS, kept)]


def _layer(
    x: Tensor, W_Q: Tensor, W_K: Tensor, W_V: Tensor, W_O: Tensor, num_heads: int, mask: Tensor | None,
    *, split: bool = True, scale: bool = True, masked: bool = True,
) -> Tensor:  # fmt: skip
    """A right answer to 9.5, or one with the faults asked for."""
    B, n, d_model = x.shape
    parts = [x @ W for W in (W_Q, W_K, W_V)]
    query, key, value = (split_heads(part, num_heads) if split else part.reshape(B, num_heads, n, -1) for part in parts)
    scores = query @ key.mT / math.sqrt(d_model // num_heads if scale else d_model)
    return merge_heads(masked_softmax(scores, mask if masked else None) @ value) @ W_O


EXERCISES = {
    "9.1": Predict(
        truth=72 * 79 / 4096,
        praise="72 times 79/4096: the best of many heads looks good by luck alone. Choose on some data, test on other.",
        mistakes={
            79 / 4096: "That is the chance of one head; there are 72 of them.",
            72 * 66 / 4096: "That counts exactly 10 of 12; 11 and 12 are more than enough.",
            72 * 13 / 4096: "That counts 11 and 12; with 10 you have to add 66 more ways.",
            36.0: "Half of the heads are right more often than six times; the question asks for ten.",
        },
        hint="In how many of the 4096 outcomes of 12 coins are at least 10 heads up? 66 + 12 + 1.",
        tolerance=0.02,
    ),
    "9.2": Implement(
        truth=lambda weights, value, w_o: weights * _norms(value @ w_o),
        cases=_maps_and_values,
        praise="A large weight on a short vector is a small contribution.",
        mistakes={
            "W_O is missing: a value counts with the length it has after the output projection.": (
                lambda weights, value, w_o: weights * _norms(value)
            ),
            "Those are the lengths of the values alone, the same for each query; the weights are missing.": (
                lambda weights, value, w_o: torch.ones_like(weights) * _norms(value @ w_o)
            ),
            "You took the squared length; a contribution of twice the size should count twice.": (
                lambda weights, value, w_o: weights * _norms(value @ w_o) ** 2
            ),
            "Those are shares that sum to 1 in each row; the lengths themselves are asked for.": (
                lambda weights, value, w_o: _shares(weights * _norms(value @ w_o))
            ),
        },
        hint="For head h, query i and key j: the weight, times the length of value_j W_O.",
    ),
    "9.3": Implement(
        truth=_without_head,
        cases=_projections,
        praise="nn.Linear keeps (out, in), so what comes in from one head is a block of columns.",
        mistakes={
            "You still cut rows: those are features of the output, which every head writes to.": _without_rows,
            "Heads lie side by side after the merge; you take every third column instead of a block.": (
                _without_every_third
            ),
            "The columns are right, but that keeps the head and removes all the others.": (
                lambda weight, head, num_heads: weight - _without_head(weight.clone(), head, num_heads)
            ),
            "Nothing was removed.": lambda weight, head, num_heads: weight,
        },
        hint="The weight is stored as (out, in). Which axis do the merged heads come in on?",
    ),
    "9.4": Implement(
        truth=lambda weights: _shares(weights[..., 1:-1]),
        cases=_maps,
        praise="Every row sums to 1 again, and only words are in it.",
        mistakes={
            "The rows no longer sum to 1: share out what is left.": lambda weights: weights[..., 1:-1],
            "The columns sum to 1 now; rows should.": lambda weights: _shares(weights[..., 1:-1], dim=-2),
            "Only [CLS] is gone; the last token is [SEP].": lambda weights: _shares(weights[..., 1:]),
            "You removed queries as well; only the keys of the two marks should go.": (
                lambda weights: _shares(weights[..., 1:-1, 1:-1])
            ),
            "A softmax of weights flattens them; divide by the sum instead.": (
                lambda weights: torch.softmax(weights[..., 1:-1], dim=-1)
            ),
        },
        hint="Leave out the first and the last key, then divide each row by its sum.",
    ),
    "9.5": Implement(
        truth=_layer,
        cases=_layers,
        praise="Heads cut from each token, scores divided by the root of a head's width, padding out of sight.",
        mistakes={
            "The padding is still read: use the mask before the softmax.": functools.partial(_layer, masked=False),
            "The heads are still cut across tokens: view(B, n, H, d) first, then exchange n and H.": (
                functools.partial(_layer, split=False)
            ),
            "You still divide by the root of d_model; a head's score has d_model / H terms.": (
                functools.partial(_layer, scale=False)
            ),
        },
        hint="Three lines are wrong: how heads are cut, what the scores are divided by, and what happens to the mask.",
        examine=as_layer(MaskedLayer),
    ),
}
