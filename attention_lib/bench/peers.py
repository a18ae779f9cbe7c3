"""What you would use otherwise: torch's own ways, and packages if they are installed."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from attention_lib.bench.article import ArticleMultiHead
from attention_lib.bench.case import Absent, Setting
from attention_lib.layers.multi_head import MultiHeadAttention

__all__ = [
    "BACKENDS",
    "article_layer",
    "fast_path",
    "flex",
    "local_attention",
    "sdpa_backend",
    "torch_layer",
    "x_transformers_attend",
    "x_transformers_layer",
]

BACKENDS = {
    "SDPA FLASH": SDPBackend.FLASH_ATTENTION,
    "SDPA EFFICIENT": SDPBackend.EFFICIENT_ATTENTION,
    "SDPA CUDNN": SDPBackend.CUDNN_ATTENTION,
    "SDPA MATH": SDPBackend.MATH,
}
Call = Callable[[], Any]


def _package(module: str, distribution: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise Absent(f"{distribution} is not installed (pip install {distribution})") from error


def sdpa_backend(name: str, query: Tensor, key: Tensor, value: Tensor, *, is_causal: bool) -> Call:
    """``scaled_dot_product_attention`` with one backend forced.

    Raises:
        Absent: The backend refuses these inputs on this device.
    """

    def call() -> Tensor:
        with sdpa_kernel(BACKENDS[name]):
            return scaled_dot_product_attention(query, key, value, is_causal=is_causal)

    try:
        call()
    except RuntimeError as error:
        raise Absent(f"torch has no such kernel here: {str(error).partition(chr(10))[0][:100]}") from error
    return call


def flex(setting: Setting, allowed: Callable[..., Tensor], query: Tensor, key: Tensor, value: Tensor) -> Call:
    """``flex_attention``, compiled, with a block mask.

    Raises:
        Absent: Not asked for on a CPU, not in this version of torch, or not compilable here.
    """
    if setting.device.type != "cuda" and not setting.compile:
        raise Absent("compiled only on a GPU or with --compile: on a CPU the first compilation takes minutes")
    try:
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    except ImportError as error:
        raise Absent(f"torch {torch.__version__} has no flex_attention") from error
    compiled = torch.compile(flex_attention, dynamic=False)
    mask = create_block_mask(allowed, None, None, query.shape[-2], key.shape[-2], device=str(setting.device))

    def call() -> Tensor:
        return compiled(query, key, value, block_mask=mask)  # type: ignore[return-value]

    try:
        call()
    except Exception as error:  # a missing compiler, an unsupported device: torch raises many kinds
        raise Absent(f"cannot be compiled here: {type(error).__name__}") from error
    return call


def local_attention(window: int, query: Tensor, key: Tensor, value: Tensor) -> Call:
    """The package local-attention, causal, set so that a query sees exactly ``window`` keys.

    Its ``exact_windowsize`` lets a query see one key more than the window says, hence ``window - 1``.
    """
    package = _package("local_attention", "local-attention")
    layer = package.LocalAttention(
        window_size=window - 1, causal=True, look_backward=1, look_forward=0, dropout=0.0,
        exact_windowsize=True, autopad=True, use_rotary_pos_emb=False,
    ).to(query)  # fmt: skip
    return lambda: layer(query, key, value)


def x_transformers_attend(query: Tensor, key: Tensor, value: Tensor, **options: Any) -> Call:
    """The attention inside x-transformers."""
    attend = _package("x_transformers.attend", "x-transformers").Attend(**options)
    return lambda: attend(query, key, value)[0]


def x_transformers_layer(layer: MultiHeadAttention, x: Tensor) -> Call:
    """Its whole layer with this layer's weights; it has no biases, so ours must be 0."""
    package = _package("x_transformers.x_transformers", "x-transformers")
    d_head = layer.d_model // layer.num_heads
    other = package.Attention(layer.d_model, dim_head=d_head, heads=layer.num_heads, flash=True).to(x).eval()
    theirs = (other.to_q, other.to_k, other.to_v, other.to_out)
    for source, target in zip((layer.w_q, layer.w_k, layer.w_v, layer.w_o), theirs, strict=True):
        target.weight.data.copy_(source.weight.data)
    return lambda: other(x)


def article_layer(layer: MultiHeadAttention) -> ArticleMultiHead:
    """The article's code with this layer's weights."""
    article = ArticleMultiHead(layer.d_model, layer.num_heads).to(layer.w_q.weight)
    theirs = (article.q_linear, article.k_linear, article.v_linear, article.out)
    for source, target in zip((layer.w_q, layer.w_k, layer.w_v, layer.w_o), theirs, strict=True):
        target.load_state_dict(source.state_dict())
    return article.eval()


@contextmanager
def fast_path(on: bool) -> Iterator[None]:
    """The fast path of torch's own layers turned on or off inside the block."""
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(on)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)


def torch_layer(layer: nn.MultiheadAttention, x: Tensor, *, fast: bool = True, **options: Any) -> Call:
    """``nn.MultiheadAttention`` on x as query, key and value."""

    def call() -> Any:
        with fast_path(fast):
            return layer(x, x, x, **options)

    return call
