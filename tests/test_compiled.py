"""``torch.compile`` changes nothing, neither forward nor backward. Slow: each case is compiled once."""

import pytest
import torch
from support import assert_near, random_inputs

from attention_lib import attention, ragged_attention

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _no_shape_checks():
    """The checker of annotations does not know the tensors that a compiler traces with."""
    config = pytest.importorskip("jaxtyping").config
    before = config.jaxtyping_disable
    config.update("jaxtyping_disable", True)
    yield
    config.update("jaxtyping_disable", before)
    torch.compiler.reset()


@pytest.mark.parametrize(
    ("backend", "length", "options"),
    [
        ("inductor", 11, {"causal": True}),
        ("inductor", 200, {"causal": True, "window": 7}),
        ("inductor", 600, {"causal": True, "window": 200, "mask": torch.rand(600) < 0.8}),
        ("aot_eager", 200, {"window": 7, "mask": torch.rand(200) < 0.8}),
        ("aot_eager", 11, {"need_weights": True}),
        ("aot_eager", 256, {"need_weights": True, "causal": True}),
        ("aot_eager", 256, {"dropout_p": 0.3, "causal": True}),
    ],
    ids=["inductor", "inductor, window", "inductor, wide window", "window and mask", "weights", "lean", "dropout"],
)
def test_compiled(backend, length, options):
    inputs = [tensor.requires_grad_() for tensor in random_inputs(length, length, d_v=11, dtype=torch.float32)]
    results = []
    for call in (attention, torch.compile(attention, backend=backend)):
        torch.manual_seed(5)
        output, weights = call(*inputs, **options)
        results.append((output, *([] if weights is None else [weights]), *torch.autograd.grad(output.sum(), inputs)))
    for plain, compiled in zip(*results, strict=True):
        assert_near(compiled, plain)


@pytest.mark.parametrize("widths", [(8, 5), (5, 8)], ids=str)
@pytest.mark.parametrize("leading", [(), (2, 3)], ids=str)
def test_compiled_window_with_values_of_another_width(widths, leading):
    q, k, v = random_inputs(300, 300, leading=leading, d_k=widths[0], d_v=widths[1], dtype=torch.float32)
    inputs, results = [tensor.requires_grad_() for tensor in (q, k, v)], []
    for call in (attention, torch.compile(attention)):
        output = call(*inputs, causal=True, window=16).output
        results.append((output, *torch.autograd.grad(output.square().sum(), inputs)))
    for plain, compiled in zip(*results, strict=True):
        assert_near(compiled, plain)


def test_compiled_groups_and_ragged_batches():
    inputs = random_inputs(1, 7, leading=(2, 6), kv_leading=(2, 3), dtype=torch.float32)
    for call in (attention, lambda *qkv: ragged_attention(*qkv, [7, 3])):
        assert_near(torch.compile(call, backend="aot_eager")(*inputs).output, call(*inputs).output)
