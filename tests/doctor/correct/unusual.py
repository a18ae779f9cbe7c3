"""Correct implementations in rarer styles: reparametrised, unnamed, features before places, heads nobody counts."""

import math

import torch
from specimens import correct
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import parametrizations


@correct()
def keywords_only(**given):
    return F.scaled_dot_product_attention(given["query"], given["key"], given["value"])


@correct()
def flag_that_works(query, key, value, causal=False):
    scores = query @ key.mT / math.sqrt(query.size(-1))
    if causal:
        future = torch.ones_like(scores, dtype=torch.bool).triu(1 + key.size(-2) - query.size(-2))
        scores = scores.masked_fill(future, -math.inf)
    return scores.softmax(-1) @ value


@correct()
def flag_of_torch(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False):
    return F.scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal)


@correct(variants=("linear",))
def linear(query, key, value):
    q, k = F.elu(query) + 1, F.elu(key) + 1
    return q @ (k.mT @ value) / (q @ k.sum(-2, keepdim=True).mT)


class _Four(nn.Module):
    def __init__(self, d_model=12, num_heads=3):
        super().__init__()
        self.num_heads = num_heads
        self.query, self.key, self.value, self.out = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, x, mask=None):
        parts = (layer(x) for layer in (self.query, self.key, self.value))
        q, k, v = (part.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for part in parts)
        self.weights = (q @ k.mT / math.sqrt(q.size(-1))).softmax(-1)
        return self.out((self.weights @ v).transpose(1, 2).flatten(2))


@correct("multi_head")
class NormedWeights(_Four):
    def __init__(self):
        super().__init__()
        self.query = parametrizations.weight_norm(self.query)
        self.key = parametrizations.spectral_norm(self.key)
        self.value = parametrizations.orthogonal(self.value)

    def forward(self, x):
        return super().forward(x)


@correct("multi_head")
class LowRank(_Four):
    def __init__(self):
        super().__init__()
        self.query = nn.Sequential(nn.Linear(12, 5, bias=False), nn.Linear(5, 12))

    def forward(self, x):
        return super().forward(x)


class _Adapted(nn.Module):
    def __init__(self):
        super().__init__()
        self.base, self.down, self.up = nn.Linear(12, 12), nn.Linear(12, 2, bias=False), nn.Linear(2, 12, bias=False)

    def forward(self, x):
        return self.base(x) + 2 * self.up(self.down(x))


@correct("multi_head")
class WithAdapters(_Four):
    def __init__(self):
        super().__init__()
        self.query, self.value = _Adapted(), _Adapted()

    def forward(self, x):
        return super().forward(x)


@correct("multi_head")
class UsedBefore(_Four):
    """Keeps the weights of an earlier call, graph and all."""

    def __init__(self):
        super().__init__()
        with torch.enable_grad():
            self(torch.zeros(2, 4, 12, requires_grad=True))

    def forward(self, x):
        return super().forward(x)


@correct("multi_head")
class PadsWithZeros(nn.Module):
    def __init__(self, d_model=12, heads=3):
        super().__init__()
        self.heads, self.qkv, self.o = heads, nn.Linear(d_model, 3 * d_model), nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        keys = None if mask is None else mask[:, None, None].bool()
        output = self.o(F.scaled_dot_product_attention(q, k, v, keys).transpose(1, 2).flatten(2))
        return output if mask is None else output * mask[..., None]


@correct("multi_head")
class HeadsLastInEinsum(nn.Module):
    def __init__(self, d_model=12, H=3):
        super().__init__()
        shape = (d_model, H, d_model // H)
        self.wq, self.wk, self.wv = (nn.Parameter(torch.randn(shape) / 4) for _ in range(3))
        self.wo = nn.Parameter(torch.randn(H, d_model // H, d_model) / 4)

    def forward(self, x):
        q, k, v = (torch.einsum("btd,dhk->bthk", x, w) for w in (self.wq, self.wk, self.wv))
        weights = (torch.einsum("bthk,bshk->bhts", q, k) / math.sqrt(q.shape[-1])).softmax(-1)
        return torch.einsum("bhts,bshk,hkd->btd", weights, v, self.wo)


@correct("multi_head")
class HeadsFirstInEinsum(nn.Module):
    def __init__(self, d_model=12, H=3):
        super().__init__()
        self.wq, self.wk, self.wv = (nn.Parameter(torch.randn(H, d_model, d_model // H) / 4) for _ in range(3))
        self.wo = nn.Parameter(torch.randn(H, d_model // H, d_model) / 4)

    def forward(self, x):
        q, k, v = (torch.einsum("btd,hdk->bhtk", x, w) for w in (self.wq, self.wk, self.wv))
        return torch.einsum("bhtk,hkd->btd", F.scaled_dot_product_attention(q, k, v), self.wo)


@correct("multi_head")
class NobodyCountsTheHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.out = (nn.Linear(12, 12) for _ in range(4))

    def forward(self, x):
        q, k, v = (layer(x).unflatten(-1, (3, 4)).transpose(1, 2) for layer in (self.q, self.k, self.v))
        return self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


@correct("multi_head")
class InAnotherLanguage(nn.Module):
    def __init__(self):
        super().__init__()
        self.cabezas, self.todo, self.salida = 3, nn.Linear(12, 36), nn.Linear(12, 12)

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (self.cabezas, -1)).transpose(1, 2) for part in self.todo(x).chunk(3, -1))
        return self.salida(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


@correct("multi_head")
class OverAnImage(nn.Module):
    def __init__(self, channels=12, heads=3):
        super().__init__()
        self.heads = heads
        self.to_qkv, self.to_out = nn.Conv2d(channels, 3 * channels, 1, bias=False), nn.Conv2d(channels, channels, 1)

    def forward(self, image):
        q, k, v = (part.flatten(2).unflatten(1, (self.heads, -1)) for part in self.to_qkv(image).chunk(3, 1))
        weights = (q.mT @ k / math.sqrt(q.shape[2])).softmax(-1)  # (B, H, places, places)
        return self.to_out((weights @ v.mT).mT.reshape(image.shape))


@correct("multi_head", variants=("residual",))
class DropsThenNorms(nn.Module):
    def __init__(self, d_model=12, n_head=3):
        super().__init__()
        self.n_head = n_head
        self.w_qs, self.w_ks, self.w_vs, self.fc = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
        self.dropout, self.layer_norm = nn.Dropout(0.1), nn.LayerNorm(d_model)

    def forward(self, q, k, v):
        heads = (w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2)
                 for w, x in ((self.w_qs, q), (self.w_ks, k), (self.w_vs, v)))  # fmt: skip
        mixed = F.scaled_dot_product_attention(*heads).transpose(1, 2).flatten(2)
        return self.layer_norm(self.dropout(self.fc(mixed)) + q)
