"""The known ways, right and wrong, to scale, mask and normalise scores and to mix values."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from attention_lib.doctor.pipeline import Option, Sizes

__all__ = ["BEFORE", "MASK_MODES", "MIXES", "NORMS", "NO_SHAPE", "PATTERN_MODES", "READINGS", "scales"]

_COMMON_SCALES = ("root", "one", "d", "multiplied", "heads", "model", "negative")


def scales(declared: float | None) -> tuple[Option, ...]:
    """Factors on the dot products; the declared one, or 1/sqrt(d_k), comes first."""

    def option(name: str, code: str, factor: Callable[[Sizes], float]) -> Option:
        return Option(name, code, factor, rare=name not in _COMMON_SCALES)

    known = [
        option("root", "", lambda n: n.d_k**-0.5),
        option("one", "missing-scale", lambda n: 1.0),
        option("d", "scale-by-d", lambda n: 1.0 / n.d_k),
        option("multiplied", "scale-multiplied", lambda n: n.d_k**0.5),
        option("heads", "scale-by-heads", lambda n: n.H**-0.5),
        option("model", "scale-by-model", lambda n: n.d_model**-0.5),
        option("negative", "scale-negative", lambda n: -(n.d_k**-0.5)),
        option("times d", "wrong-scale", lambda n: float(n.d_k)),
        option("number of heads", "scale-by-heads", lambda n: 1.0 / n.H),
        option("root of heads, multiplied", "scale-by-heads", lambda n: n.H**0.5),
        option("query length", "wrong-scale", lambda n: n.L**-0.5),
        option("key length", "wrong-scale", lambda n: n.S**-0.5),
        option("value width", "wrong-scale", lambda n: n.d_v**-0.5),
        option("fourth root", "wrong-scale", lambda n: n.d_k**-0.25),
        option("d squared", "wrong-scale", lambda n: n.d_k**-2.0),
        option("half", "wrong-scale", lambda n: 0.5 * n.d_k**-0.5),
        option("double", "wrong-scale", lambda n: 2.0 * n.d_k**-0.5),
        option("batch size", "wrong-scale", lambda n: n.B**-0.5),
    ]
    if declared is None:
        return tuple(known)
    root = option("root", "wrong-scale", lambda n: n.d_k**-0.5)
    return (option("declared", "", lambda n: declared), root, *known[1:])


NO_SHAPE = Option("plain", "", lambda scores, query, key: scores)


def _softmax(*axes: int) -> Callable[[Tensor], Tensor]:
    def apply(scores: Tensor) -> Tensor:
        if len(axes) == 1:
            return torch.softmax(scores, dim=axes[0])
        return torch.softmax(scores.flatten(-2), dim=-1).unflatten(-1, scores.shape[-2:])

    return apply


def _zero_diluted(scores: Tensor) -> Tensor:
    """exp(s) / (1 + sum of exp(s)): one more key, with score 0 and value 0."""
    padded = torch.cat([scores, torch.zeros_like(scores[..., :1])], dim=-1)
    return torch.softmax(padded, dim=-1)[..., :-1]


def _divided(scores: Tensor) -> Tensor:
    finite = scores.masked_fill(scores == -math.inf, 0.0)
    return finite / finite.sum(dim=-1, keepdim=True)


def _feature_map(scores: Tensor) -> Tensor:
    kept = torch.relu(scores)
    return kept / kept.sum(dim=-1, keepdim=True)


NORMS = (
    Option("keys", "", _softmax(-1)),
    Option("queries", "softmax-over-queries", _softmax(-2)),
    Option("heads", "softmax-wrong-axis", _softmax(-3)),
    Option("batch", "softmax-wrong-axis", _softmax(-4)),
    Option("queries and keys", "softmax-wrong-axis", _softmax(-2, -1), rare=True),
    Option("none", "missing-softmax", lambda scores: scores.masked_fill(scores == -math.inf, 0.0)),
    Option("none, blocked -inf", "missing-softmax", lambda scores: scores, rare=True),
    Option("twice", "double-softmax", lambda scores: torch.softmax(torch.softmax(scores, -1), -1)),
    Option("exp", "unnormalised-weights", torch.exp),
    Option("exp, shifted", "unnormalised-weights", lambda s: torch.exp(s - s.amax(-1, keepdim=True)), rare=True),
    Option("all", "softmax-wrong-axis", lambda s: s.flatten(-4).softmax(-1).view_as(s), rare=True),
    Option("log", "wrong-normalisation", lambda scores: torch.log_softmax(scores, -1), rare=True),
    Option("divided", "wrong-normalisation", _divided, rare=True),
    Option("relu", "wrong-normalisation", lambda scores: torch.relu(scores), rare=True),
    Option("relu, divided", "wrong-normalisation", _feature_map, rare=True),
    Option("tanh", "wrong-normalisation", torch.tanh, rare=True),
    Option("length", "wrong-normalisation", lambda scores: torch.nn.functional.normalize(scores, dim=-1), rare=True),
    Option("mean", "wrong-normalisation", lambda scores: torch.exp(scores) / scores.shape[-1], rare=True),
    Option("sigmoid", "variant-sigmoid", torch.sigmoid),
    Option(
        "sigmoid, -log n",
        "variant-sigmoid",
        lambda scores: torch.sigmoid(scores - math.log(scores.shape[-1])),
        rare=True,
    ),
    Option("sink", "variant-sink", _zero_diluted, rare=True),
)


def _same(tensor: Tensor, allowed: Tensor) -> Tensor:
    return tensor


def _fill(number: float) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda tensor, allowed: tensor.masked_fill(~allowed, number)


def _renormalised(weights: Tensor, allowed: Tensor) -> Tensor:
    kept = weights * allowed
    return kept / kept.sum(dim=-1, keepdim=True)


_INF = math.inf


BEFORE = Option("before", "", (_fill(-_INF), _same))  # type: ignore[arg-type]


PATTERN_MODES = (
    BEFORE,
    Option("before, finite", "", (_fill(-1e9), _same)),  # type: ignore[arg-type]
    Option("after", "mask-after-softmax", (_same, lambda weights, allowed: weights * allowed)),  # type: ignore[arg-type]
    Option("zero", "mask-fill-zero", (lambda scores, allowed: scores * allowed, _same)),  # type: ignore[arg-type]
    Option("minus one", "mask-fill-weak", (_fill(-1.0), _same), rare=True),  # type: ignore[arg-type]
    Option("minus ten", "mask-fill-weak", (_fill(-10.0), _same), rare=True),  # type: ignore[arg-type]
    Option("one", "mask-fill-weak", (_fill(1.0), _same), rare=True),  # type: ignore[arg-type]
    Option("positive", "mask-fill-positive", (_fill(1e9), _same)),  # type: ignore[arg-type]
    Option("added", "float-mask-added", (lambda scores, allowed: scores + allowed.to(scores.dtype), _same)),  # type: ignore[arg-type]
    Option(
        "added, 1 = blocked",
        "float-mask-added",
        (lambda scores, allowed: scores + (~allowed).to(scores.dtype), _same),  # type: ignore[arg-type]
    ),
    Option("after, renormalised", "wrong-normalisation", (_same, _renormalised), rare=True),  # type: ignore[arg-type]
    Option("after, -1e9", "mask-after-softmax", (_same, _fill(-1e9)), rare=True),  # type: ignore[arg-type]
)


_PENALTY = Option("before, penalty", "", (lambda s, allowed: s - 1e9 * ~allowed, _same), rare=True)  # type: ignore[arg-type]
MASK_MODES = (*PATTERN_MODES[:2], _PENALTY, Option("ignored", "padding-ignored", (_same, _same)), *PATTERN_MODES[2:])  # type: ignore[arg-type]


def _last_two_swapped(mask: Tensor, L: int) -> Tensor:
    return mask.transpose(-2, -1)


def _lengths_of(mask: Tensor) -> Tensor:
    if mask.shape[-2] != 1:
        raise RuntimeError("only a padding mask has lengths")
    return mask.sum(dim=-1, keepdim=True)


def _rows_by_length(mask: Tensor, L: int) -> Tensor:
    """Queries behind a sequence's length are blocked instead of keys."""
    return torch.arange(L)[:, None] < _lengths_of(mask)


def _longer(more: int) -> Callable[[Tensor, int], Tensor]:
    return lambda mask, L: torch.arange(mask.shape[-1]) < _lengths_of(mask) + more


def _other_sample(mask: Tensor, L: int) -> Tensor:
    """Of B masks, the one a head gets when they are repeated H times in the wrong order: number (b * H + h) % B."""
    B = mask.shape[0]
    if B == 1:
        return mask
    H = max(mask.shape[1], 3)
    order = (torch.arange(B)[:, None] * H + torch.arange(H)) % B
    return mask[order, 0]


READINGS = (
    Option("allowed", "", lambda mask, L: mask),
    Option("blocked", "mask-inverted", lambda mask, L: ~mask),
    Option("transposed", "mask-transposed", _last_two_swapped),
    Option("wrong sample", "mask-wrong-sample", _other_sample, rare=True),
    Option("first sample", "mask-wrong-sample", lambda mask, L: mask[:1].expand_as(mask), rare=True),
    Option("last sample", "mask-wrong-sample", lambda mask, L: mask[-1:].expand_as(mask), rare=True),
    Option("any sample", "mask-wrong-sample", lambda mask, L: mask.any(0, keepdim=True).expand_as(mask), rare=True),
    Option("all samples", "mask-wrong-sample", lambda mask, L: mask.all(0, keepdim=True).expand_as(mask), rare=True),
    Option("first row", "mask-wrong-sample", lambda mask, L: mask[..., :1, :], rare=True),
    Option("last row", "mask-wrong-sample", lambda mask, L: mask[..., -1:, :], rare=True),
    Option("rows", "mask-transposed", _rows_by_length, rare=True),
    Option("one key more", "length-off-by-one", _longer(1), rare=True),
    Option("one key less", "length-off-by-one", _longer(-1), rare=True),
    Option("transposed, blocked", "mask-transposed", lambda mask, L: ~_last_two_swapped(mask, L), cost=2),
)


MIXES = (
    Option("rows", "", lambda weights, value: weights @ value),
    Option("columns", "weights-transposed", lambda weights, value: weights.transpose(-2, -1) @ value),
    Option(
        "mean",
        "values-unweighted",
        lambda weights, value: torch.ones_like(weights) / weights.shape[-1] @ value,
        rare=True,
    ),
    Option("sum", "values-unweighted", lambda weights, value: torch.ones_like(weights) @ value),
)
