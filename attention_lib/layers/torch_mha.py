"""Weights between our four projections and ``nn.MultiheadAttention``, which packs three of them when it can."""

from __future__ import annotations

from typing import TypeVar

import torch
from torch import Tensor, nn

from attention_lib.errors import OptionError

__all__ = ["copy_from_torch", "copy_to_torch"]

Layer = TypeVar("Layer", bound=nn.Module)


def copy_from_torch(module: nn.MultiheadAttention, layer: Layer) -> Layer:
    """Fill ``layer`` (with ``w_q w_k w_v w_o``) from ``module``; dtype, device and training mode follow it."""
    if module.bias_k is not None or module.add_zero_attn:
        raise OptionError(
            f"nn.MultiheadAttention with add_bias_kv={module.bias_k is not None} and "
            f"add_zero_attn={module.add_zero_attn} attends to an extra key that no input has; "
            "only modules with both False can be copied"
        )
    layer = layer.to(module.out_proj.weight)
    with torch.no_grad():
        for projection, (weight, bias) in zip(_inputs(layer), _packed(module), strict=True):
            _fill(projection, weight, bias)
        _fill(layer.w_o, module.out_proj.weight, module.out_proj.bias)
    return layer.train(module.training)


def copy_to_torch(layer: nn.Module, module: nn.MultiheadAttention) -> nn.MultiheadAttention:
    """Fill ``module`` from ``layer``; dtype, device and training mode follow the layer."""
    module = module.to(layer.w_o.weight)
    with torch.no_grad():
        for projection, (weight, bias) in zip(_inputs(layer), _packed(module), strict=True):
            weight.copy_(_one_a_head(projection.weight, layer))
            if bias is not None:
                bias.copy_(_one_a_head(projection.bias, layer))
        _fill(module.out_proj, layer.w_o.weight, layer.w_o.bias)
    return module.train(layer.training)


def _inputs(layer: nn.Module) -> tuple[nn.Module, nn.Module, nn.Module]:
    return layer.w_q, layer.w_k, layer.w_v


def _packed(module: nn.MultiheadAttention) -> list[tuple[Tensor, Tensor | None]]:
    """Views of the three input weights and biases, whether torch has packed the weights or not."""
    if module.in_proj_weight is not None:
        weights = module.in_proj_weight.chunk(3)
    else:
        weights = (module.q_proj_weight, module.k_proj_weight, module.v_proj_weight)
    biases = (None,) * 3 if module.in_proj_bias is None else module.in_proj_bias.chunk(3)
    return list(zip(weights, biases, strict=True))


def _fill(projection: nn.Module, weight: Tensor, bias: Tensor | None) -> None:
    projection.weight.copy_(weight)
    if bias is not None:
        projection.bias.copy_(bias)


def _one_a_head(rows: Tensor, layer: nn.Module) -> Tensor:
    """Repeat the rows of a shared key/value head for every query head that reads it."""
    d_head = layer.d_model // layer.num_heads
    heads = rows.unflatten(0, (-1, d_head))  # (H or H_kv, d_head, ...)
    return heads.repeat_interleave(layer.num_heads // heads.shape[0], dim=0).flatten(0, 1)
