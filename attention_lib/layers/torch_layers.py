"""Weights from torch's transformer layers into ours."""

from __future__ import annotations

from typing import Any, TypeVar

import torch
from torch import nn
from torch.nn.functional import gelu, relu

from attention_lib.errors import OptionError
from attention_lib.layers.multi_head import MultiHeadAttention

__all__ = ["copy_layer"]

Layer = TypeVar("Layer", bound=nn.Module)


def copy_layer(module: Any, torch_class: type[Any], our_class: type[Layer], *, attentions: tuple[str, ...]) -> Layer:
    """Build one of our layers with the options and weights of torch's; dtype, device and training mode follow it.

    Args:
        module: torch's layer.
        torch_class: What it must be an instance of.
        our_class: What to build.
        attentions: Names of our attentions, in torch's order (self, then cross).

    Returns:
        Our layer, with the same outputs.

    Raises:
        OptionError: ``module`` is of another class, has no biases, or another activation than relu or gelu.
    """
    if not isinstance(module, torch_class):
        raise OptionError(
            f"{our_class.__name__}.from_torch needs an nn.{torch_class.__name__}, got {type(module).__name__}"
        )
    if module.linear1.bias is None:
        raise OptionError(f"{torch_class.__name__} with bias=False cannot be copied; ours has biases, as bias=True has")
    with torch.device("meta"):  # no weights are drawn, so that torch's generator stays where it is
        layer: Any = our_class(
            module.self_attn.embed_dim, module.self_attn.num_heads, module.linear1.out_features,
            dropout_p=module.dropout.p, activation=_activation(module), norm_first=module.norm_first,
            eps=module.norm1.eps,
        )  # fmt: skip
    layer = layer.to(module.linear1.weight.dtype).to_empty(device=module.linear1.weight.device)
    for ours, theirs in zip(attentions, ("self_attn", "multihead_attn"), strict=False):
        setattr(layer, ours, MultiHeadAttention.from_torch(getattr(module, theirs)))
    with torch.no_grad():
        layer.feed_forward.w_1.load_state_dict(module.linear1.state_dict())
        layer.feed_forward.w_2.load_state_dict(module.linear2.state_dict())
        for number in range(1, len(attentions) + 2):
            getattr(layer, f"norm_{number}").load_state_dict(getattr(module, f"norm{number}").state_dict())
    return layer.train(module.training)


def _activation(module: Any) -> str:
    """The name of the activation, which torch keeps as a function or as a module."""
    for name, function, kind in (("relu", relu, nn.ReLU), ("gelu", gelu, nn.GELU)):
        exact = getattr(module.activation, "approximate", "none") == "none"
        if module.activation is function or (isinstance(module.activation, kind) and exact):
            return name
    raise OptionError(f"activation={module.activation!r} cannot be copied; ours has 'relu' and 'gelu' (the exact one)")
