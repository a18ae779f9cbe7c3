"""Tensors on two devices are refused in words. ``meta`` stands for the second device, which no CPU lacks."""

import pytest
import torch

import attention_lib as al
from attention_lib.layers.rotary_attention import RotarySelfAttention

QKV = torch.zeros(3, 2, 5, 7)


def test_weights_and_value_on_two_devices():
    with pytest.raises(al.ShapeError, match=r"device is cpu for weights but meta for value; move one"):
        al.weighted_sum(torch.zeros(2, 5, 5), torch.zeros(2, 5, 7, device="meta"))


def test_a_mask_left_behind_on_another_device():
    mask = al.causal_mask(5, device="meta")
    with pytest.raises(al.MaskError, match=r"mask is on meta but the scores are on cpu; move it: mask\.to\('cpu'\)"):
        al.attention(*QKV, mask)


def test_two_masks_on_two_devices():
    with pytest.raises(al.MaskError, match="meta"):
        al.combine_masks(al.causal_mask(5), al.causal_mask(5, device="meta"))


def test_the_way_out_of_a_padding_mask_on_three_axes_leads_out():
    layer, x = al.SelfAttention(8), torch.zeros(2, 5, 8)
    mask = al.padding_mask([3, 5])
    with pytest.raises(al.MaskError, match=r"mask\[:, 0\]"):
        layer(x, mask)
    assert layer(x, mask[:, 0]).output.shape == (2, 5, 8)


def test_a_refused_call_leaves_the_rotary_cache_as_it_was():
    layer, cache = RotarySelfAttention(8, 2), al.KVCache()
    layer(torch.zeros(1, 3, 8), causal=True, cache=cache)
    with pytest.raises(al.MaskError):
        layer(torch.zeros(1, 2, 8), mask=torch.ones(2, 9).bool(), causal=True, cache=cache)
    assert len(cache) == 3
