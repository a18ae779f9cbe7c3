"""The ring in 2 and 4 processes equals one process, forward and backward; what its parts do alone; its refusals."""

import math

import pytest
import torch
import torch.distributed as dist
from processes import run_in_processes
from support import assert_near

from attention_lib import OptionError, ShapeError, attention
from attention_lib.paths.ring import ring_attention
from attention_lib.paths.ring_blocks import Part, attend_to_block, block_gradients, merge_parts

B, H, H_KV, D_K, D_V = 2, 6, 3, 5, 7
# (own queries, own keys): a square, and bottom-right both ways; with 7 queries on 3 keys the first rows see nothing
LENGTHS = [(5, 5), (3, 7), (7, 3)]
CASES = [(L, S, heads, causal) for L, S in LENGTHS for heads in (H, H_KV) for causal in (False, True)]
PROMISED = {torch.float64: 1e-6, torch.float32: 1e-5, torch.bfloat16: 2e-2}


def whole_inputs(L, S, kv_heads, dtype, size):
    """The same in every process: whole query, key, value, and what pulls at the output."""
    generator = torch.Generator().manual_seed(3)
    shapes = ((H, L, D_K), (kv_heads, S, D_K), (kv_heads, S, D_V), (H, L, D_V))
    return [
        torch.randn(B, heads, size * length, width, dtype=torch.float64, generator=generator).to(dtype)
        for heads, length, width in shapes
    ]


def with_gradients(function, query, key, value, pull):
    inputs = [tensor.detach().clone().requires_grad_() for tensor in (query, key, value)]
    output = function(*inputs)
    return [output.detach(), *torch.autograd.grad(output, inputs, pull)]


def differences(dtype):
    """For every case: the largest relative difference of output, dQ, dK, dV on this process's slice."""
    size, rank = dist.get_world_size(), dist.get_rank()
    found = {}
    for L, S, kv_heads, causal in CASES:
        whole = whole_inputs(L, S, kv_heads, dtype, size)
        expected = with_gradients(lambda *qkv, c=causal: attention(*qkv, causal=c).output, *whole)
        slices = [tensor.chunk(size, dim=-2)[rank] for tensor in whole]
        mine = with_gradients(lambda *qkv, c=causal: ring_attention(*qkv, causal=c), *slices)
        assert all(tensor.dtype == dtype for tensor in mine)
        found[L, S, kv_heads, causal] = [
            ((ours - theirs.chunk(size, dim=-2)[rank]).abs().max() / theirs.abs().max()).item()
            for ours, theirs in zip(mine, expected, strict=True)
        ]
    return found


@pytest.mark.parametrize("size", [2, 4])
def test_a_ring_equals_one_process(size, tmp_path):
    results = run_in_processes(differences, size, tmp_path, torch.float64)
    assert [list(found) for found in results] == [CASES] * size
    worst = max(off for found in results for case in found.values() for off in case)
    assert worst <= PROMISED[torch.float64]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_a_ring_in_lower_precision(dtype, tmp_path):
    results = run_in_processes(differences, 2, tmp_path, dtype)
    worst = max(off for found in results for case in found.values() for off in case)
    assert worst <= PROMISED[dtype]


def in_half_of_the_processes():
    """Two rings of two beside each other: the output of each equals attention over its own two slices."""
    rank = dist.get_rank()
    pairs = [dist.new_group([0, 1]), dist.new_group([2, 3])]
    slices = [torch.randn(3, 4, 5, generator=torch.Generator().manual_seed(each)) for each in range(4)]
    output = ring_attention(slices[rank], slices[rank], slices[rank], causal=True, group=pairs[rank // 2])
    whole = torch.cat(slices[rank // 2 * 2 :][:2], dim=-2)
    expected = attention(whole, whole, whole, causal=True).output.chunk(2, dim=-2)[rank % 2]
    return (output - expected).abs().max().item()


def test_a_ring_in_a_part_of_the_processes(tmp_path):
    assert max(run_in_processes(in_half_of_the_processes, 4, tmp_path)) < 1e-5


@pytest.fixture
def alone(tmp_path):
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/alone", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def test_a_ring_of_one_is_attention(alone):
    query, key, value = torch.randn(3, B, 3, 11, D_K, dtype=torch.float64).unbind(0)
    assert_near(ring_attention(query, key, value, scale=0.3), attention(query, key, value, scale=0.3).output)


@pytest.mark.parametrize("causal", [False, True])
def test_gradcheck(alone, causal):
    query = torch.randn(1, 4, 5, 3, dtype=torch.float64, requires_grad=True)
    key = torch.randn(1, 2, 3, 3, dtype=torch.float64, requires_grad=True)
    value = torch.randn(1, 2, 3, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda *qkv: ring_attention(*qkv, causal=causal), (query, key, value))


def test_long_slices_are_computed_in_chunks(alone, monkeypatch):
    monkeypatch.setattr("attention_lib.paths.ring_blocks.CHUNK", 4)
    whole = [torch.randn(1, 2, 11, 3, dtype=torch.float64) for _ in range(4)]
    expected = with_gradients(lambda *qkv: attention(*qkv, causal=True).output, *whole)
    for ours, theirs in zip(
        with_gradients(lambda *qkv: ring_attention(*qkv, causal=True), *whole), expected, strict=True
    ):
        assert_near(ours, theirs)


def test_parts_merge_to_the_whole_in_any_order():
    query, key, value = (torch.randn(B, n, D_K, dtype=torch.float64) for n in (5, 11, 11))
    behind = torch.arange(5)
    parts = [
        attend_to_block(query, key[:, one], value[:, one], behind, None, 0.5)
        for one in (slice(0, 3), slice(3, 4), slice(4, 11))
    ]
    whole = attend_to_block(query, key, value, behind, None, 0.5)
    for order in ((0, 1, 2), (2, 0, 1)):
        merged = merge_parts(merge_parts(parts[order[0]], parts[order[1]]), parts[order[2]])
        assert_near(merged.output, whole.output)
        assert_near(merged.log_sum, whole.log_sum)
    assert_near(whole.output, attention(query, key, value, scale=0.5).output)


def test_a_part_without_keys_changes_nothing():
    nothing = Part(torch.zeros(2, 1), torch.full((2, 1), -math.inf))
    something = Part(torch.tensor([[4.0], [5.0]]), torch.tensor([[0.5], [-math.inf]]))
    for merged in (merge_parts(nothing, something), merge_parts(something, nothing)):
        assert_near(merged.output, torch.tensor([[4.0], [0.0]]))
        assert merged.log_sum.tolist() == something.log_sum.tolist()


def test_block_gradients_add_up():
    query, key, value, pull = (torch.randn(n, D_K, dtype=torch.float64) for n in (5, 7, 7, 5))
    _, *expected = with_gradients(lambda *qkv: attention(*qkv, causal=True, scale=0.5).output, query, key, value, pull)
    behind = torch.arange(2, 7)
    whole = attend_to_block(query, key, value, behind, 0, 0.5)
    first, second = (
        block_gradients(query, key[one], value[one], behind, one.start, 0.5, whole, pull)
        for one in (slice(0, 4), slice(4, 7))
    )
    assert_near(first[0] + second[0], expected[0])
    for index in (1, 2):
        assert_near(torch.cat((first[index], second[index])), expected[index])


def call(*shapes, dtype=torch.float32, **options):
    return ring_attention(*(torch.zeros(shape, dtype=dtype) for shape in shapes), **options)


def test_without_a_process_group_it_says_what_to_call():
    with pytest.raises(OptionError, match=r"needs a process group, and there is none: call torch\.distributed"):
        call((4, 8), (4, 8), (4, 8))


def uneven():
    own = 5 if dist.get_rank() == 0 else 4
    return call((own, 8), (own, 8), (own, 8))


def one_does_not_fit():
    return call((4, 8), (4, 8 if dist.get_rank() == 0 else 9), (4, 8))


def one_is_causal():
    return call((4, 8), (4, 8), (4, 8), causal=dist.get_rank() == 1)


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (
            uneven,
            ShapeError,
            r"\(5, 8\)\) .* in process 0 and .*\(4, 8\)\) .* in process 1; cut .* into 2 equal",
        ),
        (one_does_not_fit, ShapeError, "axis d_k is 8 in query but 9 in key"),
        (one_is_causal, OptionError, r"is \(False, None, False\) in process 0 and \(True, None, False\) in process 1"),
    ],
)
def test_what_is_wrong_in_one_process_is_raised_in_both(function, error, message, tmp_path):
    for result in run_in_processes(function, 2, tmp_path):
        with pytest.raises(error, match=message):
            raise result


@pytest.mark.bad_input
@pytest.mark.parametrize("shapes", [((1, 4, 8), (3, 4, 8)), ((2, 1, 4, 8), (2, 3, 4, 8)), ((1, 6, 4, 8), (2, 3, 4, 8))])
def test_leading_axes_are_not_broadcast(shapes, alone):
    with pytest.raises(ShapeError, match="a ring does not broadcast them: expand them first"):
        call(shapes[0], shapes[1], shapes[1])
