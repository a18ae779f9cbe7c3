"""Sinusoidal and rotary positions: the closed form by hand, offsets, and scores that depend on distance alone."""

import math

import pytest
import torch

from attention_lib.errors import OptionError, ShapeError
from attention_lib.layers.cache import KVCache
from attention_lib.layers.positions import (
    RotaryPositions,
    SinusoidalPositions,
    position_angles,
    rotate_pairs,
    sinusoidal_table,
)

B, H, L, D = 2, 3, 7, 22


def test_closed_form_by_hand():
    table = sinusoidal_table(11, D, offset=5)
    for row, position in enumerate(range(5, 16)):
        for pair in range(D // 2):
            angle = position / 10000 ** (2 * pair / D)
            assert table[row, 2 * pair].item() == pytest.approx(math.sin(angle), abs=1e-12)
            assert table[row, 2 * pair + 1].item() == pytest.approx(math.cos(angle), abs=1e-12)


def test_rows_have_one_length_and_products_depend_on_the_distance():
    table = sinusoidal_table(31, D)
    products = table @ table.T
    torch.testing.assert_close(products.diagonal(), torch.full((31,), D / 2, dtype=torch.float64))
    for distance in (1, 4, 13):
        along = products.diagonal(distance)
        torch.testing.assert_close(along, along[:1].expand_as(along))
    assert products[0, 1] > products[0, 4]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_module_adds_the_table_and_keeps_the_dtype(dtype):
    x = torch.randn(B, L, D).to(dtype)
    module = SinusoidalPositions(D)
    assert list(module.parameters()) == []
    assert not module.state_dict()
    assert torch.equal(module(x), x + sinusoidal_table(L, D).to(dtype))


def test_two_parts_with_an_offset_equal_the_whole():
    x = torch.randn(B, L, D, dtype=torch.float64)
    module = SinusoidalPositions(D)
    parts = torch.cat([module(x[:, :3]), module(x[:, 3:], offset=3)], dim=1)
    torch.testing.assert_close(parts, module(x))


def test_long_positions_stay_exact_in_float32():
    far = SinusoidalPositions(4)(torch.zeros(1, 1, 4), offset=1_000_003)[0, 0]
    assert far[0].item() == pytest.approx(math.sin(1_000_003), abs=1e-6)  # an angle in float32 would be off by 0.06


def test_rotation_by_hand():
    x = torch.tensor([[3.0, 4.0, 1.0, 0.0]], dtype=torch.float64)
    angles = torch.tensor([[math.pi / 2, math.pi / 6]], dtype=torch.float64)
    expected = torch.tensor([[-4.0, 3.0, math.sqrt(3) / 2, 0.5]], dtype=torch.float64)
    torch.testing.assert_close(rotate_pairs(x, angles), expected)


def test_rotation_keeps_lengths_and_position_zero():
    x = torch.randn(B, H, L, D, dtype=torch.float64)
    turned, _ = RotaryPositions(D)(x, x)
    torch.testing.assert_close(turned.norm(dim=-1), x.norm(dim=-1))
    torch.testing.assert_close(turned[:, :, 0], x[:, :, 0])
    assert (turned[:, :, 1:] - x[:, :, 1:]).abs().max() > 0.1


def test_rotation_is_multiplication_of_complex_numbers():
    x = torch.randn(B, H, L, D, dtype=torch.float64)
    angles = position_angles(L, D)
    numbers = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    expected = torch.view_as_real(numbers * torch.polar(torch.ones_like(angles), angles)).flatten(-2)
    torch.testing.assert_close(rotate_pairs(x, angles), expected)


@pytest.mark.parametrize("offset", [1, 17, 1000])
def test_scores_depend_on_distance_alone(offset):
    query, key = torch.randn(2, B, H, L, D, dtype=torch.float64)
    rotary = RotaryPositions(D)
    near_q, near_k = rotary(query, key)
    far_q, far_k = rotary(query, key, offset=offset)
    torch.testing.assert_close(far_q @ far_k.transpose(-2, -1), near_q @ near_k.transpose(-2, -1))
    only_query_moved = far_q @ near_k.transpose(-2, -1)
    assert (only_query_moved - near_q @ near_k.transpose(-2, -1)).abs().max() > 0.1


def test_keys_turned_into_a_cache_step_by_step_equal_one_pass():
    query, key = torch.randn(B, H, L, D, dtype=torch.float64), torch.randn(B, 1, L, D, dtype=torch.float64)
    rotary, cache = RotaryPositions(D), KVCache()
    whole_q, whole_k = rotary(query, key)
    for start, end in ((0, 2), (2, 3), (3, 7)):
        part_q, part_k = rotary(query[:, :, start:end], key[:, :, start:end], offset=len(cache))
        cache.append(part_k, part_k)
        torch.testing.assert_close(part_q, whole_q[:, :, start:end])
    torch.testing.assert_close(cache.key, whole_k)


def test_gradients():
    query, key = torch.randn(2, 1, 1, 3, 4, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(lambda q, k: RotaryPositions(4)(q, k, offset=2), (query, key))


@pytest.mark.bad_input
@pytest.mark.parametrize("kind", [SinusoidalPositions, RotaryPositions])
@pytest.mark.parametrize(("width", "message"), [(7, "=7 .* even .*=8"), (0, "=0 .* 2 or more"), (True, "=True")])
def test_odd_widths(kind, width, message):
    with pytest.raises(OptionError, match=message):
        kind(width)


@pytest.mark.bad_input
def test_shape_errors_name_both_values():
    with pytest.raises(ShapeError, match=r"d_model is 6 in x but 4 in SinusoidalPositions; shape \(2, 7, 6\)"):
        SinusoidalPositions(4)(torch.zeros(2, 7, 6))
    with pytest.raises(ShapeError, match=r"d_head is 6 in key but 4 in RotaryPositions"):
        RotaryPositions(4)(torch.zeros(2, 3, 7, 4), torch.zeros(2, 3, 7, 6))
    with pytest.raises(ShapeError, match=r"L is 7 in query but 5 in key; .*append to the cache afterwards"):
        RotaryPositions(4)(torch.zeros(2, 3, 7, 4), torch.zeros(2, 3, 5, 4))
    with pytest.raises(OptionError, match="offset=-1 must be a whole number, 0 or more"):
        SinusoidalPositions(4)(torch.zeros(2, 7, 4), offset=-1)
