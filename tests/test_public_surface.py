"""The public names, and exactly the signatures, that DESIGN gives them."""

import inspect

import pytest
import torch

import attention_lib
from attention_lib import KVCache, MultiHeadAttention, SelfAttention, masks, reference

SIGNATURES = {
    "dot_product_scores": "(query, key, *, scale=None)",
    "masked_softmax": "(scores, mask=None)",
    "weighted_sum": "(weights, value)",
    "attention": (
        "(query, key, value, mask=None, *, causal=False, window=None, scale=None, dropout_p=0.0, need_weights=False)"
    ),
    "attention_weights": "(query, key, mask=None, *, causal=False, window=None, scale=None, rows=None)",
    "averaged_weights": "(query, key, mask=None, *, causal=False, window=None, scale=None)",
    "ragged_attention": (
        "(query, key, value, lengths, *, query_lengths=None, causal=False, window=None, scale=None, dropout_p=0.0)"
    ),
    "causal_mask": "(L, S=None, *, device=None)",
    "padding_mask": "(lengths, S=None)",
    "window_mask": "(L, S=None, *, window, causal=True, device=None)",
    "combine_masks": "(*masks)",
    "masks.from_key_padding_mask": "(mask)",
    "masks.from_additive": "(mask)",
    "masks.from_attention_mask_01": "(mask)",
    "masks.to_additive": "(mask, dtype=torch.float32)",
    "masks.to_torch_mha": "(mask, num_heads=None)",
    "split_heads": "(x, num_heads)",
    "merge_heads": "(x)",
    "SelfAttention": "(d_model, d_k=None, d_v=None)",
    "SelfAttention.forward": "(self, x, mask=None, *, causal=False, window=None, need_weights=False)",
    "MultiHeadAttention": (
        "(d_model, num_heads, *, num_kv_heads=None, d_key=None, d_value=None, bias=True, dropout_p=0.0)"
    ),
    "MultiHeadAttention.forward": (
        "(self, query, key=None, value=None, mask=None, *, causal=False, window=None, need_weights=False, cache=None)"
    ),
    "MultiHeadAttention.from_torch": "(module)",
    "MultiHeadAttention.to_torch": "(self)",
    "KVCache": "()",
    "reference.attention": "(query, key, value, mask=None, *, causal=False, window=None, scale=None)",
    "default_device": "()",
    "seed_everything": "(seed)",
}


def find(dotted):
    found = attention_lib
    for name in dotted.split("."):
        found = getattr(found, name)
    return found


@pytest.mark.parametrize("name", SIGNATURES)
def test_signature(name):
    signature = inspect.signature(find(name))
    plain = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in signature.parameters.values()]
    assert str(inspect.Signature(plain)) == SIGNATURES[name]


def test_every_exported_name_is_there_once():
    assert len(attention_lib.__all__) == len(set(attention_lib.__all__))
    assert all(hasattr(attention_lib, name) for name in attention_lib.__all__)
    assert {name.split(".")[0] for name in SIGNATURES} <= set(attention_lib.__all__)


def test_what_attention_returns_has_names():
    output, weights = attention_lib.AttentionOutput("o", "w")
    assert (output, weights) == ("o", "w")
    assert attention_lib.AttentionOutput("o").weights is None


def test_the_masks_module_offers_builders_and_converters():
    assert {"causal_mask", "padding_mask", "window_mask", "combine_masks"} <= set(masks.__all__)
    assert masks.causal_mask is attention_lib.causal_mask


@pytest.mark.parametrize("name", [name for name in SIGNATURES if not name.endswith(".forward")])
def test_every_public_thing_shows_an_example(name):
    assert ">>>" in inspect.getdoc(find(name))


def test_every_error_is_a_value_error():
    assert issubclass(attention_lib.AttentionMemoryError, MemoryError)
    for error in (
        attention_lib.AttentionMemoryError,
        attention_lib.MaskError,
        attention_lib.OptionError,
        attention_lib.ShapeError,
    ):
        assert issubclass(error, attention_lib.AttentionError)
        assert issubclass(error, ValueError)


def test_modules_are_modules():
    assert reference is attention_lib.reference
    assert SelfAttention(3).w_q.in_features == 3
    assert MultiHeadAttention(6, 3).num_heads == 3
    assert len(KVCache()) == 0


def test_annotations_are_checked_while_tests_run(request):
    if request.config.getoption("no_shape_checks"):
        pytest.skip("asked for with --no-shape-checks")
    jaxtyping = pytest.importorskip("jaxtyping")
    with pytest.raises(jaxtyping.TypeCheckError, match="B L d_model"):
        attention_lib.split_heads(torch.zeros(5, 6), 3)


@pytest.mark.bad_input
def test_annotations_are_not_checked_in_bad_input_tests():
    with pytest.raises(attention_lib.ShapeError, match=r"shape \(5, 6\)"):
        attention_lib.split_heads(torch.zeros(5, 6), 3)
