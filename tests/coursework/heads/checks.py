"""Hidden checks of "Many heads". Never published. course-secret: heads-e94b17"""

import torch

from attention_lib.coursework.model import Assignment, Case, Check
from attention_lib.coursework.words import said

INF = float("inf")
AXES = {"second": (0, 2, 1, 3), "third": (0, 1, 2, 3), "first": (2, 0, 1, 3)}


def parted(x, H, variant):
    """(B, L, H, d_head) of (B, L, d_model)."""
    if variant["order"] == "interleaved":
        return torch.stack([x[..., h::H] for h in range(H)], dim=2)
    return torch.stack(x.chunk(H, dim=-1), dim=2)


def joined(parts, variant):
    H = parts.shape[2]
    if variant["order"] == "blocks":
        return torch.cat(list(parts.unbind(2)), dim=-1)
    whole = parts.new_empty(*parts.shape[:2], H * parts.shape[3])
    for h in range(H):
        whole[..., h::H] = parts[:, :, h]
    return whole


def placed(parts, variant):
    return parts.permute(AXES[variant["heads"]]).contiguous()


def reference(x, matrices, H, allowed, variant):
    wq, wk, wv, wo = (m.T if variant["matrices"] == "out_in" else m for m in matrices)
    groups = variant["groups"]
    query = parted(x @ wq, H, variant)
    key, value = (parted(x @ w, H // groups, variant) for w in (wk, wv))
    results = []
    for h in range(H):
        heights = query[:, :, h] @ key[:, :, h // groups].mT / query.shape[-1] ** 0.5
        if allowed is not None:
            heights = torch.where(allowed, heights, -INF)
        results.append(heights.softmax(-1) @ value[:, :, h // groups])
    return joined(torch.stack(results, dim=2), variant) @ wo


def sized(draw, H, dtype=torch.float64):
    d_model = H * draw.integer(2, 4)
    d_kv = d_model // draw.variant["groups"]
    shapes = [(d_model, d_model), (d_model, d_kv), (d_model, d_kv), (d_model, d_model)]
    matrices = [draw.normal(*shape, scale=d_model**-0.5, dtype=dtype) for shape in shapes]
    if draw.variant["matrices"] == "out_in":
        matrices = [matrix.T.contiguous() for matrix in matrices]
    return d_model, matrices


def whole(H, masked):
    def make(draw):
        cases = []
        for dtype, tolerance in ((torch.float64, 1e-5), (torch.float32, 1e-4)):
            d_model, matrices = sized(draw, H, dtype)
            B, L = draw.sizes(2)
            x = draw.normal(B, L, d_model, dtype=dtype)
            allowed = draw.allowed(L, L) if masked else None
            expected = reference(x, matrices, H, allowed, draw.variant)
            arguments = (x, *matrices, H, said(allowed, draw.variant, dtype))
            cases.append(Case("multi_head", arguments, expected, tolerance=tolerance))
        return cases

    return make


def split(draw):
    cases = []
    for H, d_head in ((3, 5), (draw.integer(2, 5), 7), (1, 4)):
        B, L = draw.sizes(2)
        x = draw.normal(B, L, H * d_head)
        cases.append(Case("split_heads", (x, H), placed(parted(x, H, draw.variant), draw.variant)))
    return cases


def merge(draw):
    cases = []
    for H, d_head in ((3, 5), (draw.integer(2, 5), 7), (1, 4)):
        B, L = draw.sizes(2)
        parts = draw.normal(B, L, H, d_head)
        cases.append(Case("merge_heads", (placed(parts, draw.variant),), joined(parts, draw.variant)))
    return cases


def gradients(draw):
    d_model, matrices = sized(draw, 4)
    x = draw.normal(3, 5, d_model)
    leaves = [tensor.clone().requires_grad_() for tensor in (x, *matrices)]
    output = reference(leaves[0], leaves[1:], 4, None, draw.variant)
    arriving = draw.normal(*output.shape)
    expected = list(torch.autograd.grad(output, leaves, arriving))
    return [Case("multi_head", (x, *matrices, 4, None, arriving), expected, gradient=(0, 1, 2, 3, 4))]


ASSIGNMENT = Assignment(
    id="heads",
    title="Many heads",
    chapter="08_multi_head",
    minutes=75,
    goals=(
        "split features into heads and merge them back, and see why a plain reshape is not enough",
        "put projections, heads and the output matrix together",
        "share keys and values among heads",
    ),
    functions={
        "split_heads": "x, num_heads",
        "merge_heads": "x",
        "multi_head": "x, w_query, w_key, w_value, w_output, num_heads, mask=None",
    },
    switches=("order", "heads", "groups", "matrices", "mask"),
    checks=(
        Check("split", 20, "split_heads, several sizes", split),
        Check("merge", 15, "merge_heads, several sizes", merge),
        Check("two_heads", 15, "multi_head with two heads", whole(2, False)),
        Check("six_heads", 15, "multi_head with six heads", whole(6, False)),
        Check("masked", 20, "multi_head with a mask", whole(4, True)),
        Check("gradients", 15, "gradients reach the input and all four matrices", gradients),
    ),
)
