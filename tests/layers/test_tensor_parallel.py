"""A layer whose heads are shared out among 2 or 4 processes equals the whole layer; the refusals."""

import pytest
import torch
import torch.distributed as dist
from processes import run_in_processes
from torch import nn
from torch.distributed.device_mesh import init_device_mesh

from attention_lib import KVCache, MultiHeadAttention, OptionError
from attention_lib.layers.blocks import EncoderLayer
from attention_lib.layers.tensor_parallel import parallelize_heads

B, L, D_MODEL, HEADS, KEY_HEADS = 3, 7, 24, 8, 4
PROMISED = 1e-6


def pair(build):
    """The same module twice: whole, and cut in place."""
    whole, shared = build().double(), build().double()
    for parameter in whole.parameters():
        dist.broadcast(parameter.data, src=0)
    shared.load_state_dict(whole.state_dict())
    return whole.eval(), parallelize_heads(shared).eval()


def relative(ours, theirs):
    return ((ours - theirs).abs().max() / theirs.abs().max()).item()


def full(gradient):
    return gradient.full_tensor() if hasattr(gradient, "full_tensor") else gradient


def same_input():
    return torch.randn(B, L, D_MODEL, dtype=torch.float64, generator=torch.Generator().manual_seed(5))


def module_differences():
    """Output and all gradients: of a layer, of one with grouped heads, of an encoder layer."""
    found = []
    for build in (
        lambda: MultiHeadAttention(D_MODEL, HEADS),
        lambda: MultiHeadAttention(D_MODEL, HEADS, num_kv_heads=KEY_HEADS, bias=False),
        lambda: EncoderLayer(D_MODEL, HEADS, 32),
    ):
        modules, results = pair(build), []
        for module in modules:
            x = same_input().requires_grad_()
            output = module(x, causal=True).output
            (output * output.detach().cos()).sum().backward()
            gradients = {name: full(parameter.grad) for name, parameter in module.named_parameters()}
            results.append({"output": output.detach(), "input": x.grad, **gradients})
        assert list(results[0]) == list(results[1])
        # A key bias moves every score of a row alike: its gradient is 0, up to rounding.
        names = [name for name in results[0] if not name.endswith("w_k.bias")]
        found.append(max(relative(results[1][name], results[0][name]) for name in names))
    return found


@pytest.mark.parametrize("size", [2, 4])
def test_shared_heads_equal_the_whole(size, tmp_path):
    for found in run_in_processes(module_differences, size, tmp_path):
        assert len(found) == 3
        assert max(found) <= PROMISED


def own_share():
    """What a process holds, its weights, and what decoding with a cache of its own heads gives."""
    whole, shared = pair(lambda: MultiHeadAttention(D_MODEL, HEADS, num_kv_heads=KEY_HEADS))
    rank, size = dist.get_rank(), dist.get_world_size()
    local = shared.w_q.weight.to_local()
    rows = whole.w_q.weight.chunk(size)[rank]
    expected = whole(same_input(), causal=True, need_weights=True)
    output, weights = shared(same_input(), causal=True, need_weights=True)
    cache = KVCache()
    pieces = [shared(piece, causal=True, cache=cache).output for piece in same_input().split([3, 1, 3], dim=1)]
    return {
        "rows": torch.equal(local, rows),
        "heads": (shared.num_heads, shared.num_kv_heads, cache.key.shape[1]),
        "output": relative(output, expected.output),
        "weights": relative(weights, expected.weights.chunk(size, dim=1)[rank]),
        "cached": relative(torch.cat(pieces, dim=1), expected.output),
    }


def test_a_process_holds_its_own_heads(tmp_path):
    for found in run_in_processes(own_share, 2, tmp_path):
        assert found["rows"]
        assert found["heads"] == (4, 2, 2)
        assert max(found["output"], found["weights"], found["cached"]) <= PROMISED


def cut_three_heads():
    return parallelize_heads(MultiHeadAttention(6, 6, num_kv_heads=3))


def cut_along_two_axes():
    return parallelize_heads(MultiHeadAttention(8, 2), init_device_mesh("cpu", (2, 1)))


def cut_nothing():
    return parallelize_heads(nn.Linear(3, 5))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (cut_three_heads, "6 heads on 3 key heads cannot be shared out evenly among 2 processes; .* that divides 3"),
        (cut_along_two_axes, r"mesh has 2 axes, and heads are shared out along one; pass one of them: mesh\[name\]"),
        (cut_nothing, "Linear contains no MultiHeadAttention whose heads could be shared out"),
    ],
)
def test_refusals(function, message, tmp_path):
    for result in run_in_processes(function, 2, tmp_path):
        with pytest.raises(OptionError, match=message):
            raise result


def test_without_a_process_group_it_says_what_to_call():
    with pytest.raises(OptionError, match=r"parallelize_heads needs a process group, and there is none: call torch"):
        parallelize_heads(MultiHeadAttention(8, 2))
