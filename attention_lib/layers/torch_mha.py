"""Weights between our four projections and ``nn.MultiheadAttention``, which packs three of them when it can."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn

from attention_lib.errors import OptionError

__all__ = ["check_copied_module", "copy_from_torch", "copy_to_torch"]

Projections = tuple[nn.Linear, nn.Linear, nn.Linear, nn.Linear]  # w_q, w_k, w_v, w_o


def check_copied_module(module: nn.MultiheadAttention) -> None:
    """Raise OptionError for another class, and where torch attends to a key that stands in no input."""
    if not isinstance(module, nn.MultiheadAttention):
        raise OptionError(f"MultiHeadAttention.from_torch needs an nn.MultiheadAttention, got {type(module).__name__}")
    if module.bias_k is not None or module.add_zero_attn:
        raise OptionError(
            f"nn.MultiheadAttention with add_bias_kv={module.bias_k is not None} and "
            f"add_zero_attn={module.add_zero_attn} attends to an extra key that no input has; "
            "only modules with both False can be copied"
        )


def copy_from_torch(module: nn.MultiheadAttention, projections: Projections) -> None:
    """Fill our four projections from ``module``."""
    *inputs, output = projections
    with torch.no_grad():
        for projection, (weight, bias) in zip(inputs, _packed(module), strict=True):
            _fill(projection, weight, bias)
        _fill(output, module.out_proj.weight, module.out_proj.bias)


def copy_to_torch(projections: Projections, module: nn.MultiheadAttention) -> None:
    """Fill ``module`` from our four projections; key and value heads that are shared are repeated."""
    *inputs, output = projections
    with torch.no_grad():
        for projection, (weight, bias) in zip(inputs, _packed(module), strict=True):
            weight.copy_(_one_a_head(projection.weight, module))
            if bias is not None:
                bias.copy_(_one_a_head(projection.bias, module))
        _fill(module.out_proj, output.weight, output.bias)


def _packed(module: nn.MultiheadAttention) -> list[tuple[Tensor, Tensor | None]]:
    """Views of the three input weights and biases, whether torch has packed the weights or not."""
    together = cast("Tensor | None", module.in_proj_weight)
    apart = (module.q_proj_weight, module.k_proj_weight, module.v_proj_weight)
    weights = apart if together is None else together.chunk(3)
    biases = (None,) * 3 if module.in_proj_bias is None else module.in_proj_bias.chunk(3)
    return list(zip(weights, biases, strict=True))


def _fill(projection: nn.Linear, weight: Tensor, bias: Tensor | None) -> None:
    projection.weight.copy_(weight)
    if bias is not None:
        projection.bias.copy_(bias)


def _one_a_head(rows: Tensor, module: nn.MultiheadAttention) -> Tensor:
    """Repeat the rows of a shared key/value head for every query head that reads it."""
    heads = rows.unflatten(0, (-1, module.head_dim))  # (H or H_kv, d_head, ...)
    return heads.repeat_interleave(module.num_heads // heads.shape[0], dim=0).flatten(0, 1)
