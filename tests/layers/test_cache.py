"""Decoding in chunks of any length gives what one full pass gives."""

import copy
import pickle
import weakref

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support import assert_near

from attention_lib import KVCache, MaskError, MultiHeadAttention, OptionError, ShapeError, causal_mask, padding_mask

chunk_lengths = st.lists(st.integers(0, 4), min_size=1, max_size=5).filter(any)


def in_chunks(layer, x, lengths, mask=None, **options):
    """Feed ``x`` piece by piece; a mask is given for the rows and keys known so far."""
    cache, outputs, weights, seen = KVCache(), [], [], 0
    for length in lengths:
        rows, seen = slice(seen, seen + length), seen + length
        part = None if mask is None else mask[..., rows if mask.shape[-2] > 1 else slice(None), :seen]
        output, weight = layer(x[:, rows], mask=part, causal=True, cache=cache, **options)
        assert len(cache) == seen
        outputs.append(output)
        weights.append(weight)
    return torch.cat(outputs, dim=1), weights


@given(chunk_lengths, st.sampled_from([1, 2, 6]), st.none() | st.integers(1, 5), st.booleans())
def test_chunks_equal_the_full_pass(lengths, num_kv_heads, window, need_weights):
    layer = MultiHeadAttention(12, 6, num_kv_heads=num_kv_heads).double()
    x = torch.randn(2, sum(lengths), 12, dtype=torch.float64)
    full, full_weights = layer(x, causal=True, window=window, need_weights=True)
    output, weights = in_chunks(layer, x, lengths, window=window, need_weights=need_weights)
    assert_near(output, full)
    row = 0
    for length, weight in zip(lengths, weights, strict=True):
        assert (weight is None) != need_weights
        if need_weights:
            assert_near(weight, full_weights[:, :, row : row + length, : row + length])
        row += length


@given(chunk_lengths, st.sampled_from(["rows", "padding", "heads", "bias"]))
def test_chunks_with_a_mask(lengths, kind):
    layer, L = MultiHeadAttention(6, 3, num_kv_heads=1).double(), sum(lengths)
    x = torch.randn(2, L, 6, dtype=torch.float64)
    mask = {
        "rows": torch.rand(L, L) < 0.6,
        "padding": padding_mask([L, max(1, L // 2)], L),
        "heads": torch.rand(2, 3, L, L) < 0.6,
        "bias": torch.randn(L, L),
    }[kind]
    assert_near(in_chunks(layer, x, lengths, mask)[0], layer(x, mask=mask, causal=True).output)


def test_gradients_flow_through_the_cache():
    layer, x = MultiHeadAttention(6, 3).double(), torch.randn(2, 5, 6, dtype=torch.float64, requires_grad=True)
    gradients = [
        torch.autograd.grad(output.square().sum(), (x, *layer.parameters()))
        for output in (layer(x, causal=True).output, in_chunks(layer, x, [2, 1, 2])[0])
    ]
    for full, chunked in zip(*gradients, strict=True):
        assert (chunked - full).abs().max() <= 1e-12 * full.abs().max() + 1e-15


def test_the_cache_belongs_to_the_caller():
    layer, x = MultiHeadAttention(6, 3), torch.randn(2, 5, 6)
    before = set(vars(layer))
    cache = KVCache()
    layer(x, causal=True, cache=cache)
    assert set(vars(layer)) == before
    assert torch.equal(layer(x, causal=True).output, layer(x, causal=True, cache=KVCache()).output)
    assert len(cache) == 5


def test_it_holds_grouped_heads_unexpanded():
    cache = KVCache()
    MultiHeadAttention(12, 6, num_kv_heads=2)(torch.randn(3, 5, 12), causal=True, cache=cache)
    assert cache.key.shape == cache.value.shape == (3, 2, 5, 2)


def test_two_continuations_of_one_copy():
    layer, x = MultiHeadAttention(6, 3).double(), torch.randn(2, 5, 6, dtype=torch.float64)
    with torch.no_grad():
        cache = KVCache()
        layer(x[:, :3], causal=True, cache=cache)
        branches = [copy.deepcopy(cache), cache]
        for branch in branches:
            assert_near(layer(x[:, 3:], causal=True, cache=branch).output, layer(x, causal=True).output[:, 3:])


def test_dropout_and_training_mode_work_with_a_cache():
    layer, x = MultiHeadAttention(6, 3, dropout_p=0.5).double(), torch.randn(2, 5, 6, dtype=torch.float64)
    assert not torch.equal(in_chunks(layer, x, [5])[0], in_chunks(layer, x, [5])[0])
    assert_near(in_chunks(layer.eval(), x, [3, 2])[0], layer(x, causal=True).output)


@pytest.mark.bad_input
def test_a_refused_call_leaves_the_cache_as_it_was():
    layer, x = MultiHeadAttention(6, 3), torch.randn(2, 5, 6)
    cache = KVCache()
    layer(x, causal=True, cache=cache)
    with pytest.raises(
        MaskError, match=r"\(5, 5\) does not broadcast .* \(2, 3, 5, 10\): it covers 5 keys, there are 10"
    ):
        layer(x, mask=causal_mask(5), causal=True, cache=cache)
    with pytest.raises(OptionError, match="window=0"):
        layer(x, window=0, causal=True, cache=cache)
    assert len(cache) == 5


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ((3, 2, 1, 5), (3, 2, 1, 7), "axis B is 3 in the new key but 2 in the cache; .*fresh KVCache"),
        (
            (2, 3, 1, 5),
            (2, 3, 1, 7),
            r"axis H_kv is 3 in the new key but 2 in the cache; .*\(2, 3, 1, 5\) and \(2, 2, 3, 5\)",
        ),
        ((2, 2, 1, 6), (2, 2, 1, 7), "axis width is 6 in the new key but 5 in the cache"),
        ((2, 2, 1, 5), (2, 2, 1, 8), "axis width is 8 in the new value but 7 in the cache"),
        (
            (2, 2, 1, 5),
            (2, 2, 3, 7),
            r"shapes \(2, 2, 1, 5\) and \(2, 2, 3, 7\); the cache takes .*equal B, H_kv and new",
        ),
        ((2, 1, 5), (2, 1, 7), r"shapes \(2, 1, 5\) and \(2, 1, 7\); the cache takes \(B, H_kv, new, d_k\)"),
    ],
)
def test_what_does_not_continue_the_cache(key, value, message):
    cache = KVCache()
    cache.append(torch.zeros(2, 2, 3, 5), torch.zeros(2, 2, 3, 7))
    with pytest.raises(ShapeError, match=message):
        cache.append(torch.zeros(key), torch.zeros(value))
    assert len(cache) == 3


@pytest.mark.bad_input
def test_the_first_chunk_is_checked_too():
    with pytest.raises(ShapeError, match=r"\(2, 2, 1, 5\) and \(2, 2, 3, 7\)"):
        KVCache().append(torch.zeros(2, 2, 1, 5), torch.zeros(2, 2, 3, 7))


@pytest.mark.bad_input
def test_dtype_or_layer_that_changes():
    cache = KVCache()
    cache.append(torch.zeros(2, 2, 3, 5), torch.zeros(2, 2, 3, 7))
    with pytest.raises(
        ShapeError, match=r"new key is torch.float64 on cpu but the cache holds torch.float32 on cpu; start"
    ):
        cache.append(torch.zeros(2, 2, 3, 5).double(), torch.zeros(2, 2, 3, 7).double())
    layers, x, cache = [MultiHeadAttention(6, 3) for _ in range(2)], torch.zeros(2, 5, 6), KVCache()
    layers[0](x, causal=True, cache=cache)
    with pytest.raises(OptionError, match=r"already holds the keys of another layer; give each layer a KVCache\(\)"):
        layers[1](x, causal=True, cache=cache)
    layers[0](x, causal=True, cache=cache)
    assert len(cache) == 10


def test_the_owner_is_known_by_itself_not_by_its_address():
    cache, x = KVCache(), torch.zeros(2, 5, 6)
    layer = MultiHeadAttention(6, 3)
    with torch.no_grad():
        layer(x, causal=True, cache=cache)
    twin, read = copy.deepcopy(cache), pickle.loads(pickle.dumps(cache))
    layer(x, causal=True, cache=twin)
    held = weakref.ref(layer)
    del layer
    assert held() is None  # a cache keeps no layer alive
    for other in (cache, twin):
        with pytest.raises(OptionError, match="another layer"):
            MultiHeadAttention(6, 3)(x, causal=True, cache=other)
    MultiHeadAttention(6, 3)(x, causal=True, cache=read)
    assert (len(cache), len(twin), len(read)) == (5, 10, 10)
