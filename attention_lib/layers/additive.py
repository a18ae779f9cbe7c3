"""Additive scores: a small network asks how well a query matches a key. The attention of 2014."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from attention_lib.arguments import check_weights_fit, check_whole
from attention_lib.attention import AttentionOutput
from attention_lib.axes import check_tensor
from attention_lib.errors import ShapeError
from attention_lib.shapes import Bool, Float
from attention_lib.steps.softmax import masked_softmax
from attention_lib.steps.values import weighted_sum

__all__ = ["AdditiveScores", "additive_attention"]


class AdditiveScores(nn.Module):
    r"""Scores from a network with one hidden layer, for queries and keys of any two widths.

    .. math:: e_{ij} = v^\top \tanh(W_q q_i + W_k k_j)

    Args:
        d_query: Width of a query.
        d_key: Width of a key.
        d_hidden: Width of the hidden layer.

    Example:
        With every weight 1 and one hidden unit: tanh(1 + 0) and tanh(1 + 1).

        >>> scores = AdditiveScores(1, 1, 1)
        >>> for parameter in scores.parameters():
        ...     _ = nn.init.ones_(parameter)
        >>> scores(torch.tensor([[[1.0]]]), torch.tensor([[[0.0], [1.0]]])).detach().round(decimals=3)
        tensor([[[0.7620, 0.9640]]])

    Source:
        Bahdanau, Cho, Bengio (2014), Neural Machine Translation by Jointly Learning to Align and Translate, A.1.2.
    """

    def __init__(self, d_query: int, d_key: int, d_hidden: int) -> None:
        super().__init__()
        check_whole(d_query=d_query, d_key=d_key, d_hidden=d_hidden)
        self.w_q = nn.Linear(d_query, d_hidden, bias=False)
        self.w_k = nn.Linear(d_key, d_hidden, bias=False)
        self.v = nn.Parameter(torch.empty(d_hidden).uniform_(-1, 1) / math.sqrt(d_hidden))

    def forward(
        self, query: Float[Tensor, "... L d_query"], key: Float[Tensor, "... S d_key"]
    ) -> Float[Tensor, "... L S"]:
        """Score every query against every key.

        Args:
            query: ``(..., L, d_query)``.
            key: ``(..., S, d_key)``.

        Returns:
            ``(..., L, S)``.

        Raises:
            ShapeError: A width, dtype or device is not that of this module.
        """
        _check_input("query", "d_query", query, self.w_q)
        return self.from_projected(query, self.project_keys(key))

    def project_keys(self, key: Float[Tensor, "... S d_key"]) -> Float[Tensor, "... S d_hidden"]:
        """The keys' half of the network; a decoder computes it once for all its queries."""
        _check_input("key", "d_key", key, self.w_k)
        return self.w_k(key)

    def from_projected(
        self, query: Float[Tensor, "... L d_query"], projected: Float[Tensor, "... S d_hidden"]
    ) -> Float[Tensor, "... L S"]:
        """Scores against keys that went through :meth:`project_keys`."""
        hidden = torch.tanh(self.w_q(query)[..., :, None, :] + projected[..., None, :, :])  # (..., L, S, d_hidden)
        return hidden @ self.v


def additive_attention(
    scores: Float[Tensor, "... L S"],
    value: Float[Tensor, "... S d_v"],
    mask: Bool[Tensor, "..."] | Float[Tensor, "..."] | None = None,
) -> AttentionOutput:
    """From any scores to the output: masked softmax, then the weighted sum.

    Args:
        scores: ``(..., L, S)``, for example of :class:`AdditiveScores`.
        value: ``(..., S, d_v)``.
        mask: True = may attend; broadcasts to ``(..., L, S)``.

    Returns:
        ``AttentionOutput``: output ``(..., L, d_v)``, weights ``(..., L, S)`` whose rows sum to 1 or are all 0.

    Raises:
        MaskError: The mask does not fit the scores.

    Example:
        >>> additive_attention(torch.zeros(1, 2), torch.tensor([[2.0], [4.0]])).output
        tensor([[3.]])
    """
    weights = masked_softmax(scores, mask)  # (..., L, S)
    return AttentionOutput(weighted_sum(weights, value), weights)


def _check_input(name: str, axis: str, tensor: Tensor, projection: nn.Linear) -> None:
    check_tensor(name, tensor)
    width = projection.in_features
    if tensor.ndim < 2:
        raise ShapeError(f"{name} has shape {tuple(tensor.shape)}; it needs two axes or more, (..., length, {width})")
    if tensor.shape[-1] != width:
        raise ShapeError(
            f"axis {axis} is {tensor.shape[-1]} in {name} but {width} in AdditiveScores; shape {tuple(tensor.shape)}; "
            f"build it with {axis}={tensor.shape[-1]}"
        )
    check_weights_fit(name, tensor, projection.weight)
