"""Ring attention: each process holds a slice of the sequence, and keys and values travel round once."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.autograd.function import once_differentiable

from attention_lib.paths.ring_blocks import Part, attend_to_block, block_gradients, merge_parts
from attention_lib.paths.ring_processes import Passing, check_alike, require_group
from attention_lib.shapes import Float
from attention_lib.steps.precision import widen

__all__ = ["ring_attention"]


def ring_attention(
    query: Float[Tensor, "... L d_k"],
    key: Float[Tensor, "... S d_k"],
    value: Float[Tensor, "... S d_v"],
    *,
    causal: bool = False,
    scale: float | None = None,
    group: Any = None,
) -> Float[Tensor, "... L d_v"]:
    """Attention over a sequence that is cut among the processes of a group; every process calls it with its slice.

    ``output = softmax(scale * Q K^T) V`` with the keys of all processes. Process r of P holds slice r. In each of
    P - 1 steps a process passes the keys and values it holds to the next one, so that no process ever holds more
    than two slices; the parts are merged by their log-sum-exp, which is exact. Backward goes round once more, the
    gradients of keys and values travelling with them.

    Args:
        query: ``(..., L, d_k)``, this process's slice; equal shapes in all processes.
        key: ``(..., S, d_k)``; with four axes or more it may have fewer heads, as in ``attention``.
        value: ``(..., S, d_v)``.
        causal: Queries see no later position; the P L queries are the last of the P S positions. Blocks that lie
            wholly in the future are not computed, so that the last process works most.
        scale: Factor on the dot products; None is ``1 / sqrt(d_k)``.
        group: A process group; None is the default one.

    Returns:
        ``(..., L, d_v)``, this process's rows, in the query's dtype; computed in at least float32. A row that no key
        may be seen from is 0. When one process calls backward, all must.

    Raises:
        OptionError: There is no process group, or the processes disagree about ``causal``, ``scale`` or gradients.
        ShapeError: The slices of the processes differ in shape or dtype, or do not fit together in one of them. It
            is raised in *every* process, so that none waits for the others for ever.

    Example:
        >>> ring_attention(torch.zeros(4, 8), torch.zeros(4, 8), torch.zeros(4, 8))
        Traceback (most recent call last):
        attention_lib.errors.OptionError: ring_attention needs a process group, and there is none: call
        torch.distributed.init_process_group() in each process first (torchrun starts them), or use attention()

    Source:
        Liu, Zaharia, Abbeel (2023), Ring Attention with Blockwise Transformers for Near-Infinite Context.
    """
    require_group()
    check_alike(query, key, value, causal, scale, group)
    H_kv = key.shape[-3] if key.ndim >= 4 else 1
    groups = query.shape[-3] // H_kv if key.ndim >= 4 else 1
    size, rank = dist.get_world_size(group), dist.get_rank(group)
    L, S = query.shape[-2], key.shape[-2]
    behind = torch.arange(L, device=query.device) + size * (S - L) + rank * L  # (L,)
    # A group's query heads read the same keys: they become further rows of one head, so that keys travel unrepeated.
    rows = query.unflatten(-3, (H_kv, groups)).flatten(-3, -2) if groups > 1 else query  # (..., H_kv, groups * L, d_k)
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    output = _Ring.apply(rows, key, value, behind.repeat(groups), causal, scale, group)
    return output.unflatten(-2, (groups, L)).flatten(-4, -3) if groups > 1 else output


class _Ring(torch.autograd.Function):
    """Both passes. Keys and values travel as one tensor ``(..., S, d_k + d_v)``: one message a step."""

    @staticmethod
    def forward(
        context: Any, query: Tensor, key: Tensor, value: Tensor, behind: Tensor, causal: bool, scale: float, group: Any
    ) -> Tensor:
        size, rank = dist.get_world_size(group), dist.get_rank(group)
        held, widths = torch.cat((key, value), dim=-1), (key.shape[-1], value.shape[-1])
        nothing = widen(query).new_zeros(*query.shape[:-1], widths[1])
        whole = Part(nothing, nothing.new_full((*query.shape[:-1], 1), -math.inf))
        for step in range(size):
            coming = Passing(held, group) if step < size - 1 else None  # travels while this block is computed
            first = (rank - step) % size * key.shape[-2]
            if not causal or first <= behind.max():
                k, v = widen(held).split(widths, dim=-1)
                part = attend_to_block(widen(query), k, v, behind, first if causal else None, scale)
                whole = merge_parts(whole, part)
            held = coming.arrived() if coming else held
        context.save_for_backward(query, key, value, behind, *whole)
        context.options = (causal, scale, group)
        return whole.output.to(query.dtype)

    @staticmethod
    @once_differentiable
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, behind, *whole = context.saved_tensors
        causal, scale, group = context.options
        size, rank = dist.get_world_size(group), dist.get_rank(group)
        held, widths = torch.cat((key, value), dim=-1), (key.shape[-1], value.shape[-1])
        d_query, d_held = torch.zeros_like(widen(query)), torch.zeros_like(widen(held))
        for step in range(size):
            coming = Passing(held, group) if step < size - 1 else None
            first = (rank - step) % size * key.shape[-2]
            if not causal or first <= behind.max():
                k, v = widen(held).split(widths, dim=-1)
                d_q, d_k, d_v = block_gradients(
                    widen(query), k, v, behind, first if causal else None, scale, Part(*whole), widen(gradient)
                )
                d_query += d_q
                d_held += torch.cat((d_k, d_v), dim=-1)
            held = coming.arrived() if coming else held
            d_held = Passing(d_held, group).arrived()  # follows its keys, and after the last step is at home
        d_key, d_value = d_held.split(widths, dim=-1)
        return d_query.to(query.dtype), d_key.to(key.dtype), d_value.to(value.dtype), None, None, None, None
