"""Row 14: each kernel of torch forced, one by one, in each precision. On a GPU this is the row that counts."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from attention_lib.attention import attention
from attention_lib.bench import inputs, peers
from attention_lib.bench.case import OURS, Absent, Built, Case, Setting, Target

__all__ = ["ROWS"]


def kernels(setting: Setting, *, dtype: torch.dtype, tf32: bool = False) -> Built:
    """Causal attention of a size that fills the device; ours beside the best kernel that accepts it."""
    on_gpu = setting.device.type == "cuda"
    if tf32 and not on_gpu:
        raise Absent("TF32 is a number format of CUDA devices")
    B, H, n = (1 if setting.quick else 4, 16, 4096) if on_gpu else (1, 4, 1024)
    qkv = inputs.heads(setting, B, H, n, 64, dtype=dtype)
    few = tuple(tensor[:1, :1] for tensor in qkv)  # one head in float64 is enough to judge by
    built = Built(
        {OURS: _with_tf32(tf32, lambda: attention(*qkv, causal=True).output)},
        reference=lambda: inputs.truth(*few, causal=True),
        judged=lambda result: result[:1, :1],
        error_peer="SDPA MATH",
        multiplications=inputs.dense_multiplications(qkv[0], qkv[1]) // 2,
    )
    for name in peers.BACKENDS:
        built.offer(name, functools.partial(_forced, name, qkv, tf32))
    if on_gpu:
        built.offer("flex_attention", lambda: _with_tf32(tf32, peers.flex(setting, _past, *qkv)))
    return built


def _forced(name: str, qkv: tuple[Tensor, ...], tf32: bool) -> Callable[[], Any]:
    return _with_tf32(tf32, peers.sdpa_backend(name, *qkv, is_causal=True))


def _past(batch: Any, head: Any, query: Tensor, key: Tensor) -> Tensor:
    return query >= key


def _with_tf32(on: bool, call: Callable[[], Any]) -> Callable[[], Any]:
    def wrapped() -> Any:
        with _tf32(on):
            return call()

    return wrapped


@contextmanager
def _tf32(on: bool) -> Iterator[None]:
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = on
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


FASTEST = (Target("time", "SDPA", 1 / 1.05),)
ROWS = [
    Case(14, "kernels of torch, float32", functools.partial(kernels, dtype=torch.float32), FASTEST),
    Case(14, "kernels of torch, float32 by TF32", functools.partial(kernels, dtype=torch.float32, tf32=True), FASTEST),
    Case(14, "kernels of torch, float16", functools.partial(kernels, dtype=torch.float16), FASTEST),
    Case(14, "kernels of torch, bfloat16", functools.partial(kernels, dtype=torch.bfloat16), FASTEST),
]
