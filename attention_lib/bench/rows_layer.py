"""Rows 3, 10 and 11: the whole layer beside ``nn.MultiheadAttention``."""

from __future__ import annotations

import functools

import torch
from torch import Tensor

from attention_lib.attention import attention
from attention_lib.averaged import averaged_weights
from attention_lib.bench import inputs, peers
from attention_lib.bench.case import OURS, Built, Case, Setting, Target
from attention_lib.bench.layers import D_MODEL, H, layer_and_peers, true_layer
from attention_lib.layers.multi_head import MultiHeadAttention
from attention_lib.steps.heads import merge_heads, split_heads

__all__ = ["ROWS"]


def layer_alone(setting: Setting, *, n: int) -> Built:
    """Rows 10 and 11: output only."""
    layer, theirs, _, x = layer_and_peers(setting, n)
    rows = inputs.sample_rows(n).to(setting.device)
    built = Built(
        {
            OURS: lambda: layer(x).output,
            "nn.MHA as shipped": lambda: peers.torch_layer(theirs, x, need_weights=False)()[0],
            "nn.MHA, fast path off": lambda: peers.torch_layer(theirs, x, fast=False, need_weights=False)()[0],
        },
        reference=lambda: true_layer(layer, x, rows),
        judged=lambda result: result[:, rows],
        error_peer="nn.MHA, fast path off",
        multiplications=2 * n * n * D_MODEL + 4 * n * D_MODEL**2,
        weights=H * n * n,
    )
    built.offer("x-transformers", lambda: peers.x_transformers_layer(layer, x))
    return built


def small_layer(setting: Setting, *, n: int) -> Built:
    """Row 11: beside its own four linear layers too, which nothing can avoid."""
    built = layer_alone(setting, n=n)
    layer, _, _, x = layer_and_peers(setting, n)
    built.variants["its linear layers alone"] = lambda: _linears(layer, x)
    built.incomparable.add("its linear layers alone")
    return built


def _linears(layer: MultiHeadAttention, x: Tensor) -> Tensor:
    for each in (layer.w_q, layer.w_k, layer.w_v):
        result = each(x)
    return layer.w_o(result)


def averaged(setting: Setting, *, n: int) -> Built:
    """Row 3: weights averaged over the heads, which is what ``nn.MultiheadAttention`` returns by default."""
    layer, theirs, _, x = layer_and_peers(setting, n)
    rows = inputs.sample_rows(n).to(setting.device)

    def ours() -> tuple[Tensor, Tensor]:
        q, k, v = (split_heads(each(x), H) for each in (layer.w_q, layer.w_k, layer.w_v))
        return layer.w_o(merge_heads(attention(q, k, v).output)), averaged_weights(q, k)

    def true_average() -> Tensor:
        double = MultiHeadAttention(D_MODEL, H).to(x.device, torch.float64)
        double.load_state_dict(layer.state_dict())
        return double(x.double()[:, rows], x.double(), need_weights=True).weights.mean(dim=1)

    return Built(
        {OURS: ours, "nn.MHA need_weights": lambda: theirs(x, x, x)},
        reference=true_average,
        judged=lambda result: result[1][:, rows],
        error_peer="nn.MHA need_weights",
        multiplications=2 * n * n * D_MODEL + 4 * n * D_MODEL**2,
    )


OFF, ON = "nn.MHA, fast path off", "nn.MHA as shipped"
ROWS = [
    Case(
        3, "averaged weights, n = 4,096", functools.partial(averaged, n=4096),
        (Target("memory", "nn.MHA need_weights", 4),),
    ),
    Case(
        10, "layer, n = 1,024", functools.partial(layer_alone, n=1024),
        (Target("time", ON, 1.4), Target("time", OFF, 1.0)),
    ),
    Case(
        10, "layer, n = 4,096", functools.partial(layer_alone, n=4096),
        (Target("time", ON, 1.4), Target("time", OFF, 1.0), Target("memory", ON, 10)),
    ),
    Case(
        11, "layer, n = 128", functools.partial(small_layer, n=128),
        (Target("time", ON, 1.0), Target("time", OFF, 1.0), Target("time", "x-transformers", 1.0),
         Target("time", "its linear layers alone", 1 / 1.25)),
    ),
    Case(
        11, "layer, n = 32", functools.partial(small_layer, n=32),
        (Target("time", ON, 1.0), Target("time", OFF, 1.0), Target("time", "x-transformers", 1.0),
         Target("time", "its linear layers alone", 1 / 1.25)),
    ),
]  # fmt: skip
