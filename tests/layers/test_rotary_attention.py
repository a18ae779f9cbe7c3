"""Rotary self-attention: equal to plain attention over turned projections, blind to a shift, exact with a cache."""

import pytest
import torch
from torch import nn

from attention_lib.errors import OptionError, ShapeError
from attention_lib.layers.cache import KVCache
from attention_lib.layers.multi_head import MultiHeadAttention
from attention_lib.layers.positions import position_angles
from attention_lib.layers.rotary_attention import RotarySelfAttention
from attention_lib.layers.stacks import LayerSpec
from attention_lib.models.language_model import LanguageModel

B, L, D, H = 2, 7, 20, 2


def layer_and_input():
    layer = RotarySelfAttention(D, H).double()
    for parameter in layer.parameters():
        nn.init.normal_(parameter, std=0.5)
    return layer, torch.randn(B, L, D, dtype=torch.float64)


def test_scores_are_products_of_complex_numbers():
    layer, x = layer_and_input()
    turn = torch.polar(torch.ones(L, 5, dtype=torch.float64), position_angles(L, 10))

    def numbers(w):
        return torch.view_as_complex(w(x).unflatten(-1, (H, 5, 2)).contiguous()).transpose(1, 2) * turn  # (B, H, L, 5)

    scores = (numbers(layer.w_q) @ numbers(layer.w_k).mH).real / 10**0.5
    torch.testing.assert_close(layer(x, need_weights=True).weights, torch.softmax(scores, -1))


def test_every_angle_zero_is_plain_attention():
    layer, x = layer_and_input()
    plain = MultiHeadAttention(D, H).double()
    plain.load_state_dict(layer.state_dict())
    first = x[:, :1]
    torch.testing.assert_close(layer(first).output, plain(first).output)
    assert (layer(x).output - plain(x).output).abs().max() > 1e-3


def test_moving_the_sequence_changes_nothing():
    layer, x = layer_and_input()
    longer = torch.cat([torch.randn(B, 3, D, dtype=torch.float64), x], dim=1)
    mask = torch.ones(10, 10, dtype=torch.bool)
    mask[:, :3] = False
    torch.testing.assert_close(layer(longer, mask=mask, causal=True).output[:, 3:], layer(x, causal=True).output)


def test_chunks_with_a_cache_equal_one_pass():
    layer, x = layer_and_input()
    cache = KVCache()
    parts = [layer(x[:, a:b], causal=True, window=4, cache=cache).output for a, b in ((0, 3), (3, 4), (4, 7))]
    torch.testing.assert_close(torch.cat(parts, dim=1), layer(x, causal=True, window=4).output)


def test_it_can_stand_in_a_language_model():
    model = LanguageModel(13, LayerSpec(D, H, norm_first=True), 2, positions=None).double()
    for layer in model.stack.layers:
        layer.attention = RotarySelfAttention(D, H).double()
    tokens = torch.randint(13, (B, 3))
    made = [model.generate(tokens, 11, cached=cached) for cached in (True, False)]
    assert torch.equal(*made)


@pytest.mark.bad_input
def test_errors():
    with pytest.raises(OptionError, match=r"d_head=5 must be an even whole number, .*; choose d_head=6"):
        RotarySelfAttention(10, 2)
    with pytest.raises(OptionError, match="d_model=10 is not divisible by num_heads=3"):
        RotarySelfAttention(10, 3)
    layer = RotarySelfAttention(8, 2)
    with pytest.raises(ShapeError, match=r"x has shape \(2, 7, 6\); this layer reads \(B, L, d_model=8\)"):
        layer(torch.zeros(2, 7, 6))
    with pytest.raises(OptionError, match="cache needs causal=True"):
        layer(torch.zeros(2, 7, 8), cache=KVCache())
