"""Several heads side by side: project, split, attend, merge, project."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from attention_lib.arguments import check_weights_fit, check_whole
from attention_lib.attention import AttentionOutput, attention
from attention_lib.axes import check_dropout, check_tensor, check_window, is_whole
from attention_lib.errors import MaskError, OptionError, ShapeError
from attention_lib.layers.cache import KVCache, check_cache
from attention_lib.layers.torch_mha import Projections, check_copied_module, copy_from_torch, copy_to_torch
from attention_lib.shapes import Bool, Float
from attention_lib.steps.heads import check_num_heads, merge_heads, split_heads
from attention_lib.steps.mask_checks import check_mask

__all__ = ["MultiHeadAttention", "check_input"]

FROM_KEYS = 512  # fewer fit into a cache as they lie, beside those of the other heads


class MultiHeadAttention(nn.Module):
    """Multi-head attention, always batch-first.

    ``head_h = attention(query W_Q^h, key W_K^h, value W_V^h)``, ``output = concat(head_1 ... head_H) W_O``

    The four projections start as in ``nn.MultiheadAttention``: Xavier-uniform weights, biases at 0.

    Args:
        d_model: Width of the query and of the output, a multiple of ``num_heads``.
        num_heads: H; each head is ``d_model / num_heads`` wide.
        num_kv_heads: Heads of key and value, a divisor of H (grouped-query attention); None is H.
        d_key: Width of the key input; None is ``d_model``.
        d_value: Width of the value input; None is ``d_model``.
        bias: Whether the projections have biases.
        dropout_p: Probability of dropping a weight while training.

    Raises:
        OptionError: A head count does not divide what it must, a width is not a whole number, or
            ``dropout_p`` is outside [0, 1).

    Example:
        >>> import torch
        >>> layer = MultiHeadAttention(d_model=8, num_heads=2)
        >>> output, weights = layer(torch.zeros(3, 5, 8), causal=True, need_weights=True)
        >>> output.shape, weights.shape
        (torch.Size([3, 5, 8]), torch.Size([3, 2, 5, 5]))

    Source:
        Vaswani et al. (2017), Attention Is All You Need, section 3.2.2; Ainslie et al. (2023), GQA.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        *,
        num_kv_heads: int | None = None,
        d_key: int | None = None,
        d_value: int | None = None,
        bias: bool = True,
        dropout_p: float = 0.0,
    ) -> None:
        super().__init__()
        check_num_heads(d_model, num_heads)
        num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        if not is_whole(num_kv_heads) or num_kv_heads < 1 or num_heads % num_kv_heads:
            raise OptionError(
                f"num_heads={num_heads} is not a multiple of num_kv_heads={num_kv_heads}; choose num_kv_heads from "
                f"{[divisor for divisor in range(1, num_heads + 1) if num_heads % divisor == 0]}"
            )
        check_dropout(dropout_p)
        d_key, d_value = d_model if d_key is None else d_key, d_model if d_value is None else d_value
        check_whole(d_key=d_key, d_value=d_value)
        self.d_model, self.num_heads, self.num_kv_heads, self.dropout_p = (
            d_model,
            num_heads,
            num_kv_heads,
            dropout_p,
        )
        d_kv = d_model // num_heads * num_kv_heads  # width of all key heads together
        self.w_q = nn.Linear(d_model, d_model, bias=bias)
        self.w_k = nn.Linear(d_key, d_kv, bias=bias)
        self.w_v = nn.Linear(d_value, d_kv, bias=bias)
        self.w_o = nn.Linear(d_model, d_model, bias=bias)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weights anew."""
        for projection in self._projections():
            nn.init.xavier_uniform_(projection.weight)
            if projection.bias is not None:
                nn.init.zeros_(projection.bias)

    def forward(
        self,
        query: Float[Tensor, "B L d_model"],
        key: Float[Tensor, "B S d_key"] | None = None,
        value: Float[Tensor, "B S d_value"] | None = None,
        mask: Bool[Tensor, "..."] | Float[Tensor, "..."] | None = None,
        *,
        causal: bool = False,
        window: int | None = None,
        need_weights: bool = False,
        cache: KVCache | None = None,
    ) -> AttentionOutput:
        """Attend from ``query`` to ``key``; with neither key nor value this is self-attention.

        Args:
            query: ``(B, L, d_model)``.
            key: ``(B, S, d_key)``; None is ``query``.
            value: ``(B, S, d_value)``; None is ``key``.
            mask: ``(L, S)``, ``(B, 1, 1, S)``, ``(B, 1, L, S)`` or ``(B, H, L, S)``; boolean (True = may
                attend) or float (added to the scores).
            causal: Queries see no later position; the L queries are the last L of the S positions.
            window: A query sees exactly this many keys, itself included.
            need_weights: Also return the weights, per head.
            cache: Keys and values of earlier positions; the new ones are appended. Needs ``causal=True``.

        Returns:
            ``AttentionOutput``: output ``(B, L, d_model)``, weights ``(B, H, L, S)`` or None.

        Raises:
            ShapeError: An input has the wrong rank, width, batch size, length, dtype or device.
            MaskError: The mask has three axes (batch or heads?), or does not fit ``(B, H, L, S)``.
            OptionError: ``cache`` with cross-attention or without ``causal=True``; ``window`` out of range.
        """
        check_cache(cache, key if value is None else value, causal=causal)
        key = query if key is None else key
        value = key if value is None else value
        self._check_inputs(query, key, value)
        # Before anything is cached: a refused call leaves the cache as it was.
        S = key.shape[1] + (len(cache) if cache is not None else 0)
        _check_mask(mask, (query.shape[0], self.num_heads, query.shape[1], S), query.device)
        check_window(window)
        q = split_heads(self.w_q(query), self.num_heads)  # (B, H, L, d_head)
        k = split_heads(self.w_k(key), self.num_kv_heads)  # (B, H_kv, S, d_head)
        v = split_heads(self.w_v(value), self.num_kv_heads)  # (B, H_kv, S, d_head)
        if cache is not None:
            cache.claim(self)
            k, v = cache.append(k, v)  # (B, H_kv, S, d_head), S with the earlier positions
        elif k.shape[-2] >= FROM_KEYS and k.device.type == "cpu":
            k, v = k.contiguous(), v.contiguous()  # read L times: apart, the rows of a head keep missing the cache
        heads, weights = attention(
            q, k, v, mask, causal=causal, window=window,
            dropout_p=self.dropout_p if self.training else 0.0, need_weights=need_weights,
        )  # fmt: skip
        return AttentionOutput(self.w_o(merge_heads(heads)), weights)

    @classmethod
    def from_torch(cls, module: nn.MultiheadAttention) -> MultiHeadAttention:
        """Copy an ``nn.MultiheadAttention``, of either ``batch_first``; the copy is batch-first.

        Args:
            module: Any but those with ``add_bias_kv`` or ``add_zero_attn``.

        Returns:
            A layer with the same outputs, in the same dtype, device and training mode.

        Raises:
            OptionError: ``module`` is of another class, or has ``bias_k`` or ``add_zero_attn``.

        Example:
            >>> MultiHeadAttention.from_torch(nn.MultiheadAttention(8, 2)).num_heads
            2
        """
        check_copied_module(module)
        with torch.device("meta"):  # no weights are drawn, so that torch's generator stays where it is
            layer = cls(
                module.embed_dim, module.num_heads, d_key=module.kdim, d_value=module.vdim,
                bias=module.in_proj_bias is not None, dropout_p=module.dropout,
            )  # fmt: skip
        weight = module.out_proj.weight
        layer = layer.to(weight.dtype).to_empty(device=weight.device)
        copy_from_torch(module, layer._projections())
        return layer.train(module.training)

    def to_torch(self) -> nn.MultiheadAttention:
        """Copy this layer to an ``nn.MultiheadAttention`` with ``batch_first=True``.

        torch has no grouped heads: the key and value weights of a group are repeated, which is exact.

        Returns:
            A module with the same outputs, in the same dtype, device and training mode. Its masks have the
            opposite polarity: convert them with ``masks.to_torch_mha``.

        Example:
            >>> MultiHeadAttention(8, 2).to_torch().batch_first
            True
        """
        with torch.device("meta"):
            module = nn.MultiheadAttention(
                self.d_model, self.num_heads, dropout=self.dropout_p, bias=self.w_q.bias is not None,
                kdim=self.w_k.in_features, vdim=self.w_v.in_features, batch_first=True,
            )  # fmt: skip
        module = module.to(self.w_o.weight.dtype).to_empty(device=self.w_o.weight.device)
        copy_to_torch(self._projections(), module)
        return module.train(self.training)

    def extra_repr(self) -> str:
        return f"num_heads={self.num_heads}, num_kv_heads={self.num_kv_heads}, dropout_p={self.dropout_p}"

    def _projections(self) -> Projections:
        return self.w_q, self.w_k, self.w_v, self.w_o

    def _check_inputs(self, query: Tensor, key: Tensor, value: Tensor) -> None:
        check_input("query", query, "d_model", self.w_q.in_features)
        check_input("key", key, "d_key", self.w_k.in_features)
        check_input("value", value, "d_value", self.w_v.in_features)
        _check_same_size("B", 0, query=query, key=key)
        _check_same_size("B", 0, key=key, value=value)
        _check_same_size("S", 1, key=key, value=value)
        check_weights_fit("query", query, self.w_q.weight)
        check_weights_fit("key", key, self.w_k.weight)
        check_weights_fit("value", value, self.w_v.weight)


def check_input(name: str, tensor: Tensor, axis: str, width: int) -> None:
    """Check that a layer's input is ``(B, length, width)``, of the layer's width.

    Raises:
        ShapeError: It is not; the message names the axis ``axis`` of the input ``name``.
    """
    check_tensor(name, tensor)
    if tensor.ndim != 3:
        raise ShapeError(
            f"{name} has shape {tuple(tensor.shape)}; MultiHeadAttention is batch-first, (B, length, {width}): "
            f"add a missing batch axis with {name}.unsqueeze(0)"
        )
    if tensor.shape[-1] != width:
        raise ShapeError(
            f"axis {axis} is {tensor.shape[-1]} in {name} but {width} in this layer; {name} has shape "
            f"{tuple(tensor.shape)}; build the layer with {axis}={tensor.shape[-1]} or project {name} first"
        )


def _check_same_size(letter: str, axis: int, **tensors: Tensor) -> None:
    (name, tensor), (other_name, other) = tensors.items()
    if tensor.shape[axis] != other.shape[axis]:
        raise ShapeError(
            f"axis {letter} is {tensor.shape[axis]} in {name} but {other.shape[axis]} in {other_name}; "
            f"shapes {tuple(tensor.shape)} and {tuple(other.shape)}; inputs are batch-first, (B, length, width)"
        )


def _check_mask(mask: Tensor | None, scores_shape: tuple[int, ...], device: torch.device) -> None:
    if isinstance(mask, Tensor) and mask.ndim not in (2, 4):
        raise MaskError(
            f"mask of shape {tuple(mask.shape)} has {mask.ndim} axes, the scores (B, H, L, S) are {scores_shape}; "
            "allowed are (L, S), (B, 1, 1, S), (B, 1, L, S) and (B, H, L, S): write mask[:, None] for one mask a batch "
            "entry, mask[None] for one a head"
        )
    check_mask(mask, scores_shape, device)
