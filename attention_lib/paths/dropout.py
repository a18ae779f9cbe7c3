"""The path that drops weights: a few queries at a time, so that no table of all weights is made or kept.

Backward computes the weights of each piece again, and throws the same coins from the same seed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from attention_lib.shapes import Float
from attention_lib.steps.masks import allowed_by_position, as_bias, reach_of, restrict
from attention_lib.steps.precision import widen

__all__ = ["Seen", "fits_pieces", "piecewise_dropout"]

FROM_CELLS = 2**16  # 256 x 256; below, the explicit path is as fast
CELLS_ON_CPU = 2**19  # in work at a time: more leave the cache, fewer leave two threads too little to share
CELLS_ELSEWHERE = 2**26
SIDES = 2**16  # of a coin: 16 random bits a weight


def fits_pieces(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> bool:
    """Whether the table is large, no leading axis is shared, the mask is not learned, and nothing of torch.func is on.

    There coins are thrown as ``randomness`` of ``torch.func.vmap`` says, which torch does for its own operations alone.
    """
    if torch._C._are_functorch_transforms_active():
        return False
    large = query.shape[-2] * key.shape[-2] >= FROM_CELLS
    alike = query.shape[:-2] == key.shape[:-2] == value.shape[:-2]
    return large and alike and (mask is None or not mask.requires_grad)


class Seen(NamedTuple):
    """Which keys a query may see: the caller's mask, and what its position allows."""

    mask: Tensor | None
    causal: bool
    window: int | None


def piecewise_dropout(
    query: Tensor, key: Tensor, value: Tensor, seen: Seen, *, scale: float | None, dropout_p: float
) -> Float[Tensor, "... L d_v"]:
    """``dropout(softmax(scale * Q K^T + mask)) V``, piece by piece.

    The coins come from 16 random bits a weight: ``dropout_p`` is taken to the nearest 1/65,536, and what is kept is
    divided by exactly the share that is kept.

    Args:
        query: ``(..., L, d_k)``, the last L of the S positions.
        key: ``(..., S, d_k)``, the same leading axes.
        value: ``(..., S, d_v)``, the same leading axes.
        seen: The caller's mask, ``causal`` and ``window``.
        scale: Factor on the dot products, None for ``1 / sqrt(d_k)``.
        dropout_p: In [0, 1).

    Returns:
        ``(..., L, d_v)`` in the value's dtype; rows with no allowed key are 0. Not differentiable twice.

    Source:
        Srivastava et al. (2014), Dropout; Chen et al. (2016), Training Deep Nets with Sublinear Memory Cost.
    """
    factor = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    seed = int(torch.randint(2**62, (), device="cpu"))  # torch's generator moves on, as for any dropout
    plan = _Plan(query, key, seen, factor=factor, dropout_p=dropout_p, seed=seed)
    return _Pieces.apply(widen(query), widen(key), widen(value), seen.mask, plan).to(value.dtype)


class _Piece(NamedTuple):
    """Some rows of one head (or of all heads, where ``head`` is ``()``), the keys in their reach, what they may see."""

    head: tuple[int, ...]
    rows: slice
    keys: slice
    seen: Tensor | None


class _Plan:
    """Everything but the tensors: which pieces there are, and the coins of each."""

    def __init__(self, query: Tensor, key: Tensor, seen: Seen, *, factor: float, dropout_p: float, seed: int) -> None:
        self.L, self.S, self.leading, self.device = query.shape[-2], key.shape[-2], query.shape[:-2], query.device
        self.causal, self.window, self.factor, self.seed = seen.causal, seen.window, factor, seed
        self.dropped = min(round(dropout_p * SIDES), SIDES - 1)  # of SIDES equally likely numbers
        self.kept = 1.0 - self.dropped / SIDES

    def pieces(self) -> Iterator[_Piece]:
        """One head at a time on a CPU, whose cache then holds the piece; elsewhere all, so that kernels are few."""
        alone = self.device.type == "cpu"
        heads = list(itertools.product(*map(range, self.leading))) if alone else [()]
        cells = CELLS_ON_CPU if alone else CELLS_ELSEWHERE // max(1, math.prod(self.leading))
        step = min(512, max(64, cells // max(1, self.S)))
        before, after = reach_of(causal=self.causal, window=self.window)
        for start in range(0, self.L, step):
            rows, position = slice(start, min(start + step, self.L)), self.S - self.L + start
            stop = min(self.S, position + rows.stop - start + after)
            keys = slice(max(0, position - before), max(0, stop))
            seen = self._seen(position, rows, keys)
            for head in heads:
                yield _Piece(head, rows, keys, seen)

    def _seen(self, position: int, rows: slice, keys: slice) -> Tensor | None:
        if not self.causal and self.window is None:
            return None
        positions = torch.arange(position, position + rows.stop - rows.start, device=self.device) - keys.start
        return allowed_by_position(positions, keys.stop - keys.start, causal=self.causal, window=self.window)

    def coins(self) -> Callable[[Tensor], Tensor]:
        """A function that gives each entry of a table 1 (kept) or 0; the same coins each time it is made."""
        generator = torch.Generator(self.device).manual_seed(self.seed)
        least = self.dropped - SIDES // 2  # that is kept, of int16

        def keep(table: Tensor) -> Tensor:
            if not self.dropped:
                return torch.ones_like(table)
            words = torch.empty(-(-table.numel() // 4), dtype=torch.int64, device=self.device)
            words.random_(-(2**63), None, generator=generator)
            numbers = words.view(torch.int16)[: table.numel()].view(table.shape)
            # The same as ``numbers >= least``, in 37 us for 2^18 numbers; the comparison takes 120, and a product
            # of floats with booleans another 150.
            return numbers.clamp_(least - 1, least).sub_(least - 1).to(table.dtype)

        return keep

    def weights(self, query: Tensor, key: Tensor, mask: Tensor | None, piece: _Piece) -> Tensor:
        """Of one piece, before dropout. ``query`` is multiplied by the factor already."""
        table = query @ key.transpose(-2, -1)
        part = None if mask is None else _cut(mask, self.leading, piece)
        if piece.seen is not None:
            part = restrict(part, piece.seen)
        if part is None:
            return torch.softmax(table, dim=-1, out=table)
        bias = as_bias(part, table.dtype)
        table += bias
        torch.softmax(table, dim=-1, out=table)
        if mask is None and self.L <= self.S:  # every row sees itself
            return table
        return table.masked_fill_((bias == -math.inf).all(dim=-1, keepdim=True), 0.0)  # NaN so far


def _cut(mask: Tensor, leading: tuple[int, ...], piece: _Piece) -> Tensor:
    mask = torch.atleast_2d(mask)
    if mask.ndim > 2 and piece.head:
        mask = mask.expand(*leading, *mask.shape[-2:])[piece.head]
    mask = mask if mask.shape[-2] == 1 else mask[..., piece.rows, :]
    return mask if mask.shape[-1] == 1 else mask[..., piece.keys]


class _Pieces(torch.autograd.Function):
    """``output = (keep * weights / kept) V``, keep being thrown anew, and alike, in both directions."""

    @staticmethod
    def forward(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, plan: _Plan) -> Tensor:
        output = query.new_empty(*query.shape[:-1], value.shape[-1])
        keep = plan.coins()
        for piece in plan.pieces():
            head, rows, keys, _ = piece
            scaled = query[head][..., rows, :] * plan.factor
            weights = plan.weights(scaled, key[head][..., keys, :], mask, piece)
            weights *= keep(weights)
            output[head][..., rows, :] = (weights @ value[head][..., keys, :]) / plan.kept
        return output

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        *tensors, ctx.plan = inputs
        ctx.save_for_backward(*tensors, output)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """``d scores = keep * weights * d kept - weights * (row sum of output * d output)``."""
        query, key, value, mask, output = ctx.saved_tensors
        plan, keep = ctx.plan, ctx.plan.coins()
        to_query, to_key, to_value = torch.empty_like(query), _upright_zeros(key), _upright_zeros(value)
        share = (output * grad).sum(dim=-1, keepdim=True)  # (..., L, 1)
        for piece in plan.pieces():
            head, rows, keys, _ = piece
            q, k, v = query[head][..., rows, :] * plan.factor, key[head][..., keys, :], value[head][..., keys, :]
            weights, from_output = plan.weights(q, k, mask, piece), grad[head][..., rows, :] / plan.kept
            left = keep(weights).mul_(weights)
            _add_product(to_value[head][..., keys, :], left.transpose(-2, -1), from_output)
            scores = from_output @ v.transpose(-2, -1)
            scores *= left
            scores.addcmul_(weights, share[head][..., rows, :], value=-1)  # the gradient of the scores
            to_query[head][..., rows, :] = (scores @ k) * plan.factor
            _add_product(to_key[head][..., keys, :], scores.transpose(-2, -1), q)
        return to_query, to_key, to_value, None, None


def _upright_zeros(like: Tensor) -> Tensor:
    """Zeros whose columns lie together: a product whose left factor is transposed runs a quarter faster into them."""
    return torch.zeros_like(like.mT, memory_format=torch.contiguous_format).mT


def _add_product(total: Tensor, left: Tensor, right: Tensor) -> None:
    """``total += left @ right``, for one head without a table in between."""
    if total.ndim == 2:
        total.addmm_(left, right)
    else:
        total += left @ right
