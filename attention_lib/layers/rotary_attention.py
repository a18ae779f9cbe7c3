"""Multi-head self-attention whose queries and keys are turned by their position."""

from __future__ import annotations

from torch import Tensor, nn

from attention_lib.attention import AttentionOutput, attention
from attention_lib.axes import check_tensor, check_window
from attention_lib.errors import ShapeError
from attention_lib.layers.cache import KVCache, check_cache
from attention_lib.layers.positions import RotaryPositions
from attention_lib.shapes import Bool, Float
from attention_lib.steps.heads import check_num_heads, merge_heads, split_heads
from attention_lib.steps.mask_checks import check_mask

__all__ = ["RotarySelfAttention"]


class RotarySelfAttention(nn.Module):
    """Self-attention that knows distances: no position is added to the input, so none reaches the values.

    It is called as ``MultiHeadAttention`` is with one input, and can stand in its place in an ``EncoderLayer``:
    ``layer.attention = RotarySelfAttention(d_model, num_heads)``.

    Args:
        d_model: Width of input and output.
        num_heads: H; each head is ``d_model / num_heads`` wide, an even number.
        base: See ``position_angles``.

    Raises:
        OptionError: ``num_heads`` does not divide ``d_model``, or a head's width is odd.

    Example:
        >>> import torch
        >>> RotarySelfAttention(8, 2)(torch.zeros(3, 5, 8), causal=True).output.shape
        torch.Size([3, 5, 8])

    Source: Su et al. (2021), RoFormer, section 3.2.
    """

    def __init__(self, d_model: int, num_heads: int, *, base: float = 10000.0) -> None:
        super().__init__()
        check_num_heads(d_model, num_heads)
        self.num_heads = num_heads
        self.rotary = RotaryPositions(d_model // num_heads, base=base)
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model) for _ in range(4))
        for projection in (self.w_q, self.w_k, self.w_v, self.w_o):
            nn.init.xavier_uniform_(projection.weight)
            nn.init.zeros_(projection.bias)

    def forward(
        self,
        x: Float[Tensor, "B L d_model"],
        *,
        mask: Bool[Tensor, "..."] | Float[Tensor, "..."] | None = None,
        causal: bool = False,
        window: int | None = None,
        need_weights: bool = False,
        cache: KVCache | None = None,
    ) -> AttentionOutput:
        """Attend from every position to every position that the mask allows.

        Args:
            x: ``(B, L, d_model)``.
            mask: As in ``MultiHeadAttention``; True = may attend.
            causal: Positions see no later position.
            window: Each position sees exactly this many, itself included.
            need_weights: Also return the weights.
            cache: Keys (already turned) and values of earlier positions; needs ``causal=True``.

        Returns:
            ``AttentionOutput``: output ``(B, L, d_model)``, weights ``(B, H, L, S)`` or None.

        Raises:
            ShapeError: ``x`` is not ``(B, L, d_model)``.
            OptionError: ``cache`` without ``causal=True``.
        """
        check_tensor("x", x)
        if x.ndim != 3 or x.shape[-1] != self.w_q.in_features:
            raise ShapeError(f"x has shape {tuple(x.shape)}; this layer reads (B, L, d_model={self.w_q.in_features})")
        check_cache(cache, None, causal=causal)
        # Before anything is cached: a refused call leaves the cache as it was.
        L, S = x.shape[1], x.shape[1] + (0 if cache is None else len(cache))
        check_mask(mask, (x.shape[0], self.num_heads, L, S), x.device)
        check_window(window)
        q, k, v = (split_heads(w(x), self.num_heads) for w in (self.w_q, self.w_k, self.w_v))  # (B, H, L, d_head)
        q, k = self.rotary(q, k, offset=0 if cache is None else len(cache))
        if cache is not None:
            cache.claim(self)
            k, v = cache.append(k, v)  # (B, H, S, d_head), S with the earlier positions
        output, weights = attention(q, k, v, mask, causal=causal, window=window, need_weights=need_weights)
        return AttentionOutput(self.w_o(merge_heads(output)), weights)
