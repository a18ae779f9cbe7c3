"""Exercises of chapter 4: scores and scaling."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from attention_lib.exercises.around import as_scores
from attention_lib.exercises.exercise import Implement, Predict

__all__ = ["EXERCISES"]


def _pairs() -> list[tuple[Tensor, ...]]:
    generator = torch.Generator().manual_seed(41)
    shapes = (((5, 13), (7, 13)), ((2, 3, 13), (2, 5, 13)))  # (..., L, d_k) and (..., S, d_k)
    return [tuple(torch.randn(shape, generator=generator) for shape in pair) for pair in shapes]


def _head_pairs() -> list[tuple[Tensor, ...]]:
    generator = torch.Generator().manual_seed(43)
    return [tuple(torch.randn(2, 3, length, 11, generator=generator) for length in (5, 7))]  # (B, H, L, d_head)


def _uneven_pairs() -> list[tuple[Tensor, ...]]:
    generator = torch.Generator().manual_seed(44)
    query, key = (torch.randn(400, 16, generator=generator) for _ in range(2))
    return [(0.5 * query, 3.0 * key), (2.0 * query, 2.0 * key)]


def _scores(query: Tensor, key: Tensor, factor: float) -> Tensor:
    return query @ key.transpose(-2, -1) * factor


def _unit_scale(query: Tensor, key: Tensor) -> Tensor:
    return 1 / (math.sqrt(query.shape[-1]) * query.std() * key.std())


EXERCISES = {
    "4.1": Predict(
        truth=8.0,
        praise="The variance is d_k = 64; its root is 8.",
        mistakes={
            64.0: "That is the variance; the standard deviation is its root.",
            1.0: "That is the spread after scaling; the question is about the raw score.",
            0.125: "That is the factor 1/sqrt(64) by which the score is scaled; what spread does it undo?",
            4096.0: "Variances add, they do not multiply: 64 terms of variance 1.",
        },
        hint="A raw score is a sum of 64 independent terms of variance 1 each.",
    ),
    "4.2": Implement(
        truth=lambda query, key: _scores(query, key, query.shape[-1] ** -0.5),
        cases=_pairs,
        praise="Every query against every key, divided by the root of their width.",
        mistakes={
            "The scaling is missing: your scores are sqrt(d_k) times too large.": lambda q, k: _scores(q, k, 1.0),
            "You divide by d_k instead of its root: wide heads will see nearly equal scores.": (
                lambda q, k: _scores(q, k, 1 / q.shape[-1])
            ),
            "You multiply by sqrt(d_k) instead of dividing.": lambda q, k: _scores(q, k, q.shape[-1] ** 0.5),
            "You divide by the root of the number of keys; it is the width d_k (the last axis) that counts.": (
                lambda q, k: _scores(q, k, k.shape[-2] ** -0.5)
            ),
            "Scaled twice: once by the root on each side is d_k in all.": (
                lambda q, k: _scores(q / q.shape[-1] ** 0.5, k / k.shape[-1] ** 0.5, q.shape[-1] ** -0.5)
            ),
            "Queries and keys have changed places: rows are queries, columns are keys.": (
                lambda q, k: _scores(k, q, q.shape[-1] ** -0.5)
            ),
        },
        hint="The shape is (..., L, S): transpose the last two axes of the keys, and leave the leading ones alone.",
        examine=as_scores(),
    ),
    "4.3": Implement(
        truth=lambda query, key: _scores(query, key, query.shape[-1] ** -0.5),
        cases=_head_pairs,
        praise="Each head has its own width, d_head, and that is what it divides by.",
        mistakes={
            "You still divide by the root of the number of heads.": lambda q, k: _scores(q, k, q.shape[1] ** -0.5),
            "You divide by sqrt(d_model); a head only sums over its own d_head numbers.": (
                lambda q, k: _scores(q, k, (q.shape[1] * q.shape[-1]) ** -0.5)
            ),
            "You divide by the root of the length; that axis is not summed over.": (
                lambda q, k: _scores(q, k, q.shape[2] ** -0.5)
            ),
            "The wrong divisor is gone, but so is the scaling.": lambda q, k: _scores(q, k, 1.0),
        },
        hint="Over how many products does one score of one head sum?",
        examine=as_scores(),
    ),
    "4.4": Implement(
        truth=_unit_scale,
        cases=_uneven_pairs,
        praise="The root of d_k takes care of the width, the two standard deviations of everything else.",
        mistakes={
            "That is the textbook's factor; it assumes standard deviations of 1, and these are not.": (
                lambda q, k: torch.tensor(q.shape[-1] ** -0.5)
            ),
            "You divide by the variances; the spread of a product of two numbers goes with their deviations.": (
                lambda q, k: 1 / (math.sqrt(q.shape[-1]) * q.var() * k.var())
            ),
            "You use d_k where its root belongs.": lambda q, k: 1 / (q.shape[-1] * q.std() * k.std()),
            "Only one of the two standard deviations is in it: the keys have one of their own.": (
                lambda q, k: 1 / (math.sqrt(q.shape[-1]) * q.std())
            ),
            "You return the spread of the scores; the factor that undoes it is one over that.": (
                lambda q, k: math.sqrt(q.shape[-1]) * q.std() * k.std()
            ),
        },
        hint="std(q.k) = sqrt(d_k) * std(q) * std(k) for independent entries of mean 0.",
        tolerance=0.03,
    ),
}
