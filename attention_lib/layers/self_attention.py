"""One head of self-attention: three projections of the same sequence."""

from __future__ import annotations

from torch import Tensor, nn

from attention_lib.arguments import check_weights_fit, check_whole
from attention_lib.attention import AttentionOutput, attention
from attention_lib.axes import check_tensor
from attention_lib.errors import ShapeError
from attention_lib.shapes import Bool, Float

__all__ = ["SelfAttention"]


class SelfAttention(nn.Module):
    """Self-attention with one head.

    ``Q = X W_Q``, ``K = X W_K``, ``V = X W_V``, ``output = softmax(Q K^T / sqrt(d_k)) V``; no biases and no
    output projection, as in introductory articles.

    Args:
        d_model: Width of the input.
        d_k: Width of queries and keys; None is ``d_model``.
        d_v: Width of the values and of the output; None is ``d_k``.

    Raises:
        OptionError: A width that is not a whole number, 1 or more.

    Example:
        >>> import torch
        >>> SelfAttention(d_model=8, d_k=4)(torch.zeros(2, 5, 8)).output.shape
        torch.Size([2, 5, 4])

    Source:
        Vaswani et al. (2017), Attention Is All You Need, section 3.2.
    """

    def __init__(self, d_model: int, d_k: int | None = None, d_v: int | None = None) -> None:
        super().__init__()
        d_k = d_model if d_k is None else d_k
        d_v = d_k if d_v is None else d_v
        check_whole(d_model=d_model, d_k=d_k, d_v=d_v)
        self.w_q = nn.Linear(d_model, d_k, bias=False)
        self.w_k = nn.Linear(d_model, d_k, bias=False)
        self.w_v = nn.Linear(d_model, d_v, bias=False)

    def forward(
        self,
        x: Float[Tensor, "... L d_model"],
        mask: Bool[Tensor, "..."] | Float[Tensor, "..."] | None = None,
        *,
        causal: bool = False,
        window: int | None = None,
        need_weights: bool = False,
    ) -> AttentionOutput:
        """Let every position of ``x`` attend to every position of ``x`` that the mask allows.

        Args:
            x: ``(..., L, d_model)``.
            mask: Broadcasts to ``(..., L, L)``; boolean (True = may attend) or float (added to the scores).
            causal: Positions see no later position.
            window: Each position sees exactly this many, itself included.
            need_weights: Also return the weights.

        Returns:
            ``AttentionOutput``: output ``(..., L, d_v)``, weights ``(..., L, L)`` or None.

        Raises:
            ShapeError: The last axis of ``x`` is not ``d_model``, or its dtype or device is not the layer's.
        """
        check_tensor("x", x)
        width = self.w_q.in_features
        if x.ndim < 2:
            raise ShapeError(f"x has shape {tuple(x.shape)}; it takes (..., L, {width}): x.reshape(-1, {width})")
        if x.shape[-1] != width:
            raise ShapeError(
                f"axis d_model is {x.shape[-1]} in x but {width} in this layer; x has shape {tuple(x.shape)}; "
                f"build the layer with d_model={x.shape[-1]}"
            )
        check_weights_fit("x", x, self.w_q.weight)
        return attention(
            self.w_q(x),
            self.w_k(x),
            self.w_v(x),
            mask,
            causal=causal,
            window=window,
            need_weights=need_weights,
        )
