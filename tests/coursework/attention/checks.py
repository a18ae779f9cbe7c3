"""Hidden checks of "Attention, forward and backward". Never published. course-secret: attention-51be08"""

import torch

from attention_lib.coursework.model import ANYTHING, TORCH_ATTENTION, TORCH_GRADIENTS, Assignment, Case, Check
from attention_lib.coursework.words import heads_second, said

INF = float("inf")


def book_order(query, key, value, allowed, variant):
    """Output and weights for (B, H, L, d)."""
    heights = torch.einsum("bhld,bhsd->bhls", query, key) / (query.shape[-1] ** 0.5 * variant["temperature"])
    if allowed is not None:
        heights = torch.where(allowed, heights, -INF)
    top = heights.amax(-1, keepdim=True).detach()
    raised = (heights - torch.where(top == -INF, 0.0, top)).exp()
    total = raised.sum(-1, keepdim=True)
    weights = raised / torch.where(total == 0, 1.0, total)
    return torch.einsum("bhls,bhse->bhle", weights, value), weights


def inputs(draw, dtype=torch.float64, scale=1.0):
    B, H, L, S, d_k = draw.sizes(5)
    d_v = d_k + 1
    return (
        draw.normal(B, H, L, d_k, dtype=dtype, scale=scale),
        draw.normal(B, H, S, d_k, dtype=dtype, scale=scale),
        draw.normal(B, H, S, d_v, dtype=dtype),
    )


def case(draw, tensors, allowed, tolerance=1e-5):
    variant = draw.variant
    output, weights = book_order(*tensors, allowed, variant)
    expected = heads_second(output, variant).contiguous()
    if variant["gives"] == "output_log_weights":
        expected = [expected, weights.log()]
    mask = said(allowed, variant, output.dtype)
    arguments = [heads_second(tensor, variant).contiguous() for tensor in tensors]
    return Case("attention", (*arguments, mask), expected, tolerance=tolerance)


def full(draw, tensors):
    return draw.allowed(*tensors[0].shape[:3], tensors[1].shape[2])


def plain(draw):
    return [case(draw, inputs(draw), None) for _ in range(2)]


def masked(draw):
    tensors = inputs(draw)
    return [case(draw, tensors, full(draw, tensors))]


def broadcast(draw):
    tensors = inputs(draw)
    (B, _, L, _), S = tensors[0].shape, tensors[1].shape[2]
    return [case(draw, tensors, draw.allowed(B, 1, 1, S)), case(draw, tensors, draw.allowed(L, S))]


def large(draw):
    query, key, value = inputs(draw)
    allowed = full(draw, (query, key, value))
    moved = key + draw.normal(key.shape[-1], scale=3000.0)  # moves whole rows of scores, and leaves the weights alone
    last = torch.arange(key.shape[2]) == key.shape[2] - 1  # a key that nobody may see, far above the others
    above = torch.where(last[:, None], 1000 * key, key)
    others = (allowed & ~last) | (torch.arange(key.shape[2]) == 0)
    return [case(draw, (query, moved, value), allowed), case(draw, (query, above, value), others)]


def empty(draw):
    tensors = inputs(draw)
    allowed = full(draw, tensors)
    allowed[:, :, draw.integer(0, allowed.shape[2] - 1)] = False
    return [case(draw, tensors, allowed)]


def float32(draw):
    tensors = inputs(draw, dtype=torch.float32)
    return [case(draw, tensors, full(draw, tensors), 1e-4)]


def backward(place):
    def make(draw):
        return [backward_case(draw, inputs(draw), None, place)]

    return make


def backward_masked(draw):
    """A mask for every pair, with an empty row, one that is shared, and float32."""
    tensors = inputs(draw)
    allowed = full(draw, tensors)
    empty_row = allowed.clone()
    empty_row[:, :, draw.integer(0, allowed.shape[2] - 1)] = False
    shared = draw.allowed(allowed.shape[0], 1, 1, allowed.shape[3])
    short = tuple(tensor.float() for tensor in tensors)
    return [*(backward_case(draw, tensors, mask) for mask in (allowed, empty_row, shared)),
            backward_case(draw, short, allowed, tolerance=1e-4)]  # fmt: skip


def backward_case(draw, tensors, allowed, place=None, tolerance=1e-6):
    variant, dtype = draw.variant, tensors[0].dtype
    leaves = [tensor.double().requires_grad_() for tensor in tensors]
    output, _ = book_order(*leaves, allowed, variant)
    arriving = draw.normal(*output.shape, dtype=dtype)
    found = torch.autograd.grad(output, leaves, arriving.double())
    expected = [heads_second(g, variant).contiguous().to(dtype) for g in found]
    arguments = [heads_second(tensor, variant).contiguous() for tensor in tensors]
    return Case(
        "attention_backward",
        (*arguments, said(allowed, variant, dtype), heads_second(arriving, variant).contiguous()),
        [one if place in (n, None) else ANYTHING for n, one in enumerate(expected)],
        tolerance=tolerance,
    )


ASSIGNMENT = Assignment(
    id="attention",
    title="Attention, forward and backward",
    chapter="06_weighted_sum",
    minutes=90,
    goals=(
        "write attention as one short function, with masks and heads",
        "derive the gradients of query, key and value by hand, and write them without autograd",
        "keep a gradient finite where no key is allowed",
    ),
    functions={
        "attention": "query, key, value, mask=None",
        "attention_backward": "query, key, value, mask, grad_output",
    },
    withheld=(*TORCH_ATTENTION, *TORCH_GRADIENTS),
    switches=("mask", "layout", "gives", "temperature"),
    checks=(
        Check("plain", 15, "forward, without a mask", plain),
        Check("masked", 15, "forward, a mask for every query and key", masked),
        Check("broadcast", 10, "forward, masks shared by heads or queries", broadcast),
        Check("large", 5, "forward, scores in the thousands", large),
        Check("empty", 5, "forward, a query without any allowed key", empty),
        Check("float32", 5, "forward, float32 in and out", float32),
        Check("grad_query", 12, "backward, the gradient of query", backward(0)),
        Check("grad_key", 12, "backward, the gradient of key", backward(1)),
        Check("grad_value", 9, "backward, the gradient of value", backward(2)),
        Check("grad_masked", 12, "backward, with masks; a query may have no allowed key", backward_masked),
    ),
)
