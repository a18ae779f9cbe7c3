"""Rows 5, 6, 8 and 9: where most pairs need not be computed, or keys need not be copied."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from attention_lib.attention import attention
from attention_lib.bench import inputs, peers
from attention_lib.bench.case import OURS, Built, Case, Setting, Target
from attention_lib.ragged import ragged_attention
from attention_lib.steps.masks import padding_mask, window_mask

__all__ = ["ROWS"]

WINDOW, D_HEAD = 256, 64


def window_forward(setting: Setting, *, n: int) -> Built:
    """Row 5: one head, no gradient."""
    query, key, value = qkv = inputs.heads(setting, 1, 1, n, D_HEAD)
    mask = window_mask(n, window=WINDOW, device=setting.device)
    rows = inputs.sample_rows(n).to(setting.device)
    built = Built(
        {
            OURS: lambda: attention(query, key, value, causal=True, window=WINDOW).output,
            "SDPA with a mask": lambda: scaled_dot_product_attention(query, key, value, attn_mask=mask),
            "SDPA is_causal": lambda: scaled_dot_product_attention(query, key, value, is_causal=True),
        },
        reference=lambda: inputs.window_truth(query, key, value, WINDOW),
        judged=lambda result: result[..., rows, :],
        error_peer="SDPA with a mask",
        incomparable={"SDPA is_causal"},  # it sees all the past, and is here for its time
        multiplications=2 * n * WINDOW * D_HEAD,
        bytes=4 * query.numel() * 4,
    )
    built.offer("local-attention", lambda: peers.local_attention(WINDOW, *qkv))
    built.offer("flex_attention", lambda: peers.flex(setting, _in_window, *qkv))
    return built


def _in_window(batch: Any, head: Any, query: Tensor, key: Tensor) -> Tensor:
    return (query >= key) & (query - key < WINDOW)


def window_training(setting: Setting, *, n: int, H: int) -> Built:
    """Row 6: forward and backward. What is compared with float64 is the gradient of the query, in the last rows."""
    qkv = tuple(tensor.requires_grad_() for tensor in inputs.heads(setting, 1, H, n, D_HEAD))
    pull = inputs.seeded_normal(setting, 1, H, n, D_HEAD, seed=3)
    mask = window_mask(n, window=WINDOW, device=setting.device)

    def step(attend: Any) -> tuple[Tensor, ...]:
        with torch.enable_grad():
            return torch.autograd.grad(attend(*qkv), qkv, pull)

    def true_gradient() -> Tensor:
        """Of the last rows: they depend on the last keys alone."""
        last, seen = slice(n - inputs.SAMPLE, n), slice(n - inputs.SAMPLE - WINDOW + 1, n)
        query, key, value = (tensor.detach().double() for tensor in qkv)
        query = query[..., last, :].requires_grad_()
        with torch.enable_grad():
            output = attention(
                query, key[..., seen, :], value[..., seen, :], causal=True,
                mask=window_mask(inputs.SAMPLE, inputs.SAMPLE + WINDOW - 1, window=WINDOW, device=setting.device),
                need_weights=True,
            ).output  # fmt: skip
            return torch.autograd.grad(output, query, pull.double()[..., last, :])[0]

    built = Built(
        {
            OURS: lambda: step(lambda *qkv: attention(*qkv, causal=True, window=WINDOW).output),
            "SDPA with a mask": lambda: step(lambda q, k, v: scaled_dot_product_attention(q, k, v, attn_mask=mask)),
        },
        reference=true_gradient,
        judged=lambda gradients: gradients[0][..., n - inputs.SAMPLE :, :],
        error_peer="SDPA with a mask",
        multiplications=7 * n * WINDOW * D_HEAD * H,
    )

    def local() -> Any:
        other = peers.local_attention(WINDOW, *qkv)
        return lambda: step(lambda *qkv: other())

    built.offer("local-attention", local)
    return built


def decode(setting: Setting, *, H: int, kv: int, S: int, d: int) -> Built:
    """Row 8: one new token on a long cache of few key heads."""
    query, key, value = inputs.heads(setting, 1, H, S, d, kv=kv)
    query = query[:, :, -1:].contiguous()

    def repeated() -> Tensor:
        k, v = (tensor.repeat_interleave(H // kv, dim=1) for tensor in (key, value))
        return scaled_dot_product_attention(query, k, v)

    built = Built(
        {
            OURS: lambda: attention(query, key, value, causal=True).output,
            "SDPA on repeat_interleave": repeated,
        },
        reference=lambda: inputs.truth(query, key, value),
        error_peer="SDPA on repeat_interleave",
        multiplications=2 * H * S * d,
        bytes=4 * (key.numel() + value.numel()),
    )
    built.offer("SDPA enable_gqa", lambda: _gqa(query, key, value))
    return built


def _gqa(query: Tensor, key: Tensor, value: Tensor) -> Any:
    def call() -> Tensor:
        return scaled_dot_product_attention(query, key, value, enable_gqa=True)

    call()
    return call


def ragged(setting: Setting, *, n: int, B: int, H: int, skip_queries: bool = False) -> Built:
    """Row 9: a batch of lengths n / 8 to n, padded behind. Rows of padding are not compared."""
    query, key, value = inputs.heads(setting, B, H, n, D_HEAD)
    lengths = torch.linspace(n / 8, n, B).long().to(setting.device)
    mask = padding_mask(lengths, n)
    queries = lengths if skip_queries else None
    real = (torch.arange(n, device=setting.device) < lengths[:, None])[:, None, :, None]  # (B, 1, n, 1)
    return Built(
        {
            OURS: lambda: ragged_attention(query, key, value, lengths, query_lengths=queries).output,
            "SDPA with a mask": lambda: scaled_dot_product_attention(query, key, value, attn_mask=mask),
        },
        reference=lambda: inputs.truth(query, key, value, mask) * real,
        judged=lambda result: result * real,
        error_peer="SDPA with a mask",
        multiplications=2 * int((lengths * (lengths if skip_queries else n)).sum()) * D_HEAD * H,
    )


BAND = functools.partial(window_forward, n=16_384)
ROWS = [
    Case(
        5, "window 256, n = 16,384, 1 head", BAND,
        (
            Target("time", "SDPA with a mask", 40), Target("time", "SDPA is_causal", 12),
            Target("time", "local-attention", 4), Target("memory", "SDPA with a mask", 50),
        ),
    ),
    Case(
        6, "window 256, forward and backward, n = 4,096", functools.partial(window_training, n=4096, H=8),
        (Target("time", "SDPA with a mask", 6), Target("time", "local-attention", 2.2)),
    ),
    Case(
        8, "one token, 32 heads on 8, 4,096 keys", functools.partial(decode, H=32, kv=8, S=4096, d=128),
        (Target("time", "SDPA enable_gqa", 1.4), Target("time", "SDPA on repeat_interleave", 15)),
    ),
    Case(
        9, "ragged batch, lengths n/8 to n, n = 512", functools.partial(ragged, n=512, B=8, H=8),
        (Target("time", "SDPA with a mask", 1.5),),
    ),
    Case(
        9, "the same, rows of padding skipped", functools.partial(ragged, n=512, B=8, H=8, skip_queries=True),
        (Target("time", "SDPA with a mask", 2.0),),
    ),
]  # fmt: skip
