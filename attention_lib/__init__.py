"""Attention, step by step: a small exact library that follows the device and dtype of its inputs.

Names and shapes: B batch, H heads, L query length, S key length, d_k, d_v, d_model. Boolean masks: True = may
attend. Start with ``attention`` and ``MultiHeadAttention``; ``reference`` is the same in plain Python.
"""

import importlib

from attention_lib import masks, reference
from attention_lib.attention import AttentionOutput, attention, attention_weights
from attention_lib.averaged import averaged_weights
from attention_lib.errors import AttentionError, AttentionMemoryError, MaskError, OptionError, ShapeError
from attention_lib.layers.additive import AdditiveScores
from attention_lib.layers.blocks import DecoderLayer, EncoderLayer
from attention_lib.layers.cache import KVCache
from attention_lib.layers.feed_forward import FeedForward
from attention_lib.layers.multi_head import MultiHeadAttention
from attention_lib.layers.positions import RotaryPositions, SinusoidalPositions
from attention_lib.layers.recurrent import GRU, LSTM, RNN
from attention_lib.layers.self_attention import SelfAttention
from attention_lib.layers.stacks import LayerSpec
from attention_lib.models.language_model import LanguageModel
from attention_lib.models.mobilevit import MobileViTBlock
from attention_lib.models.seq2seq import Seq2Seq
from attention_lib.models.transformer import Transformer
from attention_lib.ragged import ragged_attention
from attention_lib.runtime import default_device, seed_everything
from attention_lib.steps.heads import merge_heads, split_heads
from attention_lib.steps.masks import causal_mask, combine_masks, padding_mask, window_mask
from attention_lib.steps.scores import dot_product_scores
from attention_lib.steps.softmax import masked_softmax
from attention_lib.steps.values import weighted_sum
from attention_lib.version import __version__


def __getattr__(name: str) -> object:
    """Import a large room when it is first asked for: the doctor, and the two that draw and need matplotlib."""
    if name in ("doctor", "plot", "viz"):
        return importlib.import_module(f"attention_lib.{name}")
    raise AttributeError(f"module 'attention_lib' has no attribute {name!r}")


__all__ = [
    "GRU",
    "LSTM",
    "RNN",
    "AdditiveScores",
    "AttentionError",
    "AttentionMemoryError",
    "AttentionOutput",
    "DecoderLayer",
    "EncoderLayer",
    "FeedForward",
    "KVCache",
    "LanguageModel",
    "LayerSpec",
    "MaskError",
    "MobileViTBlock",
    "MultiHeadAttention",
    "OptionError",
    "RotaryPositions",
    "SelfAttention",
    "Seq2Seq",
    "ShapeError",
    "SinusoidalPositions",
    "Transformer",
    "__version__",
    "attention",
    "attention_weights",
    "averaged_weights",
    "causal_mask",
    "combine_masks",
    "default_device",
    "doctor",
    "dot_product_scores",
    "masked_softmax",
    "masks",
    "merge_heads",
    "padding_mask",
    "ragged_attention",
    "reference",
    "seed_everything",
    "split_heads",
    "weighted_sum",
    "window_mask",
]
