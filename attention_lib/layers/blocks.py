"""The transformer's layers: attention and a feed-forward network, each with a shortcut and a layer norm.

``norm_first=False`` (the paper, torch's default) normalises after each sum, ``norm_first=True`` before each part:

    after:   x = norm(x + part(x))          before:   x = x + part(norm(x))
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor, nn

from attention_lib.arguments import check_weights_fit
from attention_lib.attention import AttentionOutput
from attention_lib.layers.cache import KVCache
from attention_lib.layers.feed_forward import FeedForward
from attention_lib.layers.multi_head import MultiHeadAttention, check_input
from attention_lib.layers.torch_layers import copy_layer
from attention_lib.shapes import Bool, Float

__all__ = ["DecoderLayer", "DecoderOutput", "EncoderLayer"]


class DecoderOutput(NamedTuple):
    """``output`` (B, L, d_model), ``weights`` (B, H, L, L) or None, ``memory_weights`` (B, H, L, S) or None."""

    output: Tensor
    weights: Tensor | None = None
    memory_weights: Tensor | None = None


def add_part(x: Tensor, part: Callable[[Tensor], Tensor], norm: nn.Module, *, norm_first: bool) -> Tensor:
    """The shortcut around one part of a layer, with its norm before the part or after the sum."""
    return x + part(norm(x)) if norm_first else norm(x + part(x))


class EncoderLayer(nn.Module):
    """Self-attention, then a feed-forward network. With ``causal=True`` it is the layer of a decoder-only model.

    Args:
        d_model: Width of input and output.
        num_heads: H, a divisor of ``d_model``.
        d_ff: Width inside the feed-forward network.
        dropout_p: Probability of dropping a weight, an entry inside the network, an entry of either part's result.
        activation: "relu" or "gelu".
        norm_first: Normalise before each part instead of after each sum.
        eps: Added to the variance by the layer norms.

    Raises:
        OptionError: An option is out of range.

    Example:
        >>> import torch
        >>> layer = EncoderLayer(8, 2, 16, norm_first=True)
        >>> output, weights = layer(torch.zeros(3, 5, 8), causal=True, need_weights=True)
        >>> output.shape, weights.shape
        (torch.Size([3, 5, 8]), torch.Size([3, 2, 5, 5]))

    Source:
        Vaswani et al. (2017), section 3.1; norm first: Xiong et al. (2020); torch's nn.TransformerEncoderLayer.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        *,
        dropout_p: float = 0.0,
        activation: str = "relu",
        norm_first: bool = False,
        eps: float = 1e-5,
    ) -> None:
        super().__init__()
        self.d_model, self.norm_first = d_model, norm_first
        self.attention = MultiHeadAttention(d_model, num_heads, dropout_p=dropout_p)
        self.feed_forward = FeedForward(d_model, d_ff, activation=activation, dropout_p=dropout_p)
        self.norm_1, self.norm_2 = nn.LayerNorm(d_model, eps=eps), nn.LayerNorm(d_model, eps=eps)
        self.dropout = nn.Dropout(dropout_p)

    def forward(
        self,
        x: Float[Tensor, "B L d_model"],
        mask: Bool[Tensor, "..."] | Float[Tensor, "..."] | None = None,
        *,
        causal: bool = False,
        window: int | None = None,
        need_weights: bool = False,
        cache: KVCache | None = None,
    ) -> AttentionOutput:
        """Run the layer.

        Args:
            x: ``(B, L, d_model)``.
            mask: As in ``MultiHeadAttention``; True = may attend.
            causal: Positions see no later position.
            window: Each position sees exactly this many, itself included.
            need_weights: Also return the weights.
            cache: Keys and values of earlier positions; needs ``causal=True``.

        Returns:
            ``AttentionOutput``: output ``(B, L, d_model)``, weights ``(B, H, L, S)`` or None.

        Raises:
            ShapeError, MaskError, OptionError: As in ``MultiHeadAttention``.
        """
        check_input("x", x, "d_model", self.d_model)
        check_weights_fit("x", x, getattr(self.norm_1, "weight", None))  # a norm may be taken out
        weights = None

        def attend(x: Tensor) -> Tensor:
            nonlocal weights
            output, weights = self.attention(
                x, mask=mask, causal=causal, window=window, need_weights=need_weights, cache=cache
            )
            return self.dropout(output)

        x = add_part(x, attend, self.norm_1, norm_first=self.norm_first)
        x = add_part(x, lambda x: self.dropout(self.feed_forward(x)), self.norm_2, norm_first=self.norm_first)
        return AttentionOutput(x, weights)

    @classmethod
    def from_torch(cls, module: nn.TransformerEncoderLayer) -> EncoderLayer:
        """A copy of torch's layer, of either ``batch_first``; the copy is batch-first.

        Raises:
            OptionError: ``module`` is of another class, has no biases, or another activation.

        Example:
            >>> EncoderLayer.from_torch(nn.TransformerEncoderLayer(8, 2, 16)).norm_first
            False
        """
        return copy_layer(module, nn.TransformerEncoderLayer, cls, attentions=("attention",))


class DecoderLayer(nn.Module):
    """Self-attention over what was written, cross-attention to the memory, then a feed-forward network.

    Args:
        d_model: Width of input, memory and output.
        num_heads: H, a divisor of ``d_model``.
        d_ff: Width inside the feed-forward network.
        dropout_p: As in :class:`EncoderLayer`.
        activation: "relu" or "gelu".
        norm_first: Normalise before each part instead of after each sum.
        eps: Added to the variance by the layer norms.

    Raises:
        OptionError: An option is out of range.

    Example:
        >>> import torch
        >>> layer, memory = DecoderLayer(8, 2, 16), torch.zeros(3, 7, 8)
        >>> layer(torch.zeros(3, 5, 8), memory, need_weights=True).memory_weights.shape
        torch.Size([3, 2, 5, 7])

    Source:
        Vaswani et al. (2017), section 3.1; torch's nn.TransformerDecoderLayer.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        *,
        dropout_p: float = 0.0,
        activation: str = "relu",
        norm_first: bool = False,
        eps: float = 1e-5,
    ) -> None:
        super().__init__()
        self.d_model, self.norm_first = d_model, norm_first
        self.attention = MultiHeadAttention(d_model, num_heads, dropout_p=dropout_p)
        self.cross_attention = MultiHeadAttention(d_model, num_heads, dropout_p=dropout_p)
        self.feed_forward = FeedForward(d_model, d_ff, activation=activation, dropout_p=dropout_p)
        self.norm_1, self.norm_2, self.norm_3 = (nn.LayerNorm(d_model, eps=eps) for _ in range(3))
        self.dropout = nn.Dropout(dropout_p)

    def forward(
        self,
        x: Float[Tensor, "B L d_model"],
        memory: Float[Tensor, "B S d_model"],
        mask: Bool[Tensor, "..."] | Float[Tensor, "..."] | None = None,
        memory_mask: Bool[Tensor, "..."] | Float[Tensor, "..."] | None = None,
        *,
        causal: bool = True,
        need_weights: bool = False,
        cache: KVCache | None = None,
    ) -> DecoderOutput:
        """Run the layer. A decoder is causal unless told otherwise (torch's is not).

        Args:
            x: What was written so far, ``(B, L, d_model)``.
            memory: What the encoder made of the source, ``(B, S, d_model)``.
            mask: For the self-attention; True = may attend.
            memory_mask: For the cross-attention: the padding of the *source*, ``(B, 1, 1, S)``.
            causal: Positions see no later position.
            need_weights: Also return the weights of both attentions.
            cache: Keys and values of earlier positions, for the self-attention.

        Returns:
            :class:`DecoderOutput`.

        Raises:
            ShapeError, MaskError, OptionError: As in ``MultiHeadAttention``.
        """
        check_input("x", x, "d_model", self.d_model)
        check_input("memory", memory, "d_model", self.d_model)
        check_weights_fit("x", x, getattr(self.norm_1, "weight", None))  # a norm may be taken out
        check_weights_fit("memory", memory, getattr(self.norm_2, "weight", None))
        weights = memory_weights = None

        def attend(x: Tensor) -> Tensor:
            nonlocal weights
            output, weights = self.attention(x, mask=mask, causal=causal, need_weights=need_weights, cache=cache)
            return self.dropout(output)

        def attend_to_memory(x: Tensor) -> Tensor:
            nonlocal memory_weights
            output, memory_weights = self.cross_attention(x, memory, mask=memory_mask, need_weights=need_weights)
            return self.dropout(output)

        x = add_part(x, attend, self.norm_1, norm_first=self.norm_first)
        x = add_part(x, attend_to_memory, self.norm_2, norm_first=self.norm_first)
        x = add_part(x, lambda x: self.dropout(self.feed_forward(x)), self.norm_3, norm_first=self.norm_first)
        return DecoderOutput(x, weights, memory_weights)

    @classmethod
    def from_torch(cls, module: nn.TransformerDecoderLayer) -> DecoderLayer:
        """A copy of torch's layer, of either ``batch_first``; the copy is batch-first.

        Raises:
            OptionError: ``module`` is of another class, has no biases, or another activation.

        Example:
            >>> DecoderLayer.from_torch(nn.TransformerDecoderLayer(8, 2, 16)).norm_first
            False
        """
        attentions = ("attention", "cross_attention")
        return copy_layer(module, nn.TransformerDecoderLayer, cls, attentions=attentions)
