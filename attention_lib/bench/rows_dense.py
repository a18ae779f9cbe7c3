"""Rows 1 to 4, 7 and 12: all queries on all keys, with and without weights, dropout and low precision."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from attention_lib.attention import attention, attention_weights
from attention_lib.bench import inputs, peers
from attention_lib.bench.article import article_attention
from attention_lib.bench.case import OURS, Built, Case, Setting, Target
from attention_lib.bench.layers import D_MODEL, H, layer_and_peers, true_layer
from attention_lib.steps.heads import merge_heads, split_heads

__all__ = ["ROWS"]

D_HEAD = 64


def without_weights(setting: Setting, *, n: int, causal: bool = False) -> Built:
    """Row 1."""
    query, key, value = qkv = inputs.heads(setting, 1, H, n, D_HEAD)
    built = Built(
        {
            OURS: lambda: attention(query, key, value, causal=causal).output,
            "SDPA": lambda: scaled_dot_product_attention(query, key, value, is_causal=causal),
        },
        reference=lambda: inputs.truth(query, key, value, causal=causal),
        error_peer="SDPA",
        multiplications=inputs.dense_multiplications(query, key) // (2 if causal else 1),
        weights=H * n * n // (2 if causal else 1),
    )
    if not causal:
        built.variants["the article's code"] = lambda: article_attention(query, key, value)[0]
    built.offer("SDPA MATH", lambda: peers.sdpa_backend("SDPA MATH", *qkv, is_causal=causal))
    built.offer("x-transformers", lambda: peers.x_transformers_attend(*qkv, flash=True, causal=causal))
    return built


def with_weights(setting: Setting, *, n: int, d_model: int = D_MODEL) -> Built:
    """Row 2, the layer: output and the weights of every head."""
    layer, theirs, article, x = layer_and_peers(setting, n, d_model)
    return Built(
        {
            OURS: lambda: layer(x, need_weights=True),
            "nn.MHA weights": lambda: theirs(x, x, x, average_attn_weights=False),
            "the article's code": lambda: article(x),
        },
        reference=lambda: true_layer(layer, x),
        judged=lambda result: result[0],
        error_peer="nn.MHA weights",
        multiplications=2 * n * n * d_model + 4 * n * d_model**2,
        weights=H * n * n,
    )


def weights_memory(setting: Setting, *, n: int) -> Built:
    """Row 2, the memory: the function alone, beside what it must return."""
    query, key, value = inputs.heads(setting, 1, H, n, D_HEAD)
    return Built(
        {
            OURS: lambda: attention(query, key, value, need_weights=True),
            "the article's code": lambda: article_attention(query, key, value),
        },
        reference=lambda: inputs.truth(query, key, value),
        judged=lambda result: result[0],
        error_peer="the article's code",
        multiplications=inputs.dense_multiplications(query, key),
        sizes={"the weights and output returned": 4 * H * n * (n + D_HEAD)},
    )


def one_map(setting: Setting, *, n: int, d_model: int = D_MODEL) -> Built:
    """Row 4: the output of all heads and the weights of one."""
    layer, theirs, article, x = layer_and_peers(setting, n, d_model)

    def ours() -> tuple[Tensor, Tensor]:
        q, k, v = (split_heads(each(x), H) for each in (layer.w_q, layer.w_k, layer.w_v))
        output = layer.w_o(merge_heads(attention(q, k, v).output))
        return output, attention_weights(q[:, 2], k[:, 2])  # (B, n, n)

    return Built(
        {
            OURS: ours,
            "nn.MHA weights": lambda: theirs(x, x, x, average_attn_weights=False),
            "the article's code": lambda: article(x),
        },
        reference=lambda: true_layer(layer, x),
        judged=lambda result: result[0],
        error_peer="nn.MHA weights",
        multiplications=2 * n * n * d_model + 4 * n * d_model**2,
        weights=(H + 1) * n * n,  # one head twice: in the output, and as a map
        sizes={"the weights of every head": 4 * H * n * n},
    )


def dropout_training(setting: Setting, *, n: int) -> Built:
    """Row 7: forward and backward with dropout. The noise differs, so that results are not compared."""
    qkv = tuple(tensor.requires_grad_() for tensor in inputs.heads(setting, 1, H, n, D_HEAD))
    pull = inputs.seeded_normal(setting, 1, H, n, D_HEAD, seed=3)

    def step(attend: Any) -> tuple[Tensor, ...]:
        with torch.enable_grad():
            return torch.autograd.grad(attend(*qkv), qkv, pull)

    def article(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return torch.dropout(article_attention(query, key, value)[1], 0.1, train=True) @ value

    return Built(
        {
            OURS: lambda: step(lambda *qkv: attention(*qkv, dropout_p=0.1).output),
            "SDPA with dropout": lambda: step(lambda q, k, v: scaled_dot_product_attention(q, k, v, dropout_p=0.1)),
            "the article's code": lambda: step(article),
        },
        multiplications=7 * n * n * D_HEAD * H,  # 2 forward, and 5 with scores computed again
        weights=2 * H * n * n,
    )


def low_precision(setting: Setting, *, n: int) -> Built:
    """Row 12."""
    qkv = inputs.heads(setting, 1, H, n, D_HEAD)
    query, key, value = low = tuple(tensor.bfloat16() for tensor in qkv)
    return Built(
        {
            OURS: lambda: attention(*low).output,
            "float32": lambda: attention(*qkv).output,
            "SDPA in bfloat16": lambda: scaled_dot_product_attention(query, key, value),
        },
        reference=lambda: inputs.truth(*low),
        error_peer="SDPA in bfloat16",
        incomparable={"float32"},
        multiplications=inputs.dense_multiplications(low[0], low[1]),
    )


ROWS = [
    Case(1, "no weights, n = 32", functools.partial(without_weights, n=32), (Target("time", "SDPA", 1 / 1.3),)),
    Case(1, "no weights, n = 128", functools.partial(without_weights, n=128), (Target("time", "SDPA", 1 / 1.05),)),
    Case(1, "no weights, n = 1,024", functools.partial(without_weights, n=1024), (Target("time", "SDPA", 1 / 1.05),)),
    Case(
        1, "no weights, causal, n = 1,024", functools.partial(without_weights, n=1024, causal=True),
        (Target("time", "SDPA", 1 / 1.05),), heavy=True,
    ),
    Case(
        2, "weights of every head, layer, n = 1,024", functools.partial(with_weights, n=1024),
        (Target("time", "nn.MHA weights", 1.5), Target("time", "the article's code", 1.6)),
    ),
    Case(
        2, "weights of every head, layer 128 wide", functools.partial(with_weights, n=1024, d_model=128),
        (Target("time", "nn.MHA weights", 1.5), Target("time", "the article's code", 1.6)),
    ),
    Case(
        2, "weights of every head, function, n = 1,024", functools.partial(weights_memory, n=1024),
        (Target("memory", "the weights and output returned", 1 / 1.05),),
    ),
    Case(
        4, "output and the map of one head, n = 1,024", functools.partial(one_map, n=1024),
        (Target("time", "nn.MHA weights", 2.5), Target("memory", "the weights of every head", 1.0)),
    ),
    Case(
        4, "output and the map of one head, 128 wide", functools.partial(one_map, n=1024, d_model=128),
        (Target("time", "nn.MHA weights", 2.5), Target("memory", "the weights of every head", 1.0)),
    ),
    Case(
        7, "training with dropout, n = 1,024", functools.partial(dropout_training, n=1024),
        (Target("time", "SDPA with dropout", 1.8), Target("memory", "SDPA with dropout", 3.0)),
    ),
    Case(
        12, "bfloat16, n = 1,024", functools.partial(low_precision, n=1024), (Target("time", "float32", 1 / 1.2),)
    ),
]  # fmt: skip
