"""Correct implementations whose matrices, caches or positions are arranged in a way of their own."""

import math

import torch
from specimens import correct
from torch import nn
from torch.nn import functional as F


@correct()
def tensors_by_position(*tensors, mask=None):
    query, key, value = tensors
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return scores.softmax(-1) @ value


class _Fused(nn.Module):
    def __init__(self, dim=12, num_heads=3):
        super().__init__()
        self.num_heads = num_heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def attend(self, q, k, v, **options):
        return self.proj(F.scaled_dot_product_attention(q, k, v, **options).transpose(1, 2).flatten(2))


@correct("multi_head")
class PartsInnermost(_Fused):
    def forward(self, x):
        parts = self.qkv(x).unflatten(-1, (self.num_heads, -1, 3))  # (B, L, H, d_head, 3)
        return self.attend(*parts.permute(4, 0, 2, 1, 3))


@correct("multi_head")
class KeyFirstInEveryHead(_Fused):
    def forward(self, x):
        parts = self.qkv(x).unflatten(-1, (self.num_heads, 3, -1))  # (B, L, H, 3, d_head)
        key, query, value = parts.permute(3, 0, 2, 1, 4)
        return self.attend(query, key, value)


@correct("multi_head")
class KeyValueQuery(nn.Module):
    def __init__(self, dim=12, heads=4):
        super().__init__()
        self.heads = heads
        self.kvq = nn.Linear(dim, 3 * dim, bias=False)
        self.out = nn.Linear(dim, dim)

    def forward(self, x):
        k, v, q = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.kvq(x).chunk(3, -1))
        return self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


class _OwnLinear(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(d_out, d_in) / d_in**0.5)
        self.bias = nn.Parameter(torch.zeros(d_out))

    def forward(self, x):
        return x @ self.weight.T + self.bias


@correct("multi_head")
class LinearOfItsOwn(nn.Module):
    def __init__(self, d_model=10, heads=3, d_head=4):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v = (_OwnLinear(d_model, heads * d_head) for _ in range(3))
        self.o = _OwnLinear(heads * d_head, d_model)

    def forward(self, x):
        q, k, v = (f(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for f in (self.q, self.k, self.v))
        return self.o(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


@correct("multi_head")
class BareRowsOut(nn.Module):
    def __init__(self, d_model=10, heads=3, d_head=4):
        super().__init__()
        self.heads = heads
        shape = heads * d_head, d_model
        self.Wq, self.Wk, self.Wv = (nn.Parameter(torch.randn(shape)) for _ in range(3))
        self.Wo = nn.Parameter(torch.randn(shape[::-1]))

    def forward(self, x):
        q, k, v = (F.linear(x, w).unflatten(-1, (self.heads, -1)).transpose(1, 2) for w in (self.Wq, self.Wk, self.Wv))
        return F.linear(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2), self.Wo)


class _ToBeScripted(nn.Module):
    def __init__(self, d_in: int = 8, d_out: int = 6):
        super().__init__()
        self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, bias=False) for _ in range(3))

    def forward(self, x):
        query, key, value = self.W_query(x), self.W_key(x), self.W_value(x)
        return torch.softmax(query @ key.transpose(-2, -1) / key.shape[-1] ** 0.5, -1) @ value


@correct("multi_head")
class ScriptedInside(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = torch.jit.script(_ToBeScripted())

    def forward(self, x):
        return self.attention(x)


class _Rotating(_Fused):
    base, share = 10_000.0, 1.0

    def __init__(self):
        super().__init__(16, 2)

    def turn(self, x):
        d = int(self.share * x.shape[-1])
        rates = self.base ** (-torch.arange(0, d, 2, dtype=x.dtype) / d)
        angles = torch.arange(x.shape[-2], dtype=x.dtype)[:, None] * rates
        cos, sin = torch.cat([angles, angles], -1).cos(), torch.cat([angles, angles], -1).sin()
        turning, kept = x[..., :d], x[..., d:]
        crossed = torch.cat([-turning[..., d // 2 :], turning[..., : d // 2]], -1)
        return torch.cat([turning * cos + crossed * sin, kept], -1)

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        return self.attend(self.turn(q), self.turn(k), v, is_causal=True)


@correct("multi_head", causal=True, variants=("rotary",))
class RotaryWithALargeBase(_Rotating):
    base = 500_000.0


@correct("multi_head", causal=True, variants=("rotary",))
class RotaryOnHalfTheWidth(_Rotating):
    share = 0.5


@correct("multi_head", causal=True)
class DecoderWithACache(_Fused):
    def forward(self, x, past=None):
        q, k, v = (part.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        if past is not None:
            k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
        L, S = q.shape[2], k.shape[2]
        return self.attend(q, k, v, attn_mask=torch.ones(L, S, dtype=torch.bool).tril(S - L)), (k, v)


@correct()
def returns_masked_weights(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = scores.softmax(-1)
    return {"weights": weights, "output": weights @ value}
