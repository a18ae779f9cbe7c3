"""Weights in one table: the scores are turned into weights where they stand, and only those are kept."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from attention_lib.paths.large_pages import new_table
from attention_lib.shapes import Float
from attention_lib.steps.masks import as_bias

__all__ = ["fits_lean", "lean_weights"]

FROM_CELLS = 2**16  # 256 x 256; below, the four plain steps are as fast, and any transform of torch.func takes them


def fits_lean(query: Tensor, key: Tensor) -> bool:
    """Whether the table is large enough to be worth it, and no leading axis is shared."""
    return query.shape[-2] * key.shape[-2] >= FROM_CELLS and query.shape[:-2] == key.shape[:-2]


def lean_weights(query: Tensor, key: Tensor, mask: Tensor | None, *, scale: float | None) -> Float[Tensor, "... L S"]:
    """``softmax(scale * Q K^T + mask)`` with one table of scores in memory, forward, and one kept for backward.

    Args:
        query: ``(..., L, d_k)``, float32 or float64.
        key: ``(..., S, d_k)``, with the same leading axes.
        mask: The complete mask, or None.
        scale: Factor on the dot products, None for ``1 / sqrt(d_k)``.

    Returns:
        ``(..., L, S)``; rows with no allowed key are 0.
    """
    factor = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    return _Weights.apply(query, key, None if mask is None else as_bias(mask, query.dtype), factor)


class _Weights(torch.autograd.Function):
    """``weights = softmax(factor * Q K^T + bias)``."""

    @staticmethod
    def forward(query: Tensor, key: Tensor, bias: Tensor | None, factor: float) -> Tensor:
        *leading, L, _ = query.shape
        table = new_table(query, math.prod(leading), L, key.shape[-2])
        flat_query, flat_key = query.reshape(-1, *query.shape[-2:]), key.reshape(-1, *key.shape[-2:])
        torch.baddbmm(table, flat_query, flat_key.transpose(-2, -1), beta=0, alpha=factor, out=table)
        weights = table.view(*leading, L, key.shape[-2])
        if bias is None:
            return torch.softmax(weights, dim=-1, out=weights)
        weights += bias
        torch.softmax(weights, dim=-1, out=weights)
        empty = (bias == -math.inf).all(dim=-1, keepdim=True)
        return weights.masked_fill_(torch.atleast_2d(empty), 0.0)  # NaN so far

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        query, key, bias, ctx.factor = inputs
        ctx.bias_shape = None if bias is None else bias.shape
        ctx.save_for_backward(query, key, output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """``d scores = weights * (d weights - row sum of weights * d weights)``; the rest are matrix products."""
        query, key, weights = ctx.saved_tensors
        grad = weights * grad
        grad -= weights * grad.sum(dim=-1, keepdim=True)  # (..., L, S), of the scores
        to_query = ctx.factor * (grad @ key) if ctx.needs_input_grad[0] else None
        to_key = ctx.factor * (grad.transpose(-2, -1) @ query) if ctx.needs_input_grad[1] else None
        return to_query, to_key, grad.sum_to_size(ctx.bias_shape) if ctx.needs_input_grad[2] else None, None

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[Any, ...], query: Tensor, key: Tensor, bias: Tensor | None, factor: float
    ) -> tuple[Tensor, int]:
        """The mapped axis becomes one more leading axis."""
        query, key = (
            t.expand(info.batch_size, *t.shape) if at is None else t.movedim(at, 0)
            for t, at in zip((query, key), in_dims, strict=False)
        )
        if bias is not None and in_dims[2] is not None:
            bias = bias.movedim(in_dims[2], 0)
            bias = bias.reshape(info.batch_size, *(1,) * (query.ndim - bias.ndim), *bias.shape[1:])
        return _Weights.apply(query, key, bias, factor), 0
