"""Looks inside a function no recipe explains: its weights are what it makes of values that form an identity."""

from __future__ import annotations

import torch
from torch import Tensor

from attention_lib.doctor.evidence import numbers
from attention_lib.doctor.inputs import normal
from attention_lib.doctor.pipeline import evaluate
from attention_lib.doctor.subject import Layout, Subject

__all__ = ["other_normalisation"]


def other_normalisation(subject: Subject, layout: Layout) -> str:
    """Evidence that the candidate mixes values by weights that depend on the dot products, but not by softmax.

    The values may be anything, so an identity shows the weights themselves. Turning query and key together, and
    stretching one as the other shrinks, keeps all dot products; reordering the keys reorders the weights; another
    query changes only its own row.
    """
    if subject.kind != "attention" or subject.declared.causal or subject.declared.window:
        return ""
    generator = subject.generator(15)
    S = 6
    tensors = subject.draw(layout, 0, generator, S=S, d_k=S, d_v=S, **({"L": S} if layout.square else {}))
    eye = torch.eye(S, dtype=torch.float64).expand(*tensors["value"].shape[:-2], S, S)
    weights = _output(subject, layout, tensors | {"value": eye})
    if weights is None or not bool(weights.isfinite().all()):
        return ""
    near = 20 * layout.tolerance
    if not _close(_output(subject, layout, tensors), weights @ tensors["value"], near):
        return ""
    rotation, _ = torch.linalg.qr(normal(S, S, generator=generator))
    stretch = torch.linspace(0.8, 1.25, S, dtype=torch.float64)  # changes lengths, but no dot product
    turned = {"query": tensors["query"] @ rotation * stretch, "key": tensors["key"] @ rotation / stretch}
    if not _close(_output(subject, layout, turned | {"value": eye}), weights, near):
        return ""
    order = torch.arange(S - 1, -1, -1)
    if not _close(_output(subject, layout, tensors | {"key": tensors["key"][..., order, :], "value": eye}),
                  weights[..., order], near):  # fmt: skip
        return ""
    query = tensors["query"].clone()
    query[..., 1:, :] = -query[..., 1:, :]
    other = _output(subject, layout, tensors | {"query": query, "value": eye})
    if other is None or not _close(other[..., :1, :], weights[..., :1, :], near):
        return ""
    moved = {role: torch.cat([t[:1], -2.0 * t[1:]]) for role, t in (tensors | {"value": eye}).items()}
    other = _output(subject, layout, moved)
    if other is None or not _close(other[:1], weights[:1], near):
        return ""
    right = evaluate(subject.menu.right, subject.plain_case(tensors | {"value": eye}, layout))[1]
    if _close(weights, right, near):  # right here, wrong in the case at hand: a matter of sizes
        return ""
    first, wanted = weights.flatten(0, -2)[0], right.flatten(0, -2)[0]
    sums = weights.flatten(0, -2)[:4].sum(-1)
    return (
        f"It mixes the values by weights that depend on the dot products alone, but they are not their softmax: a row "
        f"is {numbers(first)} where it should be {numbers(wanted)}. Its rows sum to {numbers(sums)}."
    )


def _output(subject: Subject, layout: Layout, tensors: dict[str, Tensor]) -> Tensor | None:
    reply = subject.run(tensors, layout)
    return None if reply.output is None else reply.output.detach().to("cpu", torch.float64)


def _close(found: Tensor | None, wanted: Tensor, near: float) -> bool:
    return found is not None and found.shape == wanted.shape and bool(torch.allclose(found, wanted, atol=near))
