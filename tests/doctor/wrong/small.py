"""Mistakes in the small exercises: softmax, causal masks."""

import torch
from specimens import wrong


@wrong("softmax-over-queries", kind="softmax")
def softmax_of_columns(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    return torch.softmax(scores, dim=-2)


@wrong("softmax-unstable", kind="softmax", repair=("scores.exp()", "(scores - scores.amax(-1, keepdim=True)).exp()"))
def softmax_by_formula(scores):
    exponentials = scores.exp()
    return exponentials / exponentials.sum(-1, keepdim=True)


@wrong("mask-after-softmax", kind="softmax")
def softmax_then_mask(scores, mask=None):
    weights = torch.softmax(scores, -1)
    return weights if mask is None else weights * mask


@wrong("mask-inverted", kind="softmax")
def softmax_of_the_blocked(scores, mask=None):
    return torch.softmax(scores if mask is None else scores.masked_fill(mask, -1e9), -1)


@wrong("unnormalised-weights", kind="softmax")
def exponential_only(scores, mask=None):
    weights = scores.exp()
    return weights if mask is None else weights * mask


@wrong(
    "nan-on-empty-row",
    kind="softmax",
    strict=True,
    repair=(
        "return torch.softmax(scores if mask is None else scores.masked_fill(~mask, -torch.inf), -1)",
        "if mask is None:\n"
        "        return torch.softmax(scores, -1)\n"
        "    low = torch.finfo(scores.dtype).min\n"
        "    return torch.softmax(scores.masked_fill(~mask, low), -1) * mask",
    ),
)
def softmax_without_a_guard(scores, mask=None):
    return torch.softmax(scores if mask is None else scores.masked_fill(~mask, -torch.inf), -1)


@wrong("mask-inverted", kind="causal_mask", repair=("triu(1)", "tril()"))
def marks_the_future(L):
    return torch.ones(L, L, dtype=torch.bool).triu(1)


@wrong("mask-transposed", kind="causal_mask", repair=("tril(-1)", "triu(1)"))
def zeros_below(L):
    return torch.full((L, L), float("-inf")).tril(-1)


@wrong("causal-excludes-itself", kind="causal_mask")
def past_without_present(L):
    return torch.ones(L, L, dtype=torch.bool).tril(-1)


@wrong("causal-sees-next", kind="causal_mask")
def past_and_next(L):
    i = torch.arange(L)
    return i[:, None] + 1 >= i


@wrong("causal-misaligned", kind="causal_mask", repair=("tril()", "tril(S - L)"))
def from_the_top_left(L, S):
    return torch.ones(L, S, dtype=torch.bool).tril()


@wrong("future-leak", kind="causal_mask", repair=("dtype=torch.bool)", "dtype=torch.bool).tril()"))
def allows_everything(L):
    return torch.ones(L, L, dtype=torch.bool)


@wrong(
    "wrong-shape",
    kind="causal_mask",
    repair=("torch.ones(L, dtype=torch.bool)", "torch.ones(L, L, dtype=torch.bool).tril()"),
)
def one_row(L):
    return torch.ones(L, dtype=torch.bool)


@wrong("window-off-by-one", kind="causal_mask", window=3)
def four_keys(L):
    behind = torch.arange(L)[:, None] - torch.arange(L)
    return (behind >= 0) & (behind <= 3)
