"""The arithmetic of the ring: attention to one block of keys, its gradient, and the merging of two blocks."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from attention_lib.shapes import Float, Int

__all__ = ["Part", "attend_to_block", "block_gradients", "merge_parts"]

CHUNK = 512  # queries at a time, so that no more than 512 x S scores of a head exist at once


class Part(NamedTuple):
    """Attention to some of the keys: ``output`` ``(..., L, d_v)``, ``log_sum`` ``(..., L, 1)`` of its exponentials."""

    output: Tensor
    log_sum: Tensor


def attend_to_block(
    query: Float[Tensor, "... L d_k"],
    key: Float[Tensor, "... S d_k"],
    value: Float[Tensor, "... S d_v"],
    behind: Int[Tensor, "L"],
    first: int | None,
    scale: float,
) -> Part:
    """``output = softmax(scores) V`` over this block alone, and ``log_sum = log(sum(exp(scores)))``.

    Args:
        query: ``(..., L, d_k)``.
        key: ``(..., S, d_k)``, the block.
        value: ``(..., S, d_v)``.
        behind: ``(L,)``, position of each query among all keys.
        first: Position of the block's first key when causal, else None.
        scale: Factor on the dot products.

    Returns:
        :class:`Part`; a query that sees no key of the block has output 0 and ``log_sum`` minus infinity.
    """
    parts = []
    for rows, positions in _chunks(query, behind):
        scores = _scores(rows, key, positions, first, scale)  # (..., chunk, S)
        log_sum = scores.logsumexp(dim=-1, keepdim=True)  # (..., chunk, 1)
        parts.append(Part(_exponentials(scores, log_sum) @ value, log_sum))
    return Part(*(torch.cat(tensors, dim=-2) for tensors in zip(*parts, strict=True)))


def merge_parts(one: Part, other: Part) -> Part:
    """Attention to the keys of both parts, exactly.

    ``log_sum = log(exp(log_sum_1) + exp(log_sum_2))``, ``output = sum of exp(log_sum_i - log_sum) output_i``

    Example:
        >>> one = Part(torch.tensor([[4.0]]), torch.tensor([[0.0]]))  # one key with score 0 and value 4
        >>> other = Part(torch.tensor([[8.0]]), torch.tensor([[1.0986]]))  # one key with score ln 3 and value 8
        >>> merge_parts(one, other).output.round(decimals=3)  # (1 * 4 + 3 * 8) / 4
        tensor([[7.]])

    Source:
        Liu, Zaharia, Abbeel (2023), Ring Attention with Blockwise Transformers; Milakov, Gimelshein (2018), Online
        normalizer calculation for softmax.
    """
    log_sum = torch.logaddexp(one.log_sum, other.log_sum)
    shares = (_exponentials(part.log_sum, log_sum) for part in (one, other))
    output = sum(share * part.output for share, part in zip(shares, (one, other), strict=True))
    return Part(output, log_sum)  # type: ignore[arg-type]


def block_gradients(
    query: Tensor, key: Tensor, value: Tensor, behind: Tensor, first: int | None, scale: float,
    whole: Part, gradient: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """What this block adds to the gradients of query, key and value.

    ``weights = exp(scores - log_sum)``, ``dV = weights^T dO``,
    ``dscores = weights * (dO V^T - sum(dO * O))``, ``dQ = scale dscores K``, ``dK = scale dscores^T Q``

    Args:
        query: As in :func:`attend_to_block`, and so ``key value behind first scale``.
        whole: Output and log-sum over *all* keys.
        gradient: ``(..., L, d_v)``, of the loss by the output.

    Returns:
        Gradients shaped like query, key and value.
    """
    d_query, d_key, d_value = [], torch.zeros_like(key), torch.zeros_like(value)
    falls = (gradient * whole.output).sum(dim=-1, keepdim=True)  # (..., L, 1)
    start = 0
    for rows, positions in _chunks(query, behind):
        here = slice(start, start + rows.shape[-2])
        scores = _scores(rows, key, positions, first, scale)  # (..., chunk, S)
        weights = _exponentials(scores, whole.log_sum[..., here, :])
        d_scores = weights * (gradient[..., here, :] @ value.mT - falls[..., here, :]) * scale
        d_query.append(d_scores @ key)
        d_key += d_scores.mT @ rows
        d_value += weights.mT @ gradient[..., here, :]
        start = here.stop
    return torch.cat(d_query, dim=-2), d_key, d_value


def _chunks(query: Tensor, behind: Tensor) -> zip:
    return zip(query.split(CHUNK, dim=-2), behind.split(CHUNK), strict=True)


def _scores(query: Tensor, key: Tensor, behind: Tensor, first: int | None, scale: float) -> Tensor:
    scores = query @ key.mT * scale
    if first is None:
        return scores
    positions = torch.arange(first, first + key.shape[-2], device=key.device)
    return scores.masked_fill(positions > behind[:, None], -torch.inf)


def _exponentials(scores: Tensor, log_sum: Tensor) -> Tensor:
    """``exp(scores - log_sum)``, and 0 where both are minus infinity."""
    return (scores - log_sum.masked_fill(log_sum == -torch.inf, 0.0)).exp()
