"""The fused kernel: what it is given, and that the caller's mask survives."""

import pytest
import torch
from support import assert_near, random_inputs
from torch.nn.functional import scaled_dot_product_attention

from attention_lib import attention, causal_mask
from attention_lib.paths import fused


@pytest.fixture
def calls(monkeypatch):
    seen = []

    def watched(*args, **options):
        seen.append(options)
        return scaled_dot_product_attention(*args, **options)

    monkeypatch.setattr(fused, "scaled_dot_product_attention", watched)
    return seen


def test_a_square_causal_call_needs_no_mask(calls):
    attention(*random_inputs(7, 7), causal=True)
    assert calls[0]["is_causal"]
    assert calls[0].get("attn_mask") is None


@pytest.mark.parametrize("lengths", [(5, 7), (7, 5), (1, 7)], ids=str)
def test_torchs_is_causal_is_not_used_off_the_square(calls, lengths):
    attention(*random_inputs(*lengths), causal=True)
    assert not calls[0].get("is_causal")


@pytest.mark.parametrize("options", [{"need_weights": True}, {"dropout_p": 0.5}], ids=str)
def test_the_kernel_is_left_out_where_weights_are_shown_or_dropped(calls, options):
    attention(*random_inputs(), **options)
    assert calls == []


def test_no_row_reaches_the_kernel_empty(calls):
    for mask in (causal_mask(7, 5), torch.zeros(7, 5).masked_fill(~causal_mask(7, 5), -torch.inf)):
        attention(*random_inputs(7, 5), mask)
    boolean, bias = (options["attn_mask"] for options in calls)
    assert boolean.any(-1).all()
    assert bias.isfinite().any(-1).all()
    assert bias.dtype == torch.float64  # the query's, not the mask's


def test_the_path_alone():
    query, key, value = random_inputs(leading=(2, 3))
    output = fused.fused_attention(query, key, value, None, causal=False, scale=0.5)
    assert_near(output, torch.softmax(0.5 * query @ key.mT, dim=-1) @ value)
