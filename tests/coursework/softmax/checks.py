"""Hidden checks of "A softmax that knows masks". Never published. course-secret: softmax-c02d5e"""

import torch

from attention_lib.coursework.model import TORCH_ATTENTION, TORCH_GRADIENTS, Assignment, Case, Check
from attention_lib.coursework.words import said

INF = float("inf")
DTYPES = (torch.float64, torch.float64, torch.float64, torch.float32)
TOLERANCE = {torch.float64: 1e-6, torch.float32: 1e-4}


def reference(scores, allowed, variant):
    """``scores`` and ``allowed`` (or None) with the keys last; the answer too."""
    heights = scores / variant["temperature"]
    if allowed is not None:
        heights = torch.where(allowed, heights, -INF)
    top = heights.amax(-1, keepdim=True)
    raised = (heights - torch.where(top == -INF, 0.0, top)).exp()
    total = raised.sum(-1, keepdim=True)
    weights = raised / torch.where(total == 0, 1.0, total)
    return weights.log() if variant["returns"] == "log_weights" else weights


def turned(tensor, variant):
    return tensor.transpose(-2, -1).contiguous() if variant["axis"] == "first" else tensor


def case(draw, scores, allowed, tolerance=1e-5):
    mask = None if allowed is None else said(turned(allowed, draw.variant), draw.variant, scores.dtype)
    expected = turned(reference(scores, allowed, draw.variant), draw.variant)
    return Case("masked_softmax", (turned(scores, draw.variant), mask), expected, tolerance=tolerance)


def plain(draw):
    L, S, B = draw.sizes(3)
    return [case(draw, draw.normal(B, L, S, scale=2), None), case(draw, draw.normal(L, S), None)]


def masked(draw):
    L, S, B = draw.sizes(3)
    return [case(draw, draw.normal(B, L, S, scale=2), draw.allowed(B, L, S)),
            case(draw, draw.normal(L, S), draw.allowed(L, S))]  # fmt: skip


def broadcast(draw):
    B, H, L, S = draw.sizes(4)
    return [case(draw, draw.normal(B, H, L, S), draw.allowed(L, S)),
            case(draw, draw.normal(B, H, L, S), draw.allowed(B, 1, L, S))]  # fmt: skip


def large(draw):
    """All far up, all far down, every row at a height of its own, and a blocked key far above the allowed ones."""
    L, S, B = draw.sizes(3)
    allowed = draw.allowed(B, L, S)
    rows = draw.normal(B, L, S) + draw.normal(B, L, 1, scale=3000)
    above = draw.normal(B, L, S) + 4000.0 * ~allowed
    return [case(draw, draw.normal(B, L, S) + 2000, draw.allowed(B, L, S)), case(draw, draw.normal(L, S) - 3000, None),
            case(draw, rows, None), case(draw, rows, allowed), case(draw, above, allowed)]  # fmt: skip


def empty(draw):
    L, S, B = draw.sizes(3)
    allowed = draw.allowed(B, L, S)
    allowed[:, draw.integer(0, L - 1)] = False
    return [case(draw, draw.normal(B, L, S), allowed)]


def float32(draw):
    L, S, B = draw.sizes(3)
    return [case(draw, draw.normal(B, L, S, dtype=torch.float32), draw.allowed(B, L, S), 1e-4)]


def backward(draw):
    made = []
    for dtype, (L, S, *leading) in zip(
        DTYPES, (draw.sizes(2), draw.sizes(3), draw.sizes(4), draw.sizes(3)), strict=True
    ):
        leaf = draw.normal(*leading, L, S, dtype=dtype).requires_grad_()
        weights = reference(leaf, draw.allowed(*leading, L, S), {**draw.variant, "returns": "weights"})
        arriving = draw.normal(*weights.shape, dtype=dtype)
        (expected,) = torch.autograd.grad(weights, leaf, arriving)
        arguments = turned(weights.detach(), draw.variant), turned(arriving, draw.variant)
        made.append(Case("softmax_backward", arguments, turned(expected, draw.variant), tolerance=TOLERANCE[dtype]))
    return made


ASSIGNMENT = Assignment(
    id="softmax",
    title="A softmax that knows masks",
    chapter="05_softmax",
    minutes=50,
    goals=(
        "write a softmax that neither overflows nor divides by zero",
        "block keys before the exponential, and know what an empty row is",
        "write down the gradient of a softmax without its Jacobian",
    ),
    functions={"masked_softmax": "scores, mask=None", "softmax_backward": "weights, grad_weights"},
    withheld=(*TORCH_ATTENTION, *TORCH_GRADIENTS),
    switches=("mask", "axis", "returns", "temperature"),
    checks=(
        Check("plain", 15, "without a mask", plain),
        Check("masked", 20, "with a mask of the same shape", masked),
        Check("broadcast", 10, "a mask shared by batch or heads", broadcast),
        Check("large", 15, "scores in the thousands", large),
        Check("empty", 10, "a query without any allowed key", empty),
        Check("float32", 5, "float32 in, float32 out", float32),
        Check("backward", 25, "the gradient of the scores from the gradient of the weights", backward),
    ),
)
