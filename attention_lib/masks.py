"""Masks and their converters in one place: ``from attention_lib import masks``."""

from attention_lib.steps.conventions import (
    from_additive,
    from_attention_mask_01,
    from_key_padding_mask,
    to_additive,
    to_torch_mha,
)
from attention_lib.steps.masks import causal_mask, combine_masks, padding_mask, window_mask

__all__ = [
    "causal_mask",
    "combine_masks",
    "from_additive",
    "from_attention_mask_01",
    "from_key_padding_mask",
    "padding_mask",
    "to_additive",
    "to_torch_mha",
    "window_mask",
]
