"""Mistakes that show only in a second call, with a mask, in training, or with a cache."""

import math

import torch
from specimens import wrong
from torch import nn
from torch.nn import functional as F


@wrong("state-kept")
class FirstQueryOfAShape:
    def __init__(self):
        self.query = None

    def __call__(self, query, key, value):
        if self.query is None or self.query.shape != query.shape:
            self.query = query * 1.0
        return F.scaled_dot_product_attention(self.query, key, value)


@wrong("state-kept")
class FirstMaskOfAShape:
    def __init__(self):
        self.masks = {}

    def __call__(self, query, key, value, mask=None):
        scores = query @ key.mT / math.sqrt(query.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~self.masks.setdefault(tuple(mask.shape), mask.clone()), -math.inf)
        return scores.softmax(-1) @ value


@wrong("inaccurate", repair=("scores.bfloat16()", "scores"))
def rounded_softmax(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return torch.softmax(scores.bfloat16(), -1).to(value.dtype) @ value


@wrong("batch-dependent")
def scores_standardised_over_the_batch(query, key, value):
    scores = query @ key.mT
    return (scores / scores.std()).softmax(-1) @ value


@wrong("mask-wrong-sample", repair=("mask[..., :1, :]", "mask"))
def mask_of_the_first_query(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask[..., :1, :], -math.inf)
    return scores.softmax(-1) @ value


@wrong("returned-weights-wrong")
def weights_from_before_the_mask(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    weights = scores.softmax(-1)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return scores.softmax(-1) @ value, weights


@wrong("returned-weights-wrong", repair=("weights.mT", "weights"))
def weights_returned_transposed(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = scores.softmax(-1)
    return weights @ value, weights.mT


@wrong("differs")
def keys_normalised(query, key, value):
    return (query @ F.normalize(key, dim=-1).mT / math.sqrt(query.shape[-1])).softmax(-1) @ value


class _Heads(nn.Module):
    def __init__(self, d_model=12, num_heads=3):
        super().__init__()
        self.num_heads = num_heads
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model) for _ in range(4))
        self.dropout = nn.Dropout(0.1)

    def split(self, x):
        return [w(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for w in (self.w_q, self.w_k, self.w_v)]


@wrong("train-differs", kind="multi_head")
class UnscaledInTraining(_Heads):
    def forward(self, x):
        q, k, v = self.split(x)
        scores = q @ k.mT if self.training else q @ k.mT / math.sqrt(q.shape[-1])
        return self.w_o((self.dropout(scores.softmax(-1)) @ v).transpose(1, 2).flatten(2))


@wrong("heads-averaged", kind="multi_head")
class HeadsAveragedAndRepeated(_Heads):
    def forward(self, x):
        q, k, v = self.split(x)
        mean = F.scaled_dot_product_attention(q, k, v).mean(1)
        return self.w_o(mean.repeat(1, 1, self.num_heads))


@wrong("grouped-heads-tiled", kind="multi_head")
class GroupsThatDisagree(nn.Module):
    def __init__(self, dim=16, n_heads=4, n_kv_heads=2):
        super().__init__()
        self.n_heads, self.n_kv_heads = n_heads, n_kv_heads
        self.wq, self.wo = nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.wk, self.wv = (nn.Linear(dim, dim * n_kv_heads // n_heads) for _ in range(2))

    def forward(self, x):
        q = self.wq(x).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
        k, v = (w(x).unflatten(-1, (self.n_kv_heads, -1)).transpose(1, 2) for w in (self.wk, self.wv))
        group = self.n_heads // self.n_kv_heads
        k, v = k.repeat_interleave(group, dim=1), v.repeat(1, group, 1, 1)
        return self.wo(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


@wrong("missing-scale", kind="multi_head")
class BareRowsOutUnscaled(nn.Module):
    def __init__(self, d_model=10, heads=3, d_head=4):
        super().__init__()
        self.heads = heads
        shape = heads * d_head, d_model
        self.Wq, self.Wk, self.Wv = (nn.Parameter(torch.randn(shape)) for _ in range(3))
        self.Wo = nn.Parameter(torch.randn(shape[::-1]))

    def forward(self, x):
        q, k, v = (F.linear(x, w).unflatten(-1, (self.heads, -1)).transpose(1, 2) for w in (self.Wq, self.Wk, self.Wv))
        return F.linear(F.scaled_dot_product_attention(q, k, v, scale=1.0).transpose(1, 2).flatten(2), self.Wo)


class _Decoder(nn.Module):
    def __init__(self, dim=12, n_head=3):
        super().__init__()
        self.n_head = n_head
        self.c_attn, self.c_proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def split(self, x):
        return [part.unflatten(-1, (self.n_head, -1)).transpose(1, 2) for part in self.c_attn(x).chunk(3, -1)]


@wrong("cache-differs", kind="multi_head", causal=True, repair=("mask[:L, :S]", "mask[S - L : S, :S]"))
class CacheWithTheMaskFromTheStart(_Decoder):
    def forward(self, x, past=None):
        q, k, v = self.split(x)
        if past is not None:
            k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
        L, S = q.shape[2], k.shape[2]
        mask = torch.ones(64, 64, dtype=torch.bool).tril()
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:L, :S])
        return self.c_proj(out.transpose(1, 2).flatten(2)), (k, v)


@wrong("cache-differs", kind="multi_head", causal=True)
class CacheOfKeysTurnedRound(_Decoder):
    def forward(self, x, cache=None, use_cache=False):
        q, k, v = self.split(x)
        if cache is not None:
            k, v = torch.cat([k, cache["k"]], 2), torch.cat([cache["v"], v], 2)
        L, S = q.shape[2], k.shape[2]
        mask = torch.ones(L, S, dtype=torch.bool).tril(S - L)
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.c_proj(out.transpose(1, 2).flatten(2)), {"k": k, "v": v} if use_cache else None
