"""``attention`` against ``scaled_dot_product_attention``, each backend forced that this CPU has."""

import pytest
import torch
from support import MASK_KINDS, B, H, L, S, assert_near, mask_of_kind, random_inputs
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from attention_lib import attention, causal_mask, window_mask

BACKENDS = [SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]
DTYPES = [torch.float64, torch.float32]


def torch_attention(backend, query, key, value, mask=None, **options):
    """SDPA on one backend, or a skip that says why the backend refuses these inputs."""
    try:
        with sdpa_kernel(backend):
            return scaled_dot_product_attention(query, key, value, attn_mask=mask, **options)
    except RuntimeError as error:
        if backend == SDPBackend.MATH or "No available kernel" not in str(error):
            raise
        pytest.skip(f"torch {torch.__version__} has no flash kernel for these inputs")


@pytest.fixture(params=BACKENDS, ids=lambda backend: backend.name)
def backend(request):
    return request.param


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("lengths", [(L, S), (S, L), (1, S), (S, S)], ids=str)
def test_without_mask(backend, dtype, lengths):
    query, key, value = random_inputs(*lengths, d_v=11, dtype=dtype)
    expected = torch_attention(backend, query, key, value)
    assert_near(attention(query, key, value).output, expected)
    assert_near(attention(query, key, value, need_weights=True).output, expected)
    with sdpa_kernel(backend):
        assert_near(attention(query, key, value).output, expected)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_causal_on_a_square(backend, dtype):
    query, key, value = random_inputs(S, S, d_v=11, dtype=dtype)
    expected = torch_attention(backend, query, key, value, is_causal=True)
    with sdpa_kernel(backend):
        assert_near(attention(query, key, value, causal=True).output, expected)
    assert_near(attention(query, key, value, causal=True, need_weights=True).output, expected)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("kind", MASK_KINDS[1:])
def test_with_mask(backend, dtype, kind):
    query, key, value = random_inputs(d_v=11, dtype=dtype)
    mask = mask_of_kind(kind, dtype=dtype)
    empty = ~mask.any(-1) if mask.dtype == torch.bool else (mask == -torch.inf).all(-1)
    expected = torch_attention(backend, query, key, value, mask)
    expected = expected.masked_fill(empty[..., None], 0.0)  # torch's empty rows are a trap of their own
    with sdpa_kernel(backend):
        assert_near(attention(query, key, value, mask).output, expected)
    assert_near(attention(query, key, value, mask, need_weights=True).output, expected)


@pytest.mark.parametrize("lengths", [(L, S), (S, L), (1, S)], ids=str)
@pytest.mark.parametrize("window", [None, 3])
def test_causal_and_window_equal_their_masks(backend, lengths, window):
    query, key, value = random_inputs(*lengths, d_v=11)
    mask = causal_mask(*lengths) if window is None else window_mask(*lengths, window=window)
    expected = torch_attention(backend, query, key, value, mask).masked_fill(~mask.any(-1, keepdim=True), 0.0)
    with sdpa_kernel(backend):
        assert_near(attention(query, key, value, causal=True, window=window).output, expected)


def test_scale(backend):
    query, key, value = random_inputs(d_v=11)
    with sdpa_kernel(backend):
        ours = attention(query, key, value, scale=0.7).output
    assert_near(ours, torch_attention(backend, query, key, value, scale=0.7))


def test_grouped_heads_equal_repeated_heads(backend):
    query, key, value = random_inputs(leading=(B, 6), kv_leading=(B, 3), d_v=11)
    expected = torch_attention(backend, query, key.repeat_interleave(2, 1), value.repeat_interleave(2, 1))
    with sdpa_kernel(backend):
        assert_near(attention(query, key, value).output, expected)


@pytest.mark.parametrize("kind", ["none", "bool of B 1 1 S", "bias of B H L S", "bias with -inf of L S"])
@pytest.mark.parametrize("need_weights", [False, True])
def test_gradients_equal(backend, kind, need_weights):
    mask = mask_of_kind(kind)
    seen = [tensor.requires_grad_() for tensor in random_inputs(d_v=11)]
    direction = torch.randn(B, H, L, 11, dtype=torch.float64)
    with sdpa_kernel(backend):
        ours = attention(*seen, mask, need_weights=need_weights).output
        gradients = torch.autograd.grad((ours * direction).sum(), seen)
    if mask is not None:  # rows without a key send no gradient anywhere
        empty = ~mask.any(-1) if mask.dtype == torch.bool else (mask == -torch.inf).all(-1)
        direction = direction.masked_fill(empty[..., None], 0.0)
        mask = mask | empty[..., None] if mask.dtype == torch.bool else mask.masked_fill(empty[..., None], 0.0)
    theirs = torch_attention(backend, *seen, mask)
    for gradient, expected in zip(gradients, torch.autograd.grad((theirs * direction).sum(), seen), strict=True):
        assert_near(gradient, expected)
