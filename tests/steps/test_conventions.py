"""Converters between the mask conventions of torch, nn.MultiheadAttention, Hugging Face and additive masks."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention_lib import MaskError, masks

seeds = st.integers(0, 2**16)


def random_mask(seed, *shape):
    torch.manual_seed(seed)
    return torch.rand(shape) < 0.5


def test_key_padding_mask_by_hand():
    mask = masks.from_key_padding_mask(torch.tensor([[False, False, True], [False, True, True]]))
    assert mask.shape == (2, 1, 1, 3)
    assert mask[:, 0, 0].tolist() == [[True, True, False], [True, False, False]]


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8, torch.float32, torch.float16, torch.bool], ids=str)
def test_attention_mask_01_by_hand(dtype):
    mask = masks.from_attention_mask_01(torch.tensor([[1, 1, 0], [0, 1, 1]]).to(dtype))
    assert mask.dtype == torch.bool
    assert mask.shape == (2, 1, 1, 3)
    assert mask[:, 0, 0].tolist() == [[True, True, False], [False, True, True]]
    whole = masks.from_attention_mask_01(torch.tensor([[[1, 0, 0], [1, 1, 0]]]).to(dtype))
    assert whole.shape == (1, 1, 2, 3)
    assert whole[0, 0].tolist() == [[True, False, False], [True, True, False]]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_additive_by_hand(dtype):
    lowest = torch.finfo(dtype).min
    assert masks.from_additive(torch.tensor([0.0, -math.inf, lowest, -0.0, -3e4], dtype=dtype)).tolist() == [
        True, False, False, True, False,
    ]  # fmt: skip
    mask = masks.to_additive(torch.tensor([True, False]), dtype)
    assert mask.dtype == dtype
    assert mask.tolist() == [0.0, -math.inf]
    assert masks.to_additive(torch.tensor([True])).dtype == torch.float32


def test_additive_of_the_first_bert():
    assert masks.from_additive(torch.tensor([-10000.0, 0.0])).tolist() == [False, True]


def test_torch_mha_by_hand():
    assert masks.to_torch_mha(None) == {}
    assert masks.to_torch_mha(torch.tensor([[True, False]]))["attn_mask"].tolist() == [[False, True]]
    padding = masks.to_torch_mha(torch.tensor([True, False, False])[None, None, None])
    assert {name: mask.tolist() for name, mask in padding.items()} == {"key_padding_mask": [[False, True, True]]}


def test_torch_mha_is_batch_major():
    mask = random_mask(0, 2, 3, 5, 7)
    (converted,) = masks.to_torch_mha(mask, 3).values()
    assert converted.shape == (6, 5, 7)
    for b in range(2):
        for h in range(3):
            assert torch.equal(converted[3 * b + h], ~mask[b, h])
    (shared,) = masks.to_torch_mha(mask[:, :1], 3).values()
    assert all(torch.equal(shared[3 * b + h], ~mask[b, 0]) for b in range(2) for h in range(3))


@given(seeds)
def test_round_trips(seed):
    mask = random_mask(seed, 2, 7)
    assert torch.equal(masks.from_key_padding_mask(~mask)[:, 0, 0], mask)
    assert torch.equal(masks.from_attention_mask_01(mask.long())[:, 0, 0], mask)
    back = masks.to_torch_mha(masks.from_key_padding_mask(mask))
    assert torch.equal(back["key_padding_mask"], mask)
    full = random_mask(seed, 2, 3, 5, 7)
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
        assert torch.equal(masks.from_additive(masks.to_additive(full, dtype)), full)
    assert torch.equal(masks.to_torch_mha(full[0, 0])["attn_mask"].logical_not(), full[0, 0])


def test_converters_build_new_masks():
    mask = torch.zeros(2, 7, dtype=torch.bool)
    masks.from_key_padding_mask(mask).zero_()
    masks.from_attention_mask_01(mask).fill_(True)
    assert not mask.any()


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("convert", "message"),
    [
        (
            lambda: masks.from_key_padding_mask(torch.ones(2, 7)),
            "torch.float32, .*from_attention_mask_01.*from_additive",
        ),
        (lambda: masks.from_key_padding_mask(torch.ones(7) > 0), r"shape \(7,\); it has two axes, \(B, S\)"),
        (lambda: masks.from_attention_mask_01(torch.ones(7)), r"shape \(7,\); .*\(B, S\), or three, \(B, L, S\)"),
        (lambda: masks.from_attention_mask_01(torch.tensor([[1, 2]])), "holds 2, it must hold only 0 .*from_additive"),
        (lambda: masks.from_attention_mask_01(torch.tensor([[0, -math.inf]])), "holds -inf, it .*masks.from_additive"),
        (lambda: masks.from_additive(torch.tensor([0, 1])), "torch.int64, it must be float; a boolean mask needs no"),
        (lambda: masks.from_additive(torch.tensor([True])), "torch.bool, it must be float; a boolean mask needs no"),
        (lambda: masks.from_additive(torch.tensor([0.0, 0.5])), "holds 0.5, .* neither 0 nor -10000 .*mask=bias"),
        (lambda: masks.from_additive(torch.tensor([0.0, math.nan])), "holds nan, which is neither 0 nor -10000"),
        (lambda: masks.to_additive(torch.zeros(2)), "to_additive takes a boolean .*dtype torch.float32; convert with"),
        (lambda: masks.to_torch_mha(torch.zeros(2, 2)), "to_torch_mha takes a boolean .*torch.float32; convert with"),
        (lambda: masks.to_torch_mha(torch.ones(2, 5, 7) > 0), r"\(2, 5, 7\); to_torch_mha takes \(L, S\), \(B, 1, 1"),
        (lambda: masks.to_torch_mha(torch.ones(2, 1, 5, 7) > 0), r"\(2, 1, 5, 7\) .*num_heads=None; pass the module's"),
        (
            lambda: masks.to_torch_mha(torch.ones(2, 3, 5, 7) > 0, 2),
            r"\(2, 3, 5, 7\) has 3 .*num_heads=2; pass the mod",
        ),
    ],
)
def test_errors(convert, message):
    with pytest.raises(MaskError, match=message):
        convert()
