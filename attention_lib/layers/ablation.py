"""Take one head away and see what is lost."""

from __future__ import annotations

import copy

import torch

from attention_lib.arguments import check_instance
from attention_lib.axes import is_whole
from attention_lib.errors import OptionError
from attention_lib.layers.multi_head import MultiHeadAttention

__all__ = ["without_head"]


def without_head(layer: MultiHeadAttention, head: int) -> MultiHeadAttention:
    """A copy of the layer whose output no longer contains one head.

    The output is a sum over heads, ``sum_h A_h X W_V^h W_O^h`` plus a bias; here ``W_O^h`` is 0 for one h.

    Args:
        layer: Left as it is.
        head: 0 ... H - 1.

    Returns:
        The copy.

    Raises:
        OptionError: ``layer`` is of another class, or has no such head.

    Example:
        >>> layer = without_head(MultiHeadAttention(4, 2), 1)
        >>> layer.w_o.weight.abs().sum(dim=0).bool().tolist()
        [True, True, False, False]

    Source: Michel, Levy, Neubig (2019), Are Sixteen Heads Really Better than One?
    """
    check_instance("layer", layer, MultiHeadAttention, "MultiHeadAttention(d_model=8, num_heads=2)")
    if not is_whole(head) or not 0 <= head < layer.num_heads:
        raise OptionError(
            f"head={head!r} must be from 0 to {layer.num_heads - 1}; the layer has {layer.num_heads} heads"
        )
    changed = copy.deepcopy(layer)
    d_head = layer.d_model // layer.num_heads
    with torch.no_grad():
        changed.w_o.weight[:, head * d_head : (head + 1) * d_head] = 0.0
    return changed
