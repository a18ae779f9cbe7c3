"""Heads shared out among processes: each computes its own, and one sum brings the outputs together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch.distributed as dist
from torch import nn

from attention_lib.errors import OptionError
from attention_lib.layers.multi_head import MultiHeadAttention

if TYPE_CHECKING:
    from torch.distributed.device_mesh import DeviceMesh

__all__ = ["parallelize_heads"]


def parallelize_heads(module: nn.Module, mesh: DeviceMesh | None = None) -> nn.Module:
    """Cut every ``MultiHeadAttention`` in a module by heads: process r of P keeps the heads of part r.

    Of ``W_Q W_K W_V`` a process keeps the rows that make its heads, of ``W_O`` the columns that read them. Then
    ``output = sum over processes of concat(own heads) W_O[own] + b_O``: one ``all_reduce`` a layer, nothing before it.

    Args:
        module: A ``MultiHeadAttention``, or a module that contains some. Changed in place: their parameters become
            ``DTensor``; the values of process 0 count.
        mesh: One-dimensional device mesh; None is all processes of the default group.

    Returns:
        ``module``. Called in every process with the same full-width input, it gives every process the same output
        ``(B, L, d_model)``. Weights and a cache hold the process's own heads, and a mask of shape ``(B, H, L, S)``
        is given for those heads alone. Dropout draws from each process's own generator: seed them differently.

    Raises:
        OptionError: There is no process group, no ``MultiHeadAttention``, a mesh of several axes, or a number of
            heads that does not divide evenly.

    Example:
        >>> parallelize_heads(MultiHeadAttention(8, 2))
        Traceback (most recent call last):
        attention_lib.errors.OptionError: parallelize_heads needs a process group, and there is none: call
        torch.distributed.init_process_group() in each process first (torchrun starts them)

    Source:
        Shoeybi et al. (2019), Megatron-LM, section 3.
    """
    if not (dist.is_available() and dist.is_initialized()):
        raise OptionError(
            "parallelize_heads needs a process group, and there is none: call "
            "torch.distributed.init_process_group() in each process first (torchrun starts them)"
        )
    layers = [layer for layer in module.modules() if isinstance(layer, MultiHeadAttention)]
    if not layers:
        raise OptionError(f"{type(module).__name__} contains no MultiHeadAttention whose heads could be shared out")
    mesh = _all_processes(layers[0]) if mesh is None else mesh
    if mesh.ndim != 1:
        raise OptionError(
            f"mesh has {mesh.ndim} axes, and heads are shared out along one; pass one of them: mesh[name]"
        )
    for layer in layers:
        _check_divides(layer, mesh.size())
    for layer in layers:
        _parallelize(layer, mesh)
    return module


def _parallelize(layer: MultiHeadAttention, mesh: DeviceMesh) -> None:
    # Here and not above: a torch built without distributed has no such module, and nobody else should wait for it.
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    plan = {"w_q": ColwiseParallel(), "w_k": ColwiseParallel(), "w_v": ColwiseParallel(), "w_o": RowwiseParallel()}
    parallelize_module(layer, mesh, plan)
    layer.num_heads //= mesh.size()  # the heads that this process computes
    layer.num_kv_heads //= mesh.size()


def _check_divides(layer: MultiHeadAttention, size: int) -> None:
    if layer.num_heads % size or layer.num_kv_heads % size:
        raise OptionError(
            f"{layer.num_heads} heads on {layer.num_kv_heads} key heads cannot be shared out evenly among {size} "
            f"processes; choose a number of processes that divides {layer.num_kv_heads}"
        )


def _all_processes(layer: MultiHeadAttention) -> DeviceMesh:
    from torch.distributed.device_mesh import init_device_mesh

    return init_device_mesh(layer.w_o.weight.device.type, (dist.get_world_size(),))
