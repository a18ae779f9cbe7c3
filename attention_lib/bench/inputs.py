"""Inputs of the cases, and their true results: in float64, by rows where the whole would not fit."""

from __future__ import annotations

import torch
from torch import Tensor

from attention_lib.attention import attention
from attention_lib.bench.case import Setting

__all__ = ["SAMPLE", "dense_multiplications", "heads", "sample_rows", "seeded_normal", "truth", "window_truth"]

SEED, SAMPLE = 7, 64  # SAMPLE rows of a long sequence are compared with float64


def seeded_normal(setting: Setting, *shape: int, seed: int = SEED, dtype: torch.dtype = torch.float32) -> Tensor:
    """Standard normal numbers, the same on every device."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(setting.device, dtype)


def heads(
    setting: Setting, B: int, H: int, n: int, d: int, *, kv: int | None = None, dtype: torch.dtype = torch.float32
) -> tuple[Tensor, Tensor, Tensor]:
    """query ``(B, H, n, d)``, key and value ``(B, kv, n, d)``."""
    kv = H if kv is None else kv
    query = seeded_normal(setting, B, H, n, d, seed=SEED, dtype=dtype)
    key, value = (seeded_normal(setting, B, kv, n, d, seed=SEED + 1 + i, dtype=dtype) for i in range(2))
    return query, key, value


def truth(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, *, causal: bool = False) -> Tensor:
    """The output in float64, weights written out, independent of the fast paths."""
    return attention(query.double(), key.double(), value.double(), mask, causal=causal, need_weights=True).output


def sample_rows(n: int) -> Tensor:
    """``SAMPLE`` of n rows, evenly spread, the first and the last among them."""
    return torch.linspace(0, n - 1, min(n, SAMPLE)).long()


def window_truth(query: Tensor, key: Tensor, value: Tensor, window: int) -> Tensor:
    """The sampled rows of a causal window attention in float64, each from its own keys."""
    rows = []
    for row in sample_rows(query.shape[-2]).tolist():
        seen = slice(max(0, row - window + 1), row + 1)
        rows.append(truth(query[..., row : row + 1, :], key[..., seen, :], value[..., seen, :]))
    return torch.cat(rows, dim=-2)


def dense_multiplications(query: Tensor, key: Tensor) -> int:
    """Of both matrix products, all pairs, d_v = d_k."""
    return 2 * query.numel() * key.shape[-2]
