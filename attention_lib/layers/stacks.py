"""Layers on top of each other, built from one description."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor, nn

from attention_lib.arguments import check_instance
from attention_lib.axes import is_whole
from attention_lib.errors import OptionError
from attention_lib.layers.blocks import DecoderLayer, EncoderLayer
from attention_lib.layers.cache import KVCache
from attention_lib.shapes import Bool, Float

__all__ = ["DecoderStack", "EncoderStack", "LayerSpec", "StackOutput", "check_spec"]


@dataclass(frozen=True)
class LayerSpec:
    """What one layer is like; a model repeats it. The meanings are those of ``EncoderLayer``.

    ``d_ff=None`` is the paper's ``4 * d_model``.

    Example:
        >>> LayerSpec(d_model=8, num_heads=2).encoder_layer().feed_forward.w_1.out_features
        32
    """

    d_model: int = 32
    num_heads: int = 4
    d_ff: int | None = None
    dropout_p: float = 0.0
    activation: str = "relu"
    norm_first: bool = False
    eps: float = 1e-5

    def encoder_layer(self) -> EncoderLayer:
        """A fresh encoder layer."""
        return EncoderLayer(self.d_model, self.num_heads, self._d_ff, **self._options())

    def decoder_layer(self) -> DecoderLayer:
        """A fresh decoder layer."""
        return DecoderLayer(self.d_model, self.num_heads, self._d_ff, **self._options())

    def final_norm(self) -> nn.Module:
        """What ends a stack: with ``norm_first`` the sum was never normalised, so a norm; else nothing."""
        return nn.LayerNorm(self.d_model, eps=self.eps) if self.norm_first else nn.Identity()

    @property
    def _d_ff(self) -> int:
        return 4 * self.d_model if self.d_ff is None else self.d_ff

    def _options(self) -> dict:
        names = ("dropout_p", "activation", "norm_first", "eps")
        return {name: getattr(self, name) for name in names}


class StackOutput(NamedTuple):
    """``output`` (B, L, d_model); ``weights`` and ``memory_weights``, one tensor a layer, or None."""

    output: Tensor
    weights: list[Tensor] | None = None
    memory_weights: list[Tensor] | None = None


class EncoderStack(nn.Module):
    """Encoder layers one after the other, and the final norm that ``norm_first`` needs.

    Args:
        num_layers: How many, 1 or more.
        spec: What each is like.

    Raises:
        OptionError: ``num_layers`` is not a whole number, 1 or more.

    Example:
        >>> import torch
        >>> stack = EncoderStack(3, LayerSpec(8, 2))
        >>> len(stack(torch.zeros(2, 5, 8), need_weights=True).weights)
        3
    """

    def __init__(self, num_layers: int, spec: LayerSpec) -> None:
        super().__init__()
        _check_layers(num_layers)
        check_spec(spec)
        self.layers = nn.ModuleList(spec.encoder_layer() for _ in range(num_layers))
        self.norm = spec.final_norm()

    def forward(
        self,
        x: Float[Tensor, "B L d_model"],
        mask: Bool[Tensor, "..."] | Float[Tensor, "..."] | None = None,
        *,
        causal: bool = False,
        window: int | None = None,
        need_weights: bool = False,
        caches: Sequence[KVCache] | None = None,
    ) -> StackOutput:
        """Run the layers; arguments as in ``EncoderLayer``, with one cache a layer.

        Returns:
            :class:`StackOutput`; ``weights`` has a ``(B, H, L, S)`` for each layer, or is None.

        Raises:
            OptionError: Another number of caches than layers.
        """
        every = []
        for layer, cache in _with_caches(self.layers, caches):
            x, weights = layer(x, mask, causal=causal, window=window, need_weights=need_weights, cache=cache)
            every.append(weights)
        return StackOutput(self.norm(x), every if need_weights else None)


class DecoderStack(nn.Module):
    """Decoder layers one after the other, and the final norm that ``norm_first`` needs.

    Args:
        num_layers: How many, 1 or more.
        spec: What each is like.

    Raises:
        OptionError: ``num_layers`` is not a whole number, 1 or more.

    Example:
        >>> import torch
        >>> stack, memory = DecoderStack(3, LayerSpec(8, 2)), torch.zeros(2, 7, 8)
        >>> len(stack(torch.zeros(2, 5, 8), memory, need_weights=True).memory_weights)
        3
    """

    def __init__(self, num_layers: int, spec: LayerSpec) -> None:
        super().__init__()
        _check_layers(num_layers)
        check_spec(spec)
        self.layers = nn.ModuleList(spec.decoder_layer() for _ in range(num_layers))
        self.norm = spec.final_norm()

    def forward(
        self,
        x: Float[Tensor, "B L d_model"],
        memory: Float[Tensor, "B S d_model"],
        memory_mask: Bool[Tensor, "..."] | Float[Tensor, "..."] | None = None,
        *,
        need_weights: bool = False,
        caches: Sequence[KVCache] | None = None,
    ) -> StackOutput:
        """Run the layers, causal; arguments as in ``DecoderLayer``, with one cache a layer.

        Returns:
            :class:`StackOutput`; both lists have one tensor a layer, or are None.

        Raises:
            OptionError: Another number of caches than layers.
        """
        own, of_memory = [], []
        for layer, cache in _with_caches(self.layers, caches):
            x, weights, memory_weights = layer(
                x, memory, memory_mask=memory_mask, need_weights=need_weights, cache=cache
            )
            own.append(weights)
            of_memory.append(memory_weights)
        return StackOutput(self.norm(x), *((own, of_memory) if need_weights else ()))


def check_spec(spec: LayerSpec) -> None:
    """Check that a model was told what its layers are like.

    Raises:
        OptionError: ``spec`` is of another class.
    """
    check_instance("spec", spec, LayerSpec, "LayerSpec(d_model=32, num_heads=4)")


def _check_layers(num_layers: int) -> None:
    if not is_whole(num_layers) or num_layers < 1:
        raise OptionError(f"num_layers={num_layers!r} must be a whole number, 1 or more")


def _with_caches(layers: nn.ModuleList, caches: Sequence[KVCache] | None) -> list[tuple[nn.Module, KVCache | None]]:
    if caches is not None:
        check_instance("caches", caches, Sequence, f"[KVCache() for _ in range({len(layers)})]")
    if caches is not None and len(caches) != len(layers):
        raise OptionError(
            f"there are {len(caches)} caches for {len(layers)} layers; "
            f"give each layer its own: [KVCache() for _ in range({len(layers)})]"
        )
    every: Sequence[KVCache | None] = [None] * len(layers) if caches is None else caches
    return list(zip(layers, every, strict=True))
