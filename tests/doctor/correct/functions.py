"""Correct attention functions, in as many styles as there are."""

import math

import numpy as np
import torch
from specimens import correct
from torch import Tensor, einsum, nn
from torch.nn import functional as F

import attention_lib


@correct()
def ours(query, key, value, mask=None):
    return attention_lib.attention(query, key, value, mask, need_weights=True)


@correct()
def three_lines(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    scores = scores if mask is None else scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1) @ value


@correct()
def annotated(query, key, value, mask=None, dropout=None):
    d_k = query.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    p_attn = scores.softmax(dim=-1)
    if dropout is not None:
        p_attn = dropout(p_attn)
    return torch.matmul(p_attn, value), p_attn


@correct()
def fused(query, key, value, attn_mask=None):
    return F.scaled_dot_product_attention(query, key, value, attn_mask=attn_mask)


@correct()
def einsum_letters(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    logits = einsum("...qd,...kd->...qk", q, k) * q.shape[-1] ** -0.5
    if mask is not None:
        logits = torch.where(mask.to(torch.bool), logits, torch.full_like(logits, -torch.inf))
    return einsum("...qk,...kd->...qd", logits.softmax(-1), v)


@correct()
def loops(query, key, value, mask=None):
    B, L, d = query.shape
    S = key.shape[1]
    if mask is not None:
        mask = mask.expand(B, L, S)
    output = query.new_zeros(B, L, value.shape[2])
    for b in range(B):
        for i in range(L):
            scores = [float((query[b, i] * key[b, j]).sum()) / d**0.5 for j in range(S)]
            kept = [j for j in range(S) if mask is None or bool(mask[b, i, j])]
            if not kept:
                continue
            top = max(scores[j] for j in kept)
            weights = {j: math.exp(scores[j] - top) for j in kept}
            for j in kept:
                output[b, i] += weights[j] / sum(weights.values()) * value[b, j]
    return output


@correct()
def half_loops(query, key, value):
    rows = []
    for q, k, v in zip(query.flatten(0, -3), key.flatten(0, -3), value.flatten(0, -3), strict=True):
        rows.append(torch.stack([torch.softmax(k @ one / math.sqrt(len(one)), 0) @ v for one in q]))
    return torch.stack(rows).view(*query.shape[:-1], value.shape[-1])


@correct()
def online_softmax(query, key, value, mask=None):
    scale = query.shape[-1] ** -0.5
    shape = (*query.shape[:-1], 1)
    top, total = query.new_full(shape, -1e30), query.new_zeros(shape)
    output = query.new_zeros(*query.shape[:-1], value.shape[-1])
    for j in range(key.shape[-2]):
        score = (query * key[..., j : j + 1, :]).sum(-1, keepdim=True) * scale
        if mask is not None:
            allowed = mask[..., j : j + 1].expand_as(score)
            score = score.masked_fill(~allowed, -1e30)
        higher = torch.maximum(top, score)
        shrink, weight = torch.exp(top - higher), torch.exp(score - higher)
        if mask is not None:
            weight = weight * allowed
        output = output * shrink + weight * value[..., j : j + 1, :]
        total, top = total * shrink + weight, higher
    return output / total.clamp_min(1e-30)


@correct()
def blocks_of_four(query, key, value):
    outputs, tops, totals = [], [], []
    for k, v in zip(key.split(4, dim=-2), value.split(4, dim=-2), strict=True):
        scores = query @ k.transpose(-2, -1) / math.sqrt(query.size(-1))
        top = scores.amax(-1, keepdim=True)
        e = torch.exp(scores - top)
        outputs.append(e @ v)
        totals.append(e.sum(-1, keepdim=True))
        tops.append(top)
    most = torch.stack(tops).amax(0)
    parts = [torch.exp(top - most) for top in tops]
    return sum(p * o for p, o in zip(parts, outputs, strict=True)) / sum(
        p * t for p, t in zip(parts, totals, strict=True)
    )


@correct()
def rows_of_queries(query, key, value, mask=None):
    parts = []
    for start in range(0, query.shape[-2], 2):
        rows = slice(start, start + 2)
        part = mask if mask is None or mask.shape[-2] == 1 else mask[..., rows, :]
        parts.append(F.scaled_dot_product_attention(query[..., rows, :], key, value, part))
    return torch.cat(parts, dim=-2)


@correct()
def vectorised_map(query, key, value):
    def one(q, k, v):
        return torch.softmax(k @ q * q.shape[-1] ** -0.5, dim=0) @ v

    over_queries = torch.vmap(one, in_dims=(0, None, None))
    mapped = over_queries
    for _ in range(query.dim() - 2):
        mapped = torch.vmap(mapped)
    return mapped(query, key, value)


@correct()
def sums_and_broadcasts(query, key, value, mask=None):
    products = query.unsqueeze(-2) * key.unsqueeze(-3)
    scores = products.sum(-1).div(query.size(-1) ** 0.5)
    if mask is not None:
        scores = scores - 1e30 * (1 - mask.to(scores.dtype))
    weights = (scores - scores.max(-1, keepdim=True).values).exp()
    weights = weights / weights.sum(-1, keepdim=True)
    return (weights.unsqueeze(-1) * value.unsqueeze(-3)).sum(-2)


@correct()
def batched_matrix_products(Q, K, V, mask=None):
    scores = torch.bmm(Q, K.transpose(1, 2)) / K.shape[2] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask.logical_not(), -1e20)
    weights = nn.Softmax(dim=2)(scores)
    return torch.bmm(weights, V), weights


@correct()
def without_heads_or_batch(query, key, value):
    if query.dim() != 2:
        raise ValueError("two axes only")
    return torch.softmax(query @ key.T / math.sqrt(query.shape[1]), dim=1) @ value


@correct()
def scaled_on_both_sides(query, key, value):
    root = query.shape[-1] ** 0.25
    return torch.softmax((query / root) @ (key / root).mT, -1) @ value


@correct()
def in_logarithms(query, key, value, mask=None):
    scores = query @ key.mT / query.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e30)
    return torch.exp(scores - torch.logsumexp(scores, -1, keepdim=True)) @ value


@correct()
def zero_rows(query, key, value, mask=None):
    scores = query @ key.mT / query.shape[-1] ** 0.5
    if mask is None:
        return scores.softmax(-1) @ value
    weights = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1)
    return weights.masked_fill(~mask, 0.0) @ value


@correct()
def masked_then_renormalised(query, key, value, mask=None):
    weights = torch.softmax(query @ key.mT / query.shape[-1] ** 0.5, -1)
    if mask is not None:
        weights = weights * mask
        weights = weights / weights.sum(-1, keepdim=True)
    return weights @ value


@correct()
def wants_numbers(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-1, -2)) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores + (1.0 - mask) * -10000.0
    return torch.matmul(torch.softmax(scores, dim=-1), value)


@correct()
def keyword_names(*, xq, xk, xv, attention_mask=None):
    return F.scaled_dot_product_attention(xq, xk, xv, attention_mask)


@correct()
def values_come_first(values, keys, query, mask=None):
    energy = torch.einsum("...qd,...kd->...qk", query, keys)
    if mask is not None:
        energy = energy.masked_fill(mask == 0, float("-1e20"))
    return torch.einsum("...ql,...ld->...qd", torch.softmax(energy / query.shape[-1] ** 0.5, -1), values)


@correct()
def asks_for_the_width(q, k, v, d_k, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(d_k)
    return (scores if mask is None else scores.masked_fill(~mask, -1e9)).softmax(-1) @ v


@correct()
def returns_a_dictionary(query, key, value, mask=None):
    output, weights = attention_lib.attention(query, key, value, mask, need_weights=True)
    return {"attn": weights, "output": output}


@correct()
def weights_first(query, key, value):
    weights = torch.softmax(query @ key.mT / query.shape[-1] ** 0.5, -1)
    return weights, weights @ value


@correct()
def prints_a_lot(query, key, value, mask=None):
    print("query", query.shape, "key", key.shape)
    return F.scaled_dot_product_attention(query, key, value, mask)


@correct()
def double_only(query, key, value, mask=None):
    if query.dtype != torch.float64:
        raise TypeError("float64 only")
    return F.scaled_dot_product_attention(query, key, value, mask)


@correct()
def single_only(query, key, value):
    factor = torch.tensor(query.shape[-1] ** -0.5, dtype=torch.float32)
    return torch.bmm(torch.softmax(torch.bmm(query, key.mT) * factor, -1), value.to(torch.float32))


@correct()
def softmax_in_single(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) * query.shape[-1] ** -0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return F.softmax(scores, dim=-1, dtype=torch.float32).to(query.dtype) @ value


@correct()
def complex_reshapes(query, key, value):
    lead, L, d = query.shape[:-2], query.shape[-2], query.shape[-1]
    q, k, v = (t.reshape(-1, t.shape[-2], t.shape[-1]).permute(1, 2, 0) for t in (query, key, value))
    scores = torch.einsum("ldn,sdn->nls", q, k) / np.sqrt(d)
    mixed = torch.einsum("nls,scn->lcn", scores.softmax(2), v)
    return mixed.permute(2, 0, 1).reshape(*lead, L, value.shape[-1])


@correct()
def one_head_at_a_time(query, key, value, mask=None):
    def one(q, k, v, m):
        return torch.softmax((q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~m, -torch.inf), -1) @ v

    B, H, L, S = *query.shape[:3], key.shape[2]
    mask = torch.ones(1, 1, L, S, dtype=torch.bool) if mask is None else mask
    mask = mask.expand(B, H, L, S)
    heads = [one(query[:, h], key[:, h], value[:, h], mask[:, h]) for h in range(H)]
    return torch.stack(heads, dim=1)


@correct()
def autograd_by_hand(query, key, value):
    return _Attention.apply(query, key, value)


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v):
        p = torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, -1)
        ctx.save_for_backward(q, k, v, p)
        return p @ v

    @staticmethod
    def backward(ctx, g):
        q, k, v, p = ctx.saved_tensors
        dp = g @ v.mT
        ds = p * (dp - (dp * p).sum(-1, keepdim=True)) / q.shape[-1] ** 0.5
        return ds @ k, ds.mT @ q, p.mT @ g


@correct(mask="blocked")
def true_means_blocked(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask, float("-inf"))
    return torch.softmax(scores, dim=-1) @ value


@correct(mask="additive")
def adds_its_mask(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores + mask
    return torch.softmax(scores, dim=-1) @ value


@correct(mask="additive")
def adds_a_bias(query, key, value, attn_bias=None):
    return F.scaled_dot_product_attention(query, key, value, attn_mask=attn_bias)


@correct()
class ScaledDotProduct(nn.Module):
    def __init__(self, dropout=0.1):
        super().__init__()
        self.dropout = nn.Dropout(dropout)

    def forward(self, q, k, v, mask=None):
        attn = torch.matmul(q / q.size(-1) ** 0.5, k.transpose(-2, -1))
        if mask is not None:
            attn = attn.masked_fill(mask == 0, -1e9)
        attn = self.dropout(F.softmax(attn, dim=-1))
        return torch.matmul(attn, v), attn


@correct()
class WithValidLengths(nn.Module):
    def __init__(self):
        super().__init__()
        self.dropout = nn.Dropout(0.0)

    def forward(self, queries, keys, values, valid_lens=None):
        scores = torch.bmm(queries, keys.transpose(1, 2)) / math.sqrt(queries.shape[-1])
        if valid_lens is not None:
            allowed = torch.arange(keys.shape[1])[None, None, :] < valid_lens.reshape(-1, 1, 1)
            scores = scores.masked_fill(~allowed, -1e6)
        return torch.bmm(self.dropout(F.softmax(scores, dim=-1)), values)


@correct(causal=True)
def causal_bottom_right(query, key, value):
    L, S = query.size(-2), key.size(-2)
    allowed = torch.ones(L, S, dtype=torch.bool).tril(S - L)
    return F.scaled_dot_product_attention(query, key, value, attn_mask=allowed)


@correct(causal=True)
def causal_by_argument(query, key, value, mask=None, causal=False):
    return attention_lib.attention(query, key, value, mask, causal=causal).output


@correct(causal=True)
def causal_self_only(q, k, v):
    L = q.size(-2)
    blocked = torch.triu(torch.full((L, L), float("-inf"), dtype=q.dtype), 1)
    return torch.softmax(q @ k.mT / math.sqrt(q.size(-1)) + blocked, -1) @ v


@correct(causal=True, window=3)
def window_of_three(q, k, v, window=3):
    behind = torch.arange(q.size(-2))[:, None] - torch.arange(q.size(-2))
    allowed = (behind >= 0) & (behind < window)
    return (q @ k.mT / q.size(-1) ** 0.5).masked_fill(~allowed, -1e9).softmax(-1) @ v


@correct(scale=1.0)
def unscaled_on_purpose(query, key, value):
    return torch.softmax(query @ key.mT, -1) @ value


@correct(variants=("cosine",))
def cosine(query, key, value):
    return torch.softmax(12.5 * F.normalize(query, dim=-1) @ F.normalize(key, dim=-1).mT, -1) @ value


@correct(variants=("softcap",))
def capped(query, key, value):
    scores = query @ key.mT / query.shape[-1] ** 0.5
    return torch.softmax(20.0 * torch.tanh(scores / 20.0), -1) @ value


@correct(variants=("sigmoid",))
def sigmoid_gates(query, key, value):
    scores = query @ key.mT / query.shape[-1] ** 0.5
    return torch.sigmoid(scores - math.log(key.shape[-2])) @ value


@correct(variants=("sink",))
def softmax_with_a_sink(query, key, value):
    scores = query @ key.mT / query.shape[-1] ** 0.5
    return F.pad(scores, (1, 0)).softmax(-1)[..., 1:] @ value


@correct(variants=("alibi",))
def alibi(query, key, value):
    H, L = query.shape[1:3]
    slopes = torch.tensor([2.0 ** (-8.0 * (h + 1) / H) for h in range(H)], dtype=query.dtype)[:, None, None]
    apart = (torch.arange(L)[:, None] - torch.arange(key.shape[2])).abs()
    if key.shape[2] != L:
        raise ValueError("self-attention only")
    return torch.softmax(query @ key.mT / query.shape[-1] ** 0.5 - slopes * apart, -1) @ value


@correct(variants=("rotary",))
def rotary(q, k, v):
    def turn(x):
        half = x.shape[-1] // 2
        rates = 10000.0 ** (-torch.arange(half, dtype=x.dtype) / half)
        angles = torch.arange(x.shape[-2], dtype=x.dtype)[:, None] * rates
        a, b = x[..., :half], x[..., half:]
        return torch.cat([a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()], -1)

    return F.scaled_dot_product_attention(turn(q), turn(k), v)


@correct(variants=("distance",))
def negative_squared_distance(query, key, value):
    squared = (query.unsqueeze(-2) - key.unsqueeze(-3)).square().sum(-1)
    return torch.softmax(-0.5 * squared / query.shape[-1] ** 0.5, -1) @ value


@correct("softmax")
def shifted_softmax(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    e = torch.exp(scores - scores.max(dim=-1, keepdim=True).values)
    return e / e.sum(dim=-1, keepdim=True)


@correct("softmax")
def plain_softmax(x):
    return nn.Softmax(-1)(x)


@correct("causal_mask")
def lower_triangle(L):
    return torch.tril(torch.ones(L, L)) == 1


@correct("causal_mask")
def by_positions(L, S=None):
    S = S or L
    return torch.arange(S)[None] <= torch.arange(S - L, S)[:, None]


@correct("causal_mask")
def additive_triangle(size):
    return torch.triu(torch.full((size, size), float("-inf")), diagonal=1)


@correct("causal_mask")
def with_leading_axes(L):
    return torch.tril(torch.ones(1, 1, L, L)).bool()


@correct("causal_mask", mask="blocked")
def torch_convention(L):
    return torch.triu(torch.ones(L, L, dtype=torch.bool), diagonal=1)


@correct("split_heads")
def unflattened(x, num_heads):
    return x.unflatten(-1, (num_heads, -1)).movedim(-2, 1)


@correct("split_heads")
def stacked_chunks(x, num_heads):
    return torch.stack(x.chunk(num_heads, dim=-1), dim=1)


@correct("split_heads")
def into_the_batch(X, num_heads):
    X = X.reshape(X.shape[0], X.shape[1], num_heads, -1).permute(0, 2, 1, 3)
    return X.reshape(-1, X.shape[2], X.shape[3])


@correct("merge_heads")
def concatenated(x):
    return torch.cat(x.unbind(1), dim=-1)


@correct("merge_heads")
def permuted(x):
    B, H, L, d = x.size()
    return x.permute(0, 2, 1, 3).contiguous().view(B, L, H * d)


@correct()
def wants_its_mask(query, key, value, mask):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    return torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1) @ value


@correct()
def wants_its_lengths(q, k, v, valid_lens):
    scores = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(q.size(-1))
    far = torch.arange(k.size(1))[None, None] >= valid_lens[:, None, None]
    return torch.bmm(torch.softmax(scores.masked_fill(far, -1e6), dim=-1), v)


@correct(mask="additive")
def wants_its_bias(query, key, value, bias):
    return torch.softmax(query @ key.transpose(-2, -1) / math.sqrt(query.size(-1)) + bias, dim=-1) @ value


@correct(kind="softmax")
def softmax_that_wants_its_mask(scores, mask):
    return torch.softmax(scores.masked_fill(mask == 0, -1e9), dim=-1)
