"""What the tests share: inputs of distinct prime sizes, the oracle over leading axes, and one notion of equal."""

import itertools
import os
import subprocess
import sys
from pathlib import Path

import torch

from attention_lib import reference

B, H, L, S, D_K, D_V = 2, 3, 5, 7, 11, 13

# Promised are 1e-6 and 1e-5. A float64 number that passed through float32 is off by 1e-7: hence the tighter hold.
TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5}


def assert_near(actual, expected, tolerance=None):
    """Same shape, and no entry further off than ``tolerance`` times the largest expected entry (0 if all are 0)."""
    assert tuple(actual.shape) == tuple(expected.shape)
    tolerance = TOLERANCE[actual.dtype] if tolerance is None else tolerance
    if actual.numel():
        off = (actual.detach().double() - expected.detach().double()).abs().max().item()
        allowed = tolerance * expected.detach().double().abs().max().item()
        assert off <= allowed, f"off by {off:.3g}, allowed {allowed:.3g}"  # NaN fails too


def random_inputs(query_length=L, key_length=S, *, leading=(B, H), kv_leading=None, d_k=D_K, d_v=D_V, dtype=None):
    """Standard normal ``query key value``, float64 unless asked otherwise."""
    dtype = torch.float64 if dtype is None else dtype
    kv_leading = leading if kv_leading is None else kv_leading
    shapes = ((*leading, query_length, d_k), (*kv_leading, key_length, d_k), (*kv_leading, key_length, d_v))
    return tuple(torch.randn(shape, dtype=torch.float64).to(dtype) for shape in shapes)


def oracle(query, key, value, mask=None, **options):
    """``reference.attention`` for every leading index, in float64; query head h reads group ``h // (H / H_kv)``."""
    query_length, key_length = query.shape[-2], key.shape[-2]
    leading = tuple(max(sizes) if 0 not in sizes else 0 for sizes in zip(query.shape[:-2], key.shape[:-2], strict=True))
    output = torch.zeros(*leading, query_length, value.shape[-1], dtype=torch.float64)
    weights = torch.zeros(*leading, query_length, key_length, dtype=torch.float64)
    if mask is not None:
        mask = mask.broadcast_to(weights.shape)
    for index in itertools.product(*map(range, leading)):
        q, k, v = (_entry(tensor, index, leading) for tensor in (query, key, value))
        rows = None if mask is None else mask[index].tolist()
        one_output, one_weights = reference.attention(q, k, v, rows, **options)
        if query_length and key_length:
            output[index] = torch.tensor(one_output, dtype=torch.float64)
            weights[index] = torch.tensor(one_weights, dtype=torch.float64)
    return output, weights


def _entry(tensor, index, leading):
    """The matrix that belongs to a leading index: shared where the axis is 1, grouped where it is a divisor."""
    sizes = tensor.shape[:-2]
    position = tuple(i // (full // size) for i, size, full in zip(index, sizes, leading, strict=True))
    return tensor[position].double().tolist()


def mask_of_kind(kind, query_length=L, key_length=S, *, batch=B, heads=H, dtype=torch.float64):
    """A mask of every legal kind. Query 0, or with padding sequence 0, has no allowed key."""
    name, _, axes = kind.partition(" of ")
    if name == "none":
        return None
    sizes = {"1": 1, "B": batch, "H": heads, "L": query_length, "S": key_length}
    shape = [sizes[axis] for axis in axes.split()]
    allowed = torch.rand(shape) < 0.6
    if axes == "B 1 1 S":
        allowed[:1] = False  # the first sequence is all padding
    else:
        allowed[..., :1, :] = False
    if name == "bool":
        return allowed
    bias = torch.randn(shape, dtype=dtype)
    return bias if name == "bias" else bias.masked_fill(~allowed, -torch.inf)


MASK_KINDS = [
    "none",
    *[f"bool of {axes}" for axes in ("L S", "B 1 1 S", "B 1 L S", "1 H L S", "B H L S")],
    *[f"bias of {axes}" for axes in ("L S", "B H L S")],
    *[f"bias with -inf of {axes}" for axes in ("L S", "B 1 1 S", "B H L S")],
]


def new_environment(folder):
    """The interpreter of a new, empty virtual environment."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    return Path(folder) / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
