"""Rarer mistakes: flags that do nothing, masks of the wrong sequence, lengths off by one, factors that slip in late."""

import math

import torch
from specimens import wrong
from torch import nn
from torch.nn import functional as F

# Masks.


@wrong("length-off-by-one", repair=("<= valid_lens", "< valid_lens"))
def length_included(queries, keys, values, valid_lens=None):
    scores = torch.bmm(queries, keys.transpose(1, 2)) / math.sqrt(queries.shape[-1])
    if valid_lens is not None:
        valid = torch.arange(keys.shape[1]) <= valid_lens[:, None, None]
        scores = scores.masked_fill(~valid, -1e6)
    return torch.bmm(F.softmax(scores, dim=-1), values)


@wrong("mask-transposed")
def lengths_hide_queries(queries, keys, values, valid_lens=None):
    scores = torch.bmm(queries, keys.transpose(1, 2)) / math.sqrt(queries.shape[-1])
    if valid_lens is not None:
        rows = torch.arange(queries.shape[1])[None, :, None] < valid_lens[:, None, None]
        scores = scores.masked_fill(~rows, -1e6)
    return torch.bmm(F.softmax(scores, dim=-1), values)


@wrong("mask-transposed", repair=(
    "mask.expand(scores.shape).transpose(-1, -2)", "mask.expand(scores.shape)"))  # fmt: skip
def transposed_where_that_fits(query, key, value, mask=None):
    scores = query @ key.transpose(-1, -2) / math.sqrt(query.size(-1))
    if mask is not None and scores.shape[-1] == scores.shape[-2]:
        mask = mask.expand(scores.shape).transpose(-1, -2)
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    return scores.softmax(-1) @ value


@wrong("mask-wrong-sample", repair=("mask[0]", "mask"))
def first_mask_for_all(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask[0] if mask.ndim > 2 else ~mask, -1e9)
    return scores.softmax(-1) @ value


@wrong("mask-wrong-sample", kind="multi_head")
class FirstMaskForAll(nn.Module):
    def __init__(self, d_model=12, num_heads=3):
        super().__init__()
        self.h = num_heads
        self.qkv, self.proj = nn.Linear(d_model, 3 * d_model), nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        q, k, v = (part.unflatten(-1, (self.h, -1)).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask[0], -1e9)
        return self.proj((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


@wrong("mask-fill-weak", repair=("5 * (~mask)", "1e9 * (~mask)"))
def five_less(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores - 5 * (~mask)
    return scores.softmax(-1) @ value


@wrong("mask-fill-weak", causal=True)
def future_at_minus_three(query, key, value):
    L, S = query.size(-2), key.size(-2)
    past = torch.ones(L, S, dtype=torch.bool).tril(S - L)
    return (query @ key.mT / math.sqrt(query.size(-1))).masked_fill(~past, -3.0).softmax(-1) @ value


@wrong("mutates-input", repair=("mask.logical_not_()", "mask = ~mask"))
def turns_the_callers_mask(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.size(-1))
    if mask is not None:
        mask.logical_not_()
        scores = scores.masked_fill(mask, -torch.inf)
    return scores.softmax(-1) @ value


# Flags.


@wrong("future-leak", repair=("scores.masked_fill(", "scores = scores.masked_fill("))
def flag_without_effect(query, key, value, causal=False):
    scores = query @ key.mT / math.sqrt(query.size(-1))
    if causal:
        scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1 + key.size(-2) - query.size(-2)), -math.inf)
    return scores.softmax(-1) @ value


@wrong("causal-misaligned", strict=True, repair=("tril()", "tril(key.size(-2) - query.size(-2))"))
def flag_aligned_top_left(query, key, value, is_causal=False):
    scores = query @ key.mT / math.sqrt(query.size(-1))
    if is_causal:
        scores = scores.masked_fill(~torch.ones_like(scores, dtype=torch.bool).tril(), -math.inf)
    return scores.softmax(-1) @ value


@wrong("window-off-by-one")
def window_of_its_own(query, key, value, window=3):
    L, S = query.size(-2), key.size(-2)
    behind = torch.arange(S - L, S)[:, None] - torch.arange(S)
    return F.scaled_dot_product_attention(query, key, value, (behind >= 0) & (behind <= window))


# Weights.


@wrong(
    "softmax-wrong-axis", repair=("scores.max()", "scores.amax(-1, keepdim=True)", "e.sum()", "e.sum(-1, keepdim=True)")
)
def one_sum_for_everything(query, key, value):
    scores = query @ key.mT / math.sqrt(query.size(-1))
    e = torch.exp(scores - scores.max())
    return e / e.sum() @ value


@wrong("unnormalised-weights", repair=(") @ value", ").softmax(-1) @ value", "torch.exp", ""))
def shifted_exponentials(query, key, value):
    scores = query @ key.mT / math.sqrt(query.size(-1))
    return torch.exp(scores - scores.amax(-1, keepdim=True)) @ value


@wrong("missing-scale", "unnormalised-weights")
def scaled_too_late(query, key, value):
    return torch.softmax(query @ key.mT, -1) / math.sqrt(query.size(-1)) @ value


@wrong(
    "wrong-normalisation",
    repair=("F.softplus(scores) / F.softplus(scores).sum(-1, keepdim=True)", "scores.softmax(-1)"),
)
def softplus_shares(query, key, value):
    scores = query @ key.mT / math.sqrt(query.size(-1))
    return F.softplus(scores) / F.softplus(scores).sum(-1, keepdim=True) @ value


@wrong("wrong-normalisation")
def two_best_only(query, key, value):
    scores = query @ key.mT / math.sqrt(query.size(-1))
    second = scores.topk(2, dim=-1).values[..., -1:]
    return scores.masked_fill(scores < second, -math.inf).softmax(-1) @ value


@wrong("softmax-wrong-axis", kind="multi_head", causal=True)
class CausalOverTheBatch(nn.Module):
    def __init__(self, d_model=12, num_heads=3):
        super().__init__()
        self.num_heads = num_heads
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, x):
        q, k, v = (w(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for w in (self.w_q, self.w_k, self.w_v))
        future = torch.ones(x.size(1), x.size(1), dtype=torch.bool).triu(1)
        scores = (q @ k.mT / math.sqrt(q.size(-1))).masked_fill(future, -math.inf)
        return self.w_o((torch.softmax(scores, dim=0) @ v).transpose(1, 2).flatten(2))  # NaN but for the last token


# Axes, inputs, biases.


@wrong("wrong-heads")
def heads_after_length(query, key, value):
    weights = torch.einsum("blhd,bshd->bhls", query, key).div(math.sqrt(query.size(-1))).softmax(-1)
    return torch.einsum("bhls,bshd->blhd", weights, value)


@wrong("batch-first-swapped")
def length_first(query, key, value):
    q, k, v = (tensor.transpose(0, 1) for tensor in (query, key, value))
    if q.ndim != 3 or len(q) != len(k):
        raise ValueError("three axes and equal lengths, please")
    return F.scaled_dot_product_attention(q, k, v).transpose(0, 1)


@wrong("adds-residual")
def adds_where_it_fits(query, key, value):
    output = F.scaled_dot_product_attention(query, key, value)
    return output + query if output.shape == query.shape else output


class _Projections(nn.Module):
    def __init__(self, d_model=12, num_heads=3):
        super().__init__()
        self.num_heads = num_heads
        self.query, self.key, self.value, self.out = (nn.Linear(d_model, d_model) for _ in range(4))

    def attend(self, q, k, v):
        q, k, v = (part.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for part in (q, k, v))
        return self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


@wrong("input-mixed-up", kind="multi_head")
class AsksTheMemory(_Projections):
    def forward(self, x, memory):
        return self.attend(self.query(memory), self.key(x), self.value(x))


@wrong("input-mixed-up", kind="multi_head", repair=(
    "self.key(query), self.value(query)", "self.key(key), self.value(value)"))  # fmt: skip
class LooksAtItself(_Projections):
    def forward(self, query, key, value):
        return self.attend(self.query(query), self.key(query), self.value(query))


@wrong("missing-bias", kind="multi_head")
class WeightsWithoutBiases(_Projections):
    def forward(self, x):
        return self.attend(*(x @ layer.weight.T for layer in (self.query, self.key, self.value)))


@wrong("state-kept")
class GrowsItsKeys:
    def __init__(self):
        self.key = self.value = None

    def __call__(self, query, key, value):
        if self.key is not None and self.key.shape[:-2] == key.shape[:-2] and self.key.shape[-1] == key.shape[-1]:
            key, value = torch.cat([self.key, key], -2), torch.cat([self.value, value], -2)
        self.key, self.value = key, value
        return F.scaled_dot_product_attention(query, key, value)


@wrong("batch-dependent", kind="multi_head")
class CentredQueries(_Projections):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(12)

    def forward(self, x):
        query = self.query(x)
        return self.attend(query - query.mean(0, keepdim=True), self.key(x), self.value(x))
