"""The layer that several rows measure, its twins in torch and in the article's code, and its true output."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from attention_lib.bench import inputs, peers
from attention_lib.bench.article import ArticleMultiHead
from attention_lib.bench.case import Setting
from attention_lib.layers.multi_head import MultiHeadAttention
from attention_lib.steps.heads import merge_heads, split_heads

__all__ = ["D_MODEL", "H", "layer_and_peers", "true_layer"]

H, D_MODEL = 8, 512


def layer_and_peers(
    setting: Setting, n: int, d_model: int = D_MODEL
) -> tuple[MultiHeadAttention, nn.MultiheadAttention, ArticleMultiHead, Tensor]:
    """Ours, torch's and the article's layer with the same weights, and an input ``(1, n, d_model)``."""
    torch.manual_seed(inputs.SEED)
    layer = MultiHeadAttention(d_model, H).eval().to(setting.device)
    x = inputs.seeded_normal(setting, 1, n, d_model)
    return layer, layer.to_torch(), peers.article_layer(layer), x


def true_layer(layer: MultiHeadAttention, x: Tensor, rows: Tensor | None = None) -> Tensor:
    """The layer's output in float64, ``(1, R, d_model)``: of these rows, or of all."""
    queries = x.double() if rows is None else x.double()[:, rows]
    q = split_heads(_linear64(layer.w_q, queries), H)
    k, v = (split_heads(_linear64(each, x.double()), H) for each in (layer.w_k, layer.w_v))
    return _linear64(layer.w_o, merge_heads(inputs.truth(q, k, v)))


def _linear64(linear: nn.Linear, x: Tensor) -> Tensor:
    return nn.functional.linear(x, linear.weight.double(), linear.bias.double())
