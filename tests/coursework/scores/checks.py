"""Hidden checks of "Scores and their scale". Never published. course-secret: scores-7f3a91"""

import torch

from attention_lib.coursework.model import Assignment, Case, Check


def reference(query, key, variant):
    if variant["keys"] == "columns":
        key = key.transpose(-2, -1)
    scores = torch.einsum("...ld,...sd->...ls", query, key) / query.shape[-1] ** 0.5 / variant["temperature"]
    rows, columns = torch.arange(query.shape[-2])[:, None], torch.arange(key.shape[-2])
    scores = scores - variant["distance"] * (rows - columns).abs().to(scores.dtype)
    return scores.transpose(-2, -1) if variant["result"] == "keys_first" else scores


def inputs(draw, *leading, d_k=None, dtype=torch.float64):
    L, S, width = draw.sizes(3)
    query = draw.normal(*leading, L, d_k or width, dtype=dtype)
    key = draw.normal(*leading, S, d_k or width, dtype=dtype)
    return query, key.transpose(-2, -1).contiguous() if draw.variant["keys"] == "columns" else key


def values(leading, **options):
    def make(draw):
        query, key = inputs(draw, *leading, **options)
        return [Case("attention_scores", (query, key), reference(query, key, draw.variant), tolerance=1e-5)]

    return make


def widths(draw):
    return [case for d_k in (1, 4, 32) for case in values((2,), d_k=d_k)(draw)]


def gradients(draw):
    query, key = inputs(draw, 3)
    leaves = [query.clone().requires_grad_(), key.clone().requires_grad_()]
    scores = reference(*leaves, draw.variant)
    arriving = draw.normal(*scores.shape)
    expected = list(torch.autograd.grad(scores, leaves, arriving))
    return [Case("attention_scores", (query, key, arriving), expected, gradient=(0, 1))]


ASSIGNMENT = Assignment(
    id="scores",
    title="Scores and their scale",
    chapter="04_scores_and_scaling",
    minutes=40,
    goals=(
        "turn the formula of the scores into one matrix product with the right axes",
        "say why scores are divided by the square root of d_k, and do it for every width",
        "follow a convention that is not the one you know",
    ),
    functions={"attention_scores": "query, key"},
    switches=("keys", "temperature", "distance", "result"),
    checks=(
        Check("values", 30, "scores of a batch, compared number by number", values((3,))),
        Check("widths", 20, "the scale follows d_k, from 1 to 32", widths),
        Check("no_batch", 10, "a single sequence, without a batch axis", values(())),
        Check("heads", 15, "batch and heads in front", values((2, 3))),
        Check("float32", 10, "float32 in, float32 out", values((2,), dtype=torch.float32)),
        Check("gradients", 15, "gradients reach query and key", gradients),
    ),
)
