"""What the processes of a ring do with one another: pass tensors on, and agree before they start."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from attention_lib.axes import check_attention, shape_of
from attention_lib.errors import AttentionError, OptionError, ShapeError

__all__ = ["Passing", "check_alike", "require_group"]


class Passing:
    """A tensor on its way to the next process of the ring, and another on its way here."""

    def __init__(self, tensor: Tensor, group: Any) -> None:
        size, rank = dist.get_world_size(group), dist.get_rank(group)
        self.sent, self.received, self.waiting = tensor.contiguous(), torch.empty_like(tensor), []
        if size == 1:
            self.received = self.sent
            return
        after, before = (
            neighbour if group is None else dist.get_global_rank(group, neighbour)
            for neighbour in ((rank + 1) % size, (rank - 1) % size)
        )
        operations = [
            dist.P2POp(dist.isend, self.sent, after, group),
            dist.P2POp(dist.irecv, self.received, before, group),
        ]
        self.waiting = dist.batch_isend_irecv(operations)

    def arrived(self) -> Tensor:
        for each in self.waiting:
            each.wait()
        return self.received


def require_group() -> None:
    if not dist.is_available():
        raise OptionError("ring_attention needs torch.distributed, which this build of torch lacks; use attention()")
    if not dist.is_initialized():
        raise OptionError(
            "ring_attention needs a process group, and there is none: call torch.distributed.init_process_group() in "
            "each process first (torchrun starts them), or use attention()"
        )


def check_alike(query: Tensor, key: Tensor, value: Tensor, causal: bool, scale: float | None, group: Any) -> None:
    """Raise in every process what is wrong in one; a process that stopped alone would leave the others waiting."""
    problem = None
    try:
        check_attention(query, key, value)
        _check_leading(query, key)
    except AttentionError as error:
        problem = error
    graph = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in (query, key, value))
    shapes = tuple(shape_of(tensor) for tensor in (query, key, value))
    mine = (None if problem is None else str(problem), shapes, str(query.dtype), (causal, scale, graph))
    every: list[Any] = [None] * dist.get_world_size(group)
    dist.all_gather_object(every, mine, group=group)
    if problem is not None:
        raise problem
    for rank, (trouble, other_shapes, dtype, options) in enumerate(every):
        if trouble is not None:
            raise ShapeError(f"process {rank} of the ring cannot take part: {trouble}")
        if (other_shapes, dtype) != (every[0][1], every[0][2]):
            raise ShapeError(
                f"the slices of a ring must be alike, but query, key and value have shapes {every[0][1]} in "
                f"{every[0][2]} in process 0 and {other_shapes} in {dtype} in process {rank}; cut the sequence into "
                f"{len(every)} equal slices (with causal=True, padding at its end changes no row before it)"
            )
        if options != every[0][3]:
            raise OptionError(
                f"the processes of a ring must agree, but (causal, scale, needs gradient) is {every[0][3]} in "
                f"process 0 and {options} in process {rank}"
            )


def _check_leading(query: Tensor, key: Tensor) -> None:
    """Heads may be grouped; nothing else is broadcast, since each process must know the shape of what it receives."""
    grouped = query.ndim >= 4
    ours, theirs = (shape_of(tensor)[: -3 if grouped else -2] for tensor in (query, key))
    if ours != theirs or (grouped and query.shape[-3] % key.shape[-3]):
        raise ShapeError(
            f"the leading axes are {shape_of(query)[:-2]} in query but {shape_of(key)[:-2]} in key; a ring does not "
            "broadcast them: expand them first (only heads may be grouped, H a multiple of H_kv)"
        )
