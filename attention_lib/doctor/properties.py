"""Properties that every attention has, each as a check that says how a candidate breaks it."""

from __future__ import annotations

import torch
from torch import Tensor

from attention_lib.doctor.inputs import Form
from attention_lib.doctor.pipeline import Case
from attention_lib.doctor.subject import Layout, Subject

__all__ = ["ATTENTION_PROPERTIES", "HEADS_PROPERTIES"]

_NEAR = 1e-4


def _again(
    subject: Subject, layout: Layout, case: Case, form: Form | None, tensors: dict[str, Tensor]
) -> Tensor | None:
    reply = subject.run(tensors, layout, case.mask, form)
    return None if reply.output is None else reply.output.detach().to("cpu", torch.float64)


def rows_sum_to_one(subject: Subject, layout: Layout, case: Case, form: Form | None) -> str:
    """Values of one everywhere come out as one."""
    tensors = case.inputs | {"value": torch.ones_like(case.inputs["value"])}
    output = _again(subject, layout, case, form, tensors)
    if output is None or bool((output - 1.0).abs().max() <= _NEAR):
        return ""
    low, high = float(output.min()), float(output.max())
    return f"the weights of a query do not sum to 1, but to between {low:.2f} and {high:.2f}."


def inside_the_values(subject: Subject, layout: Layout, case: Case, form: Form | None) -> str:
    """Every output entry lies between the smallest and the largest value of its column."""
    value = case.inputs["value"]
    low, high = value.amin(-2, keepdim=True), value.amax(-2, keepdim=True)
    if case.target.shape[-1] != value.shape[-1]:
        return ""
    outside = ((case.target < low - _NEAR) | (case.target > high + _NEAR)).double().mean()
    return f"{float(outside):.0%} of the outputs lie outside the range of the values." if outside > 0 else ""


def order_of_keys(subject: Subject, layout: Layout, case: Case, form: Form | None) -> str:
    """Reordering keys together with their values changes nothing."""
    tensors = dict(case.inputs)
    if case.mask is not None or subject.declared.causal or subject.declared.window or "x" in tensors:
        return ""
    order = torch.arange(tensors["key"].shape[-2] - 1, -1, -1)
    tensors |= {"key": tensors["key"][..., order, :], "value": tensors["value"][..., order, :]}
    output = _again(subject, layout, case, form, tensors)
    return _moved(output, case.target, "reversing the order of keys and values changes the output")


def own_sequence(subject: Subject, layout: Layout, case: Case, form: Form | None) -> str:
    """A sequence does not depend on the others in its batch."""
    if case.sizes.B < 2:
        return ""
    tensors = {role: tensor.clone() for role, tensor in case.inputs.items()}
    for tensor in tensors.values():
        tensor[1:] = -2.0 * tensor[1:]
    output = _again(subject, layout, case, form, tensors)
    output = None if output is None else output[:1]
    return _moved(output, case.target[:1], "changing the second sequence of the batch changes the first one's output")


def past_only(subject: Subject, layout: Layout, case: Case, form: Form | None) -> str:
    """A causal candidate's first outputs do not depend on the last position."""
    if not subject.declared.causal:
        return ""
    tensors = {role: tensor.clone() for role, tensor in case.inputs.items()}
    for tensor in tensors.values():
        tensor[..., -1, :] = 3.0
    output = _again(subject, layout, case, form, tensors)
    output = None if output is None else output[..., :-1, :]
    return _moved(output, case.target[..., :-1, :], "changing the last token changes earlier outputs: the future leaks")


def order_of_tokens(subject: Subject, layout: Layout, case: Case, form: Form | None) -> str:
    """Reordering the tokens of self-attention reorders the outputs alike."""
    tensors = case.inputs
    if case.mask is not None or subject.declared.causal or "x" not in tensors:
        return ""
    order = torch.arange(tensors["x"].shape[-2] - 1, -1, -1)
    output = _again(subject, layout, case, form, {role: t[..., order, :] for role, t in tensors.items()})
    output = None if output is None else output[..., order, :]
    return _moved(output, case.target, "reversing the tokens does not simply reverse the outputs")


def _moved(output: Tensor | None, target: Tensor, what: str) -> str:
    if output is None or output.shape != target.shape:
        return ""
    moved = float((output - target).abs().nan_to_num().max())
    return f"{what} (by up to {moved:.2f})." if moved > _NEAR else ""


ATTENTION_PROPERTIES = (rows_sum_to_one, inside_the_values, past_only, own_sequence, order_of_keys)
HEADS_PROPERTIES = (past_only, own_sequence, order_of_tokens)
