"""Two and three mistakes at once: all of them must be named."""

import math

import torch
from specimens import wrong
from torch import nn
from torch.nn import functional as F


@wrong("missing-scale", "mask-inverted")
def unscaled_and_inverted(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(mask, float("-inf"))
    return torch.softmax(scores, dim=-1) @ value


@wrong("scale-by-d", "softmax-over-queries", "mask-fill-zero")
def three_at_once(query, key, value, mask=None):
    scores = query @ key.mT / query.shape[-1]
    if mask is not None:
        scores = scores * mask
    return torch.softmax(scores, dim=-2) @ value


@wrong("missing-scale", "softmax-over-queries", "value-from-key")
def nothing_right(query, key, value):
    return torch.softmax(query @ key.mT, dim=-2) @ key


@wrong("double-softmax", "padding-ignored")
def flat_and_unmasked(query, key, value, mask=None):
    return F.softmax(F.softmax(query @ key.mT / query.shape[-1] ** 0.5, -1), -1) @ value


@wrong("softmax-unstable", "gradient-cut")
def unstable_and_cut(query, key, value):
    e = torch.exp(query @ key.detach().mT / query.shape[-1] ** 0.5)
    return e / e.sum(-1, keepdim=True) @ value


@wrong("mutates-input", "missing-scale")
def in_place_and_unscaled(query, key, value, mask=None):
    scores = query @ key.mT
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    key.mul_(2)
    return scores.softmax(-1) @ value


@wrong("mask-after-softmax", "dropout-in-eval")
def late_mask_and_dropout(query, key, value, mask=None):
    weights = F.dropout(torch.softmax(query @ key.mT / query.shape[-1] ** 0.5, -1), 0.3)
    if mask is not None:
        weights = weights * mask
    return weights @ value


@wrong("causal-sees-next", "missing-scale", causal=True)
def peeks_and_saturates(q, k, v):
    L = q.shape[-2]
    return (q @ k.mT).masked_fill(torch.ones(L, L, dtype=torch.bool).triu(2), -1e9).softmax(-1) @ v


class _Heads(nn.Module):
    def __init__(self, d=12, heads=3):
        super().__init__()
        self.heads = heads
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(d, d) for _ in range(4))


@wrong("split-without-transpose", "missing-scale", kind="multi_head")
class MixedTokensUnscaled(_Heads):
    def forward(self, x):
        B, L, D = x.shape
        q, k, v = (w(x).reshape(B, self.heads, L, -1) for w in (self.wq, self.wk, self.wv))
        return self.wo(((q @ k.mT).softmax(-1) @ v).transpose(1, 2).reshape(B, L, D))


@wrong("merge-without-transpose", "missing-output-projection", "missing-scale", kind="multi_head")
class ThreeInOneLayer(_Heads):
    def forward(self, x):
        B, L, D = x.shape
        q, k, v = (w(x).reshape(B, L, self.heads, -1).transpose(1, 2) for w in (self.wq, self.wk, self.wv))
        return ((q @ k.mT).softmax(-1) @ v).reshape(B, L, D)


@wrong("merge-without-transpose", "future-leak", kind="multi_head", causal=True)
class LeakyDecoder(_Heads):
    def forward(self, x):
        B, L, D = x.shape
        q, k, v = (w(x).reshape(B, L, self.heads, -1).transpose(1, 2) for w in (self.wq, self.wk, self.wv))
        return self.wo(((q @ k.mT / math.sqrt(q.size(-1))).softmax(-1) @ v).reshape(B, L, D))


@wrong("value-from-key", "softmax-over-queries", kind="multi_head")
class KeysMixedOverQueries(_Heads):
    def forward(self, x, mask=None):
        B, L, D = x.shape
        q, k, v = (w(x).reshape(B, L, self.heads, -1).transpose(1, 2) for w in (self.wq, self.wk, self.wk))
        scores = q @ k.mT / math.sqrt(q.size(-1))
        if mask is not None:
            scores = scores.masked_fill(~mask, -1e9)
        return self.wo((scores.softmax(-2) @ v).transpose(1, 2).reshape(B, L, D))
