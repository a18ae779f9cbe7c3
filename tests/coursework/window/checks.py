"""Hidden checks of "Windows and caches". Never published. course-secret: window-3dd760"""

import itertools

import torch

from attention_lib.coursework.model import Assignment, Case, Check
from attention_lib.coursework.words import heads_second

INF = float("inf")


def reference(query, key, value, behind, allowed, variant):
    """Output and weights in (B, H, L, d); ``behind`` counts how far each key lies back."""
    key, value = (tensor.repeat_interleave(variant["groups"], dim=1) for tensor in (key, value))
    heights = query @ key.mT / query.shape[-1] ** 0.5 - variant["distance"] * behind.abs()
    weights = torch.where(allowed, heights, -INF).softmax(-1)
    return weights @ value, weights


def inputs(draw, L, S, dtype=torch.float64):
    B, d_k = draw.sizes(2)
    H = 2 * draw.integer(1, 3)
    H_kv = H // draw.variant["groups"]
    return (draw.normal(B, H, L, d_k, dtype=dtype), draw.normal(B, H_kv, S, d_k, dtype=dtype),
            draw.normal(B, H_kv, S, d_k + 2, dtype=dtype))  # fmt: skip


def windowed(length, window, dtype=torch.float64):
    def make(draw):
        variant, L = draw.variant, length or draw.integer(8, 13)
        w = window or draw.integer(2, 5)
        tensors = inputs(draw, L, L, dtype)
        behind = torch.arange(L)[:, None] - torch.arange(L)
        allowed = {
            "past": (behind >= 0) & (behind < w), "before": (behind >= 0) & (behind <= w), "around": behind.abs() < w
        }[variant["reach"]]  # fmt: skip
        output, weights = reference(*tensors, behind.to(dtype), allowed, variant)
        expected = heads_second(output, variant)
        if variant["gives"] == "output_log_weights":
            expected = [expected, weights.log()]
        tolerance = 1e-5 if dtype == torch.float64 else 1e-4
        return [Case("attention", (*(heads_second(t, variant) for t in tensors), w), expected, tolerance=tolerance)]

    return make


def step(times, dtypes=(torch.float64,)):
    def make(draw):
        variant, cases = draw.variant, []
        for T, dtype in itertools.product(times or (draw.integer(4, 9),), dtypes):
            query, key, value = inputs(draw, 1, T + 1, dtype)
            behind = torch.arange(T, -1, -1)[None, :].to(query.dtype)
            output, _ = reference(query, key, value, behind, torch.ones(1, T + 1, dtype=torch.bool), variant)

            def stored(tensor):
                return heads_second(tensor.flip(2) if variant["cache"] == "prepend" else tensor, variant)

            new, past = (key[:, :, T:], value[:, :, T:]), (key[:, :, :T], value[:, :, :T])
            arguments = (*(heads_second(t, variant) for t in (query, *new)), *map(stored, past))
            expected = [heads_second(output, variant), stored(key), stored(value)]
            tolerance = 1e-5 if dtype == torch.float64 else 1e-4
            cases.append(Case("attend_step", arguments, expected, tolerance=tolerance))
        return cases

    return make


ASSIGNMENT = Assignment(
    id="window",
    title="Windows and caches",
    chapter="12_long_sequences",
    minutes=60,
    goals=(
        "restrict attention to a window, and know which key is its last",
        "decode token by token from a cache, with the same result as the full pass",
        "read keys and values that several heads share",
    ),
    functions={"attention": "query, key, value, window", "attend_step": "query, key, value, keys, values"},
    switches=("layout", "reach", "gives", "distance", "groups", "cache"),
    checks=(
        Check("window", 25, "attention in a window", windowed(None, None)),
        Check("window_one", 10, "the smallest window", windowed(None, 1)),
        Check("window_wide", 10, "a window wider than the sequence", windowed(5, 9)),
        Check("float32", 10, "float32 in, float32 out", windowed(11, 3, torch.float32)),
        Check("step", 25, "one step with a filled cache", step(())),
        Check("first_step", 10, "the first step, with an empty cache", step((0,))),
        Check("lengths", 10, "steps at several lengths", step((1, 2, 7), (torch.float64, torch.float32))),
    ),
)
