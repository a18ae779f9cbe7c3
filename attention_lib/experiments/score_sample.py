"""Random queries and keys, and all that can be read off their scores: the material of score_statistics."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from attention_lib.errors import OptionError
from attention_lib.experiments.control import seeded
from attention_lib.shapes import Float
from attention_lib.steps.scores import dot_product_scores
from attention_lib.steps.softmax import masked_softmax
from attention_lib.steps.values import weighted_sum
from attention_lib.tasks.arguments import check_whole

__all__ = ["RULES", "ScoreSample", "jacobian_norm", "relative_entropy", "score_sample", "started_score_std"]

RULES = {"scaled": lambda d_k: 1 / math.sqrt(d_k), "raw": lambda d_k: 1.0, "divided by d_k": lambda d_k: 1 / d_k}
GROUPS, QUERIES, KEYS, D_V = 64, 8, 32, 8


class ScoreSample(NamedTuple):
    """512 queries, each with 32 keys; float64.

    ``scores`` and ``weights`` (512, 32); ``jacobian`` (512,), the norm of d weights / d scores; ``gradient``
    (512,), the norm of d loss / d query, where the loss is the output's dot product with a random vector.
    """

    scores: Tensor
    weights: Tensor
    jacobian: Tensor
    gradient: Tensor


def score_sample(d_k: int, rule: str = "scaled", *, seed: int = 0) -> ScoreSample:
    """Attend with independent standard normal queries, keys and values; same seed, same tensors for each rule.

    Args:
        d_k: Width of queries and keys.
        rule: "scaled" (by 1/sqrt(d_k)), "raw" or "divided by d_k".
        seed: Of all that is drawn.

    Returns:
        A :class:`ScoreSample`.

    Raises:
        OptionError: No such rule, or a width below 1.

    Example:
        >>> f"{score_sample(64).scores.std():.2f} {score_sample(64, 'raw').scores.std():.2f}"
        '0.99 7.95'
    """
    check_whole(d_k=d_k)
    if rule not in RULES:
        raise OptionError(f"rule={rule!r} is not known; choose one of: {', '.join(RULES)}")
    with seeded(seed) as generator:
        query, key, value, direction = (
            torch.randn(GROUPS, length, width, generator=generator, dtype=torch.float64)
            for length, width in ((QUERIES, d_k), (KEYS, d_k), (KEYS, D_V), (QUERIES, D_V))
        )
        scores = dot_product_scores(query.requires_grad_(), key, scale=RULES[rule](d_k))  # (64, 8, 32)
        weights = masked_softmax(scores)
        loss = (weighted_sum(weights, value) * direction).sum()
        (gradient,) = torch.autograd.grad(loss, query)  # (64, 8, d_k)
    weights = weights.detach().flatten(0, 1)  # (512, 32)
    norms = gradient.norm(dim=-1).flatten()  # (512,)
    return ScoreSample(scores.detach().flatten(0, 1), weights, jacobian_norm(weights), norms)


def jacobian_norm(weights: Float[Tensor, "... S"]) -> Float[Tensor, "..."]:
    r"""Frobenius norm of the softmax's derivative: how far the weights can still move.

    .. math:: J = \operatorname{diag}(p) - p p^\top, \quad \lVert J \rVert_F^2 = \sum p^2 - 2 \sum p^3 + (\sum p^2)^2

    Example:
        A certain choice cannot move; for (1/2, 1/2), J is 1/4 everywhere up to sign, so its norm is 1/2.

        >>> jacobian_norm(torch.tensor([[1.0, 0.0], [0.5, 0.5]]))
        tensor([0.0000, 0.5000])
    """
    square = weights.square().sum(dim=-1)
    return (square - 2 * weights.pow(3).sum(dim=-1) + square.square()).clamp(min=0).sqrt()


def relative_entropy(weights: Float[Tensor, "... S"]) -> Float[Tensor, "..."]:
    """Entropy of each row as a share of the largest possible, ln S: 0 is one key, 1 is all alike.

    Example:
        >>> relative_entropy(torch.tensor([[1.0, 0.0], [0.5, 0.5]]))
        tensor([0., 1.])
    """
    return torch.special.entr(weights).sum(dim=-1) / math.log(weights.shape[-1])


def started_score_std(d_k: int = 64, *, unit_variance: bool = False, seed: int = 0) -> float:
    """Standard deviation of the scaled scores of a layer that has not learned anything yet.

    Args:
        d_k: Width of inputs, queries and keys; the inputs have unit variance.
        unit_variance: Draw W_Q and W_K with variance 1/d_k, so that queries and keys have unit variance;
            otherwise as nn.Linear starts: uniform, variance 1/(3 d_k).
        seed: Of all that is drawn.

    Returns:
        A positive number; 1 is what the argument for sqrt(d_k) supposes.

    Raises:
        OptionError: A width below 1.

    Example:
        >>> f"{started_score_std():.1f} {started_score_std(unit_variance=True):.1f}"
        '0.3 1.0'
    """
    check_whole(d_k=d_k)
    with seeded(seed) as generator:
        x = torch.randn(256, d_k, generator=generator)
        w_q, w_k = nn.Linear(d_k, d_k, bias=False), nn.Linear(d_k, d_k, bias=False)
        for linear in (w_q, w_k) if unit_variance else ():
            nn.init.normal_(linear.weight, std=1 / math.sqrt(d_k))
        with torch.no_grad():
            scores = dot_product_scores(w_q(x), w_k(x))  # (256, 256)
        different = ~torch.eye(256, dtype=torch.bool)
        return scores[different].std().item()
