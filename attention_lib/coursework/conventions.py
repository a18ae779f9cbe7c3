"""Brings a student's function back to the book's conventions, so that the library and the doctor can judge it.

Every task says how its function is called under a variant, what comes out in the book's order, and what should.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from attention_lib.attention import attention
from attention_lib.steps.heads import merge_heads, split_heads
from attention_lib.steps.masks import causal_mask, padding_mask, window_mask
from attention_lib.steps.scores import dot_product_scores
from attention_lib.steps.softmax import masked_softmax

__all__ = ["TASKS", "Task"]

Variant = Mapping[str, Any]
Answer = list[Tensor]
Candidate = Callable[..., Any]


@dataclass(frozen=True)
class Task:
    """One function of one assignment.

    Args:
        inputs: Makes book inputs from a generator.
        ask: Calls the candidate with book inputs under a variant; the answer in the book's order.
        truth: What the answer should be.
        kind: What the doctor is asked about the candidate in the book's conventions; "" for nothing.
        subject: Makes what the doctor examines; None where the doctor has no such convention.
        options: Further options for the doctor.
        mistakes: What an answer does wrong, after "code|" where it has one -> the answer that shows it.
        follows: The switches that this function can show.
        plain: How many of the inputs show a convention; 0 for all.
    """

    inputs: Callable[[torch.Generator], list[tuple[Any, ...]]]
    ask: Callable[..., Answer]
    truth: Callable[..., Answer]
    kind: str = ""
    subject: Callable[[Candidate, Variant], Any] = field(default=lambda candidate, variant: candidate)
    options: Callable[[Variant], dict[str, Any]] = field(default=lambda variant: {})
    mistakes: Mapping[str, Callable[..., Answer]] = field(default_factory=dict)
    follows: Sequence[str] = ()
    plain: int = 0


def _normal(generator: torch.Generator, *shape: int) -> Tensor:
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def _some(generator: torch.Generator, *shape: int) -> Tensor:
    mask = torch.rand(shape, generator=generator) < 0.6
    mask[..., 0], mask[..., -1] = True, False
    return mask


def _with_empty_row(mask: Tensor) -> Tensor:
    mask[..., 1, :] = False
    return mask


def said(allowed: Tensor | None, variant: Variant, dtype: torch.dtype = torch.float64) -> Tensor | None:
    """A mask, True = may attend, in the words of the variant."""
    if allowed is None or variant.get("mask", "allowed") == "allowed":
        return allowed
    if variant["mask"] == "blocked":
        return ~allowed
    return torch.zeros(allowed.shape, dtype=dtype).masked_fill(~allowed, -torch.inf)


def _heads_second(tensor: Tensor, variant: Variant) -> Tensor:
    return tensor.transpose(1, 2) if variant.get("layout") == "BLHd" else tensor


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (tuple, list)) else [value]


# Scores.


def _gaps(L: int, S: int, variant: Variant, like: Tensor) -> Tensor:
    gaps = (torch.arange(L)[:, None] - torch.arange(S)).abs()
    return variant.get("distance", 0.0) * gaps.to(like.dtype)


def _ask_scores(candidate: Candidate, variant: Variant, query: Tensor, key: Tensor) -> Answer:
    given = key.transpose(-2, -1).contiguous() if variant["keys"] == "columns" else key
    scores = candidate(query, given)
    scores = scores.transpose(-2, -1) if variant["result"] == "keys_first" else scores
    back = scores + _gaps(query.shape[-2], key.shape[-2], variant, query)
    return [back * variant["temperature"]]


def _scores_subject(candidate: Candidate, variant: Variant) -> Candidate:
    plain = {**variant, "distance": 0.0}

    def mine(query, key, value, mask=None):
        scores = _ask_scores(candidate, plain, query, key)[0]
        scores = scores + variant["temperature"] * _gaps(query.shape[-2], key.shape[-2], variant, query)
        return masked_softmax(scores, mask) @ value

    return mine


# Softmax.


def _turned(tensor: Tensor, variant: Variant) -> Tensor:
    return tensor.transpose(-2, -1) if variant["axis"] == "first" else tensor


def _ask_softmax(candidate: Candidate, variant: Variant, scores: Tensor, allowed: Tensor | None) -> Answer:
    mask = None if allowed is None else _turned(said(allowed, variant, scores.dtype), variant)  # type: ignore[arg-type]
    weights = candidate(_turned(scores * variant["temperature"], variant), mask)
    weights = weights.exp() if variant["returns"] == "log_weights" else weights
    return [_turned(weights, variant)]


def _softmax_subject(candidate: Candidate, variant: Variant) -> Candidate:
    def mine(scores, mask=None):
        spoken = {**variant, "mask": "allowed"}  # the doctor speaks the variant's own kind of mask
        return _ask_softmax(candidate, spoken, scores, mask)[0]

    return mine


def _softmax_gradient(weights: Tensor, arriving: Tensor) -> Answer:
    return [weights * (arriving - (weights * arriving).sum(-1, keepdim=True))]


def _ask_softmax_backward(candidate: Candidate, variant: Variant, weights: Tensor, arriving: Tensor) -> Answer:
    grads = candidate(_turned(weights, variant), _turned(arriving, variant))
    return [_turned(grads, variant) * variant["temperature"]]


# Attention.


def _ask_attention(candidate: Candidate, variant: Variant, *inputs: Any) -> Answer:
    query, key, value, allowed = inputs
    mask = said(allowed, variant, query.dtype)
    tensors = [_heads_second(t, variant) for t in (query * variant["temperature"], key, value)]
    answer = _listed(candidate(*tensors, mask))
    answer[0] = _heads_second(answer[0], variant)
    if variant["gives"] == "output_log_weights":
        answer[1] = answer[1].exp()
    return answer


def _true_attention(variant: Variant, *inputs: Any) -> Answer:
    query, key, value, allowed = inputs
    result = attention(query, key, value, allowed, need_weights=True)
    return [result.output, result.weights] if variant["gives"] == "output_log_weights" else [result.output]  # type: ignore[list-item]


def _attention_subject(candidate: Candidate, variant: Variant) -> Candidate:
    def mine(query, key, value, mask=None):
        flat = query.ndim == 3
        if flat:
            query, key, value = query[:, None], key[:, None], value[:, None]
            mask = mask[:, None] if mask is not None and mask.ndim == 3 else mask
        answer = _ask_attention(candidate, {**variant, "mask": "allowed"}, query, key, value, mask)
        answer = [part[:, 0] for part in answer] if flat else answer
        return tuple(answer) if len(answer) > 1 else answer[0]

    return mine


def _attention_gradients(variant: Variant, *inputs: Any) -> Answer:
    query, key, value, allowed, arriving = inputs
    with torch.enable_grad():
        leaves = [t.clone().requires_grad_() for t in (query, key, value)]
        output = attention(leaves[0], leaves[1], leaves[2], allowed).output
        return list(torch.autograd.grad(output, leaves, arriving))


def _ask_backward(candidate: Candidate, variant: Variant, *inputs: Any) -> Answer:
    query, key, value, allowed, arriving = inputs
    t = variant["temperature"]
    tensors = [_heads_second(x, variant) for x in (query * t, key, value)]
    grads = _listed(candidate(*tensors, said(allowed, variant), _heads_second(arriving, variant)))
    grads = [_heads_second(g, variant) for g in grads]
    if len(grads) == 3:
        grads[0] = grads[0] * t  # the chain rule through query * t
    return grads


def _with(change: Callable[[Tensor, Tensor, Tensor, float], Answer]) -> Callable[..., Answer]:
    def made(variant: Variant, *inputs: Any) -> Answer:
        query, *_ = inputs
        grads = _attention_gradients(variant, *inputs)
        return change(grads[0], grads[1], grads[2], math.sqrt(query.shape[-1]))

    return made


def _without_average(variant: Variant, *inputs: Any) -> Answer:
    query, key, value, allowed, arriving = inputs
    weights = attention(query, key, value, allowed, need_weights=True).weights
    assert weights is not None
    scores = weights * (arriving @ value.transpose(-2, -1)) / math.sqrt(query.shape[-1])
    return [scores @ key, scores.transpose(-2, -1) @ query, weights.transpose(-2, -1) @ arriving]


def _without_own(variant: Variant, query: Tensor, key: Tensor, value: Tensor) -> Answer:
    right = _true_step(variant, query, key, value)
    if key.shape[2] == 1:
        return right
    shifted = _true_step({**variant}, query, key[:, :, :-1], value[:, :, :-1])[0]
    return [shifted, *right[1:]]


# Masks.


def _heard(mask: Tensor, variant: Variant) -> Tensor:
    """The variant's words as True = may attend; what is neither yes nor no stays visible as it is."""
    if variant["mask"] == "additive":
        proper = mask.is_floating_point() and bool(((mask == 0) | torch.isneginf(mask)).all())
        return mask == 0 if proper else mask
    return ~mask if variant["mask"] == "blocked" and mask.dtype == torch.bool else mask


def _top_left(whole: Tensor, L: int, S: int) -> Tensor:
    return whole[:L, :S]


def _true_causal(variant: Variant, L: int, S: int) -> Answer:
    if variant["corner"] == "top_left":
        return [_top_left(causal_mask(max(L, S)), L, S)]
    return [causal_mask(L, S)]


def _true_window(variant: Variant, L: int, S: int, w: int) -> Answer:
    n = max(L, S)
    around = variant["reach"] == "around"
    whole = window_mask(n, window=w + (variant["reach"] == "before"), causal=True)
    if around:
        whole = whole | whole.T
    return [whole[:L, :S] if variant["corner"] == "top_left" else whole[n - L :, n - S :]]


def _true_padding(variant: Variant, lengths: Tensor, S: int) -> Answer:
    mask = padding_mask(lengths, S)
    return [mask.flip(-1) if variant["side"] == "left" else mask]


def _ask_mask(candidate: Candidate, variant: Variant, *inputs: Any) -> Answer:
    return [_heard(candidate(*inputs), variant)]


def _ask_combine(candidate: Candidate, variant: Variant, first: Tensor, second: Tensor) -> Answer:
    words = [said(mask, variant, torch.float32) for mask in (first, second)]
    return [_heard(candidate(*words), variant)]


def _ask_to_additive(candidate: Candidate, variant: Variant, allowed: Tensor) -> Answer:
    return [candidate(said(allowed, variant, torch.float32))]


# Heads.

_PLACES = {"second": (0, 2, 1, 3), "third": (0, 1, 2, 3), "first": (2, 0, 1, 3)}


def _to_places(heads: Tensor, variant: Variant) -> Tensor:
    """(B, H, L, d) in the variant's order of axes."""
    return heads.transpose(1, 2).permute(_PLACES[variant["heads"]])


def _from_places(heads: Tensor, variant: Variant) -> Tensor:
    back = [_PLACES[variant["heads"]].index(axis) for axis in range(4)]
    return heads.permute(back).transpose(1, 2)


def _dealt(width: int, H: int, variant: Variant) -> Tensor:
    """Which feature of the variant stands where the book has feature c."""
    if variant["order"] == "blocks":
        return torch.arange(width)
    return torch.arange(width).reshape(width // H, H).T.reshape(-1)


def _ask_split(candidate: Candidate, variant: Variant, x: Tensor, H: int) -> Answer:
    given = torch.empty_like(x)
    given[..., _dealt(x.shape[-1], H, variant)] = x
    return [_from_places(candidate(given, H), variant)]


def _ask_merge(candidate: Candidate, variant: Variant, x: Tensor) -> Answer:
    whole = candidate(_to_places(x, variant))
    return [whole[..., _dealt(whole.shape[-1], x.shape[1], variant)]]


def _ask_multi_head(candidate: Candidate, variant: Variant, *inputs: Any) -> Answer:
    x, wq, wk, wv, wo, H, allowed = inputs
    H_kv = H // variant["groups"]
    wk, wv = wk[:, : wk.shape[1] // variant["groups"]], wv[:, : wv.shape[1] // variant["groups"]]
    given = []
    for matrix, heads in ((wq, H), (wk, H_kv), (wv, H_kv)):
        placed = torch.empty_like(matrix)
        placed[:, _dealt(matrix.shape[1], heads, variant)] = matrix
        given.append(placed)
    last = torch.empty_like(wo)
    last[_dealt(wo.shape[0], H, variant)] = wo
    given = [m.T if variant["matrices"] == "out_in" else m for m in (*given, last)]
    return [candidate(x, *given, H, said(allowed, variant, x.dtype))]


def _true_multi_head(variant: Variant, *inputs: Any, scale: float | None = None, project: bool = True) -> Answer:
    x, wq, wk, wv, wo, H, allowed = inputs
    groups = variant["groups"]
    wk, wv = wk[:, : wk.shape[1] // groups], wv[:, : wv.shape[1] // groups]
    query = split_heads(x @ wq, H)
    key, value = split_heads(x @ wk, H // groups), split_heads(x @ wv, H // groups)
    merged = merge_heads(attention(query, key, value, allowed, scale=scale).output)
    return [merged @ wo if project else merged]


class _AsModule(nn.Module):
    """A student's multi-head function with weights of its own, for the doctor."""

    def __init__(self, candidate: Candidate, variant: Variant, d_model: int = 12, num_heads: int = 3) -> None:
        super().__init__()
        self.num_heads = num_heads
        for name in ("query", "key", "value", "output"):
            setattr(self, f"w_{name}", nn.Linear(d_model, d_model, bias=False))
        self._ask = lambda *inputs: _ask_multi_head(candidate, {**variant, "groups": 1}, *inputs)[0]
        self._variant = variant

    def forward(self, x, mask=None):
        matrices = [getattr(self, f"w_{name}").weight.T for name in ("query", "key", "value", "output")]
        return self._ask(x, *matrices, self.num_heads, mask)


# Windows and caches.


def _bias(variant: Variant, behind: Tensor, allowed: Tensor) -> Tensor:
    return (-variant["distance"] * behind.abs().double()).masked_fill(~allowed, -torch.inf)


def _seen(variant: Variant, n: int, w: int) -> tuple[Tensor, Tensor]:
    behind = torch.arange(n)[:, None] - torch.arange(n)
    return behind, _true_window({"corner": "bottom_right", **variant}, n, n, w)[0]


def _true_windowed(variant: Variant, query: Tensor, key: Tensor, value: Tensor, w: int, **options: Any) -> Answer:
    behind, allowed = _seen(variant, query.shape[2], w)
    key, value = (t[:, : t.shape[1] // variant["groups"]] for t in (key, value))
    bias = _bias(variant, behind, allowed)
    result = attention(query, key, value, bias, need_weights=True, **options)
    assert result.weights is not None
    return [result.output, result.weights] if variant["gives"] == "output_log_weights" else [result.output]


def _ask_windowed(candidate: Candidate, variant: Variant, query: Tensor, key: Tensor, value: Tensor, w: int) -> Answer:
    key, value = (t[:, : t.shape[1] // variant["groups"]] for t in (key, value))
    answer = _listed(candidate(*(_heads_second(t, variant) for t in (query, key, value)), w))
    answer[0] = _heads_second(answer[0], variant)
    if variant["gives"] == "output_log_weights":
        answer[1] = answer[1].exp()
    return answer


def _true_step(variant: Variant, query: Tensor, key: Tensor, value: Tensor, **options: Any) -> Answer:
    key, value = (t[:, : t.shape[1] // variant["groups"]] for t in (key, value))
    behind = torch.arange(key.shape[2] - 1, -1, -1)[None]
    bias = -variant["distance"] * behind.double()
    return [attention(query, key, value, bias, **options).output, key, value]


def _ask_step(candidate: Candidate, variant: Variant, query: Tensor, key: Tensor, value: Tensor) -> Answer:
    key, value = (t[:, : t.shape[1] // variant["groups"]] for t in (key, value))

    def stored(tensor: Tensor) -> Tensor:
        return _heads_second(tensor.flip(2) if variant["cache"] == "prepend" else tensor, variant)

    new, past = (key[:, :, -1:], value[:, :, -1:]), (key[:, :, :-1], value[:, :, :-1])
    given = [_heads_second(t, variant) for t in (query, *new)]
    answer = _listed(candidate(*given, *map(stored, past)))
    answer = [_heads_second(t, variant) for t in answer]
    if variant["cache"] == "prepend":
        answer[1:] = [t.flip(2) for t in answer[1:]]
    return answer


def _spoken(variant: Variant) -> dict[str, Any]:
    return {"mask": variant.get("mask", "allowed")}


TASKS: dict[tuple[str, str], Task] = {
    ("scores", "attention_scores"): Task(
        inputs=lambda g: [(_normal(g, 2, 3, 5), _normal(g, 2, 7, 5)), (_normal(g, 2, 3, 11), _normal(g, 2, 7, 11))],
        ask=_ask_scores,
        truth=lambda variant, query, key: [dot_product_scores(query, key)],
        kind="attention",
        subject=_scores_subject,
    ),
    ("softmax", "masked_softmax"): Task(
        inputs=lambda g: [
            (_normal(g, 2, 3, 7), None),
            (_normal(g, 2, 3, 7), _some(g, 2, 3, 7)),
            (_normal(g, 2, 3, 7), _with_empty_row(_some(g, 2, 3, 7))),
        ],
        ask=_ask_softmax,
        truth=lambda variant, scores, allowed: [masked_softmax(scores, allowed)],
        kind="softmax",
        plain=2,
        subject=_softmax_subject,
        options=_spoken,
    ),
    ("softmax", "softmax_backward"): Task(
        inputs=lambda g: [(_normal(g, 2, 3, 7).softmax(-1), _normal(g, 2, 3, 7))],
        ask=_ask_softmax_backward,
        truth=lambda variant, weights, arriving: _softmax_gradient(weights, arriving),
        mistakes={
            "That is only the diagonal term: raising one score must lower the other weights of its row.": (
                lambda variant, w, g: [w * g]
            ),
            "You used the diagonal of the Jacobian, w (1 - w), alone; its other entries are not zero.": (
                lambda variant, w, g: [w * (1 - w) * g]
            ),
            "Subtract the average of the gradient *under the weights*, not its plain sum.": (
                lambda variant, w, g: [w * (g - g.sum(-1, keepdim=True))]
            ),
            "Subtract the average of the gradient *under the weights*, not its plain mean.": (
                lambda variant, w, g: [w * (g - g.mean(-1, keepdim=True))]
            ),
            "The sum runs over the queries; it belongs over the keys.": (
                lambda variant, w, g: [w * (g - (w * g).sum(-2, keepdim=True))]
            ),
            "The sign is turned around.": lambda variant, w, g: [-_softmax_gradient(w, g)[0]],
        },
    ),
    ("attention", "attention"): Task(
        inputs=lambda g: [
            (*_qkv(g), None),
            (*_qkv(g), _some(g, 2, 3, 5, 7)),
            (*_qkv(g), _with_empty_row(_some(g, 2, 3, 5, 7))),
        ],
        ask=_ask_attention,
        truth=_true_attention,
        kind="attention",
        plain=2,
        subject=_attention_subject,
        options=_spoken,
    ),
    ("attention", "attention_backward"): Task(
        inputs=lambda g: [
            (*_qkv(g), None, _normal(g, 2, 3, 5, 13)),
            (*_qkv(g), _some(g, 2, 3, 5, 7), _normal(g, 2, 3, 5, 13)),
        ],
        ask=_ask_backward,
        truth=_attention_gradients,
        mistakes={
            "The average is missing: grad_scores = weights * (grad_weights - average).": _without_average,
            "The mask plays no part on the way back.": lambda variant, *inputs: _attention_gradients(
                variant, *inputs[:3], None, inputs[4]
            ),
            "The gradients of query and key miss the scale 1/sqrt(d_k).": _with(lambda q, k, v, s: [q * s, k * s, v]),
            "The gradients of query and key have the scale twice.": _with(lambda q, k, v, s: [q / s, k / s, v]),
            "The gradient of query misses the scale 1/sqrt(d_k).": _with(lambda q, k, v, s: [q * s, k, v]),
            "The gradient of key misses the scale 1/sqrt(d_k).": _with(lambda q, k, v, s: [q, k * s, v]),
            "The signs of the gradients of query and key are turned around.": _with(lambda q, k, v, s: [-q, -k, v]),
            "The gradients come in another order: return query, key, value.": _with(lambda q, k, v, s: [q, v, k]),
            "The gradients come in another order: return query, key, value, not value first.": _with(
                lambda q, k, v, s: [v, k, q]
            ),
        },
    ),
    ("masks", "causal_mask"): Task(
        inputs=lambda g: [(5, 5), (3, 7), (1, 4)],
        ask=_ask_mask,
        truth=_true_causal,
        kind="causal_mask",
        subject=lambda candidate, variant: candidate if variant["corner"] == "bottom_right" else None,
        options=_spoken,
        mistakes={
            "Each query sees the keys after it instead of those before it: the triangle is the other one.": (
                lambda variant, L, S: [~_earlier(variant, L, S, -1)]
            ),
            "causal-excludes-itself|A query does not see its own position; it should.": lambda variant, L, S: [
                _earlier(variant, L, S, -1)
            ],
            "causal-sees-next|A query sees one position too far, the one right after it.": lambda variant, L, S: [
                _earlier(variant, L, S, 1)
            ],
        },
        follows=("mask", "corner"),
    ),
    ("masks", "padding_mask"): Task(
        inputs=lambda g: [(torch.tensor([7, 3, 0, 1]), 7)],
        ask=_ask_mask,
        truth=_true_padding,
        mistakes={
            "One real token too many may be attended to.": lambda variant, n, S: _true_padding(
                variant, (n + 1).clamp(max=S), S
            ),
            "The last real token may not be attended to; it should.": lambda variant, n, S: _true_padding(
                variant, (n - 1).clamp(min=0), S
            ),
            "The shape misses the axes for heads and queries: (B, 1, 1, S).": lambda variant, n, S: [
                _true_padding(variant, n, S)[0][:, 0, 0]
            ],
        },
        follows=("mask", "side"),
    ),
    ("masks", "window_mask"): Task(
        inputs=lambda g: [(9, 9, 3), (9, 9, 1), (4, 9, 2)],
        ask=_ask_mask,
        truth=_true_window,
        mistakes={
            "The window has one key more than it should.": lambda variant, L, S, w: _true_window(variant, L, S, w + 1),
            "The window has one key fewer than it should.": lambda variant, L, S, w: (
                _true_window(variant, L, S, w - 1) if w > 1 else [torch.zeros(L, S, dtype=torch.bool)]
            ),
        },
        follows=("mask", "corner", "reach"),
    ),
    ("masks", "combine"): Task(
        inputs=lambda g: [(_some(g, 5, 7), _some(g, 5, 7)), (_some(g, 2, 1, 5, 7), _some(g, 5, 7))],
        ask=_ask_combine,
        truth=lambda variant, first, second: [first & second],
        mistakes={
            "You allow what *either* mask allows; allow what both allow. Mind what True means here.": (
                lambda variant, first, second: [first | second]
            ),
            "The second mask is ignored.": lambda variant, first, second: [first & torch.ones_like(second)],
            "The first mask is ignored.": lambda variant, first, second: [second & torch.ones_like(first)],
        },
        follows=("mask",),
    ),
    ("masks", "to_additive"): Task(
        inputs=lambda g: [(_some(g, 5, 7),)],
        ask=_ask_to_additive,
        truth=lambda variant, allowed: [torch.zeros(allowed.shape).masked_fill(~allowed, -torch.inf)],
        mistakes={
            "It blocks what should be allowed: mind what True means here.": lambda variant, allowed: [
                torch.zeros(allowed.shape).masked_fill(allowed, -torch.inf)
            ],
            "It holds 0 and 1, which get *added* to scores: blocked entries need -inf.": lambda variant, allowed: [
                allowed.float()
            ],
            "It fills with a large negative number; the convention asks for -inf.": lambda variant, allowed: [
                torch.zeros(allowed.shape).masked_fill(~allowed, -1e9)
            ],
        },
        follows=("mask",),
    ),
    ("heads", "split_heads"): Task(
        inputs=lambda g: [(_normal(g, 2, 5, 12), 3), (_normal(g, 2, 5, 12), 4)],
        ask=_ask_split,
        truth=lambda variant, x, H: [split_heads(x, H)],
        kind="split_heads",
        subject=lambda candidate, variant: lambda x, num_heads: _ask_split(candidate, variant, x, num_heads)[0],
        follows=("order", "heads"),
    ),
    ("heads", "merge_heads"): Task(
        inputs=lambda g: [(_normal(g, 2, 3, 5, 4),), (_normal(g, 2, 4, 5, 3),)],
        ask=_ask_merge,
        truth=lambda variant, x: [merge_heads(x)],
        kind="merge_heads",
        subject=lambda candidate, variant: lambda x: _ask_merge(candidate, variant, x)[0],
        follows=("order", "heads"),
    ),
    ("heads", "multi_head"): Task(
        inputs=lambda g: [_layer(g, 4, None), _layer(g, 2, torch.ones(5, 5, dtype=torch.bool).tril())],
        ask=_ask_multi_head,
        truth=_true_multi_head,
        kind="multi_head",
        subject=_AsModule,
        options=_spoken,
        follows=("order", "groups", "matrices", "mask"),
        mistakes={
            "The scores are not divided by the square root of the head's width.": (
                lambda variant, *inputs: _true_multi_head(variant, *inputs, scale=1.0)
            ),
            "The scores are divided by the square root of d_model; each head has its own, smaller width.": (
                lambda variant, *inputs: _true_multi_head(variant, *inputs, scale=inputs[0].shape[-1] ** -0.5)
            ),
            "The output matrix is missing.": lambda variant, *inputs: _true_multi_head(variant, *inputs, project=False),
        },
    ),
    ("window", "attention"): Task(
        inputs=lambda g: [(*_same_length(g), 3), (*_same_length(g), 1), (*_same_length(g), 20)],
        ask=_ask_windowed,
        truth=_true_windowed,
        follows=("layout", "reach", "gives", "distance", "groups"),
        mistakes={
            "The scores are not divided by sqrt(d_k).": lambda variant, *inputs: _true_windowed(
                variant, *inputs, scale=1.0
            ),
            "The distance bias is divided by sqrt(d_k) too; it belongs on the scaled score.": (
                lambda variant, *inputs: _true_windowed(
                    {**variant, "distance": variant["distance"] * inputs[0].shape[-1] ** -0.5}, *inputs
                )
            ),
            "The distance bias has the wrong sign: far keys get more weight.": (
                lambda variant, *inputs: _true_windowed({**variant, "distance": -variant["distance"]}, *inputs)
            ),
            "The window has one key more than it should.": lambda variant, q, k, v, w: _true_windowed(
                variant, q, k, v, w + 1
            ),
            "There is no window: every earlier key is seen.": lambda variant, q, k, v, w: _true_windowed(
                variant, q, k, v, 999
            ),
        },
    ),
    ("window", "attend_step"): Task(
        inputs=lambda g: [_step_inputs(g, 6), _step_inputs(g, 1)],
        ask=_ask_step,
        truth=_true_step,
        follows=("layout", "distance", "groups", "cache"),
        mistakes={
            "The scores are not divided by sqrt(d_k).": lambda variant, *inputs: _true_step(
                variant, *inputs, scale=1.0
            ),
            "The distance bias has the wrong sign: far keys get more weight.": (
                lambda variant, *inputs: _true_step({**variant, "distance": -variant["distance"]}, *inputs)
            ),
            "The new token does not see its own key.": lambda variant, q, k, v: _without_own(variant, q, k, v),
            "The new token sees its own key alone, not the cache.": lambda variant, q, k, v: [
                _true_step(variant, q, k[:, :, -1:], v[:, :, -1:])[0],
                *_true_step(variant, q, k, v)[1:],
            ],
            "The output is right, but the caches come back without the new token.": lambda variant, *inputs: [
                _true_step(variant, *inputs)[0],
                *(t[:, :, :-1] for t in _true_step(variant, *inputs)[1:]),
            ],
        },
    ),
}


def _qkv(g: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    return _normal(g, 2, 3, 5, 11), _normal(g, 2, 3, 7, 11), _normal(g, 2, 3, 7, 13)


def _same_length(g: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    return _normal(g, 2, 4, 7, 5), _normal(g, 2, 4, 7, 5), _normal(g, 2, 4, 7, 3)


def _step_inputs(g: torch.Generator, S: int) -> tuple[Tensor, Tensor, Tensor]:
    return _normal(g, 2, 4, 1, 5), _normal(g, 2, 4, S, 5), _normal(g, 2, 4, S, 3)


def _layer(g: torch.Generator, H: int, allowed: Tensor | None) -> tuple[Any, ...]:
    width = 12
    return (_normal(g, 2, 5, width), *(_normal(g, width, width) for _ in range(4)), H, allowed)


def _earlier(variant: Variant, L: int, S: int, by: int) -> Tensor:
    first = (S - L if variant["corner"] == "bottom_right" else 0) + by
    return torch.arange(S) <= first + torch.arange(L)[:, None]
