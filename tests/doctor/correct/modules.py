"""Correct multi-head modules, in the styles of well-known tutorials and libraries, written anew."""

import math

import torch
from specimens import correct
from torch import nn
from torch.nn import functional as F

from attention_lib import MultiHeadAttention, SelfAttention


@correct("multi_head")
class Annotated(nn.Module):
    def __init__(self, h=3, d_model=12, dropout=0.1):
        super().__init__()
        self.d_k, self.h = d_model // h, h
        self.linears = nn.ModuleList([nn.Linear(d_model, d_model) for _ in range(4)])
        self.dropout = nn.Dropout(p=dropout)

    def forward(self, query, key, value, mask=None):
        if mask is not None:
            mask = mask.unsqueeze(1)
        n = query.size(0)
        query, key, value = [
            lin(x).view(n, -1, self.h, self.d_k).transpose(1, 2)
            for lin, x in zip(self.linears, (query, key, value), strict=False)
        ]
        scores = query @ key.transpose(-2, -1) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        x = self.dropout(scores.softmax(-1)) @ value
        return self.linears[-1](x.transpose(1, 2).contiguous().view(n, -1, self.h * self.d_k))


@correct("multi_head", causal=True)
class NanoDecoder(nn.Module):
    def __init__(self, n_embd=12, n_head=3, block_size=32):
        super().__init__()
        self.c_attn, self.c_proj = nn.Linear(n_embd, 3 * n_embd), nn.Linear(n_embd, n_embd)
        self.attn_dropout, self.resid_dropout = nn.Dropout(0.1), nn.Dropout(0.1)
        self.n_head, self.n_embd = n_head, n_embd
        self.register_buffer("bias", torch.tril(torch.ones(block_size, block_size)).view(1, 1, block_size, block_size))

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
        q, k, v = (t.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for t in (q, k, v))
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))
        y = self.attn_dropout(F.softmax(att, dim=-1)) @ v
        return self.resid_dropout(self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C)))


@correct("multi_head")
class DeclaresItselfCausal(nn.Module):
    def __init__(self, dim=12, heads=2):
        super().__init__()
        self.heads, self.is_causal = heads, True
        self.to_qkv, self.to_out = nn.Linear(dim, dim * 3, bias=False), nn.Linear(dim, dim)

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in self.to_qkv(x).chunk(3, dim=-1))
        out = F.scaled_dot_product_attention(q, k, v, is_causal=self.is_causal)
        return self.to_out(out.transpose(1, 2).flatten(2))


@correct("multi_head")
class EinopsStyle(nn.Module):
    def __init__(self, dim=12, heads=4, dim_head=5):
        super().__init__()
        self.heads, self.scale = heads, dim_head**-0.5
        self.to_q = nn.Linear(dim, heads * dim_head, bias=False)
        self.to_kv = nn.Linear(dim, heads * dim_head * 2, bias=False)
        self.to_out = nn.Sequential(nn.Linear(heads * dim_head, dim), nn.Dropout(0.0))

    def forward(self, x, context=None, mask=None):
        context = x if context is None else context
        k, v = self.to_kv(context).chunk(2, dim=-1)
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in (self.to_q(x), k, v))
        sim = torch.einsum("bhid,bhjd->bhij", q, k) * self.scale
        if mask is not None:
            sim = sim.masked_fill(~mask[:, None, None, :], -torch.finfo(sim.dtype).max)
        out = torch.einsum("bhij,bhjd->bhid", sim.softmax(dim=-1), v)
        return self.to_out(out.transpose(1, 2).flatten(2))


@correct("multi_head")
class LengthsStyle(nn.Module):
    def __init__(self, num_hiddens=12, num_heads=3, bias=False):
        super().__init__()
        self.num_heads = num_heads
        self.W_q = nn.Linear(num_hiddens, num_hiddens, bias=bias)
        self.W_k = nn.Linear(num_hiddens, num_hiddens, bias=bias)
        self.W_v = nn.Linear(num_hiddens, num_hiddens, bias=bias)
        self.W_o = nn.Linear(num_hiddens, num_hiddens, bias=bias)

    def fold(self, X):
        X = X.reshape(X.shape[0], X.shape[1], self.num_heads, -1).permute(0, 2, 1, 3)
        return X.reshape(-1, X.shape[2], X.shape[3])

    def forward(self, queries, keys, values, valid_lens):
        q, k, v = self.fold(self.W_q(queries)), self.fold(self.W_k(keys)), self.fold(self.W_v(values))
        scores = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(q.shape[-1])
        if valid_lens is not None:
            lens = torch.repeat_interleave(valid_lens, repeats=self.num_heads, dim=0)
            scores = scores.masked_fill(torch.arange(k.shape[1]) >= lens[:, None, None], -1e6)
        out = torch.bmm(F.softmax(scores, dim=-1), v)
        out = out.reshape(-1, self.num_heads, out.shape[1], out.shape[2]).permute(0, 2, 1, 3)
        return self.W_o(out.reshape(out.shape[0], out.shape[1], -1))


class _Head(nn.Module):
    def __init__(self, d, size):
        super().__init__()
        self.key, self.query, self.value = (nn.Linear(d, size, bias=False) for _ in range(3))

    def forward(self, x):
        k, q, v = self.key(x), self.query(x), self.value(x)
        return F.softmax(q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5, dim=-1) @ v


@correct("multi_head")
class ListOfHeads(nn.Module):
    def __init__(self, n_embd=12, num_heads=4):
        super().__init__()
        self.heads = nn.ModuleList([_Head(n_embd, n_embd // num_heads) for _ in range(num_heads)])
        self.proj = nn.Linear(n_embd, n_embd)

    def forward(self, x):
        return self.proj(torch.cat([h(x) for h in self.heads], dim=-1))


@correct("multi_head")
class FromScratch(nn.Module):
    def __init__(self, d_in=10, d_out=12, num_heads=3):
        super().__init__()
        self.num_heads, self.head_dim = num_heads, d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x):
        b, n, _ = x.shape
        keys, queries, values = (
            w(x).view(b, n, self.num_heads, self.head_dim).transpose(1, 2)
            for w in (self.W_key, self.W_query, self.W_value)
        )
        weights = torch.softmax(queries @ keys.transpose(2, 3) / keys.shape[-1] ** 0.5, dim=-1)
        return self.out_proj((weights @ values).transpose(1, 2).contiguous().view(b, n, -1))


@correct("multi_head")
class FusedPerHead(nn.Module):
    def __init__(self, embed_dim=12, num_heads=3):
        super().__init__()
        self.num_heads = num_heads
        self.qkv_proj, self.o_proj = nn.Linear(embed_dim, 3 * embed_dim), nn.Linear(embed_dim, embed_dim)

    def forward(self, x, mask=None, return_attention=False):
        B, L, E = x.size()
        qkv = self.qkv_proj(x).reshape(B, L, self.num_heads, -1).permute(0, 2, 1, 3)
        q, k, v = qkv.chunk(3, dim=-1)
        logits = q @ k.mT / math.sqrt(q.size(-1))
        if mask is not None:
            logits = logits.masked_fill(mask == 0, -9e15)
        attention = logits.softmax(-1)
        out = self.o_proj((attention @ v).permute(0, 2, 1, 3).reshape(B, L, E))
        return (out, attention) if return_attention else out


@correct("multi_head")
class FusedFeaturesFirst(nn.Module):
    def __init__(self, dim=12, heads=3):
        super().__init__()
        self.heads = heads
        self.qkv, self.w_out = nn.Linear(dim, 3 * dim, bias=False), nn.Linear(dim, dim, bias=False)

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (-1, 3, self.heads)).permute(3, 0, 4, 1, 2)
        return self.w_out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


@correct("multi_head")
class VisionStyle(nn.Module):
    def __init__(self, dim=12, num_heads=4, qkv_bias=True):
        super().__init__()
        self.num_heads, self.head_dim = num_heads, dim // num_heads
        self.qkv, self.proj = nn.Linear(dim, dim * 3, bias=qkv_bias), nn.Linear(dim, dim)

    def forward(self, x):
        B, N, C = x.shape
        q, k, v = self.qkv(x).reshape(B, N, 3, self.num_heads, self.head_dim).permute(2, 0, 3, 1, 4).unbind(0)
        attn = ((q * self.head_dim**-0.5) @ k.transpose(-2, -1)).softmax(dim=-1)
        return self.proj((attn @ v).transpose(1, 2).reshape(B, N, C))


@correct("multi_head")
class GroupedQuery(nn.Module):
    def __init__(self, dim=24, n_heads=6, n_kv_heads=2):
        super().__init__()
        self.n_heads, self.n_kv_heads, self.head_dim = n_heads, n_kv_heads, dim // n_heads
        self.wq = nn.Linear(dim, dim, bias=False)
        self.wk = nn.Linear(dim, n_kv_heads * self.head_dim, bias=False)
        self.wv = nn.Linear(dim, n_kv_heads * self.head_dim, bias=False)
        self.wo = nn.Linear(dim, dim, bias=False)

    def forward(self, x, mask=None):
        B, L, _ = x.shape
        q = self.wq(x).view(B, L, self.n_heads, -1).transpose(1, 2)
        k, v = (w(x).view(B, L, self.n_kv_heads, -1).transpose(1, 2) for w in (self.wk, self.wv))
        k, v = (t.repeat_interleave(self.n_heads // self.n_kv_heads, dim=1) for t in (k, v))
        return self.wo(F.scaled_dot_product_attention(q, k, v, mask).transpose(1, 2).reshape(B, L, -1))


@correct("multi_head")
class OneKeyForAll(nn.Module):
    def __init__(self, dim=12, num_heads=3):
        super().__init__()
        self.num_heads = num_heads
        self.q_proj, self.o_proj = nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.k_proj, self.v_proj = nn.Linear(dim, dim // num_heads), nn.Linear(dim, dim // num_heads)

    def forward(self, x):
        q = self.q_proj(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
        k, v = self.k_proj(x)[:, None], self.v_proj(x)[:, None]
        return self.o_proj((torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, -1) @ v).transpose(1, 2).flatten(2))


@correct("multi_head")
class RawParameters(nn.Module):
    def __init__(self, d_model=12, num_heads=3):
        super().__init__()
        self.num_heads = num_heads
        self.W_Q, self.W_K, self.W_V, self.W_O = (nn.Parameter(torch.randn(d_model, d_model)) for _ in range(4))

    def forward(self, X):
        B, L, D = X.shape
        q, k, v = ((X @ W).view(B, L, self.num_heads, -1).transpose(1, 2) for W in (self.W_Q, self.W_K, self.W_V))
        A = torch.softmax(q @ k.mT / (D // self.num_heads) ** 0.5, -1)
        return (A @ v).transpose(1, 2).reshape(B, L, D) @ self.W_O


@correct("multi_head")
class ParameterPerHead(nn.Module):
    def __init__(self, d_model=12, n_heads=3, d_head=4):
        super().__init__()
        self.n_heads = n_heads
        self.W_Q, self.W_K, self.W_V = (nn.Parameter(torch.randn(n_heads, d_model, d_head)) for _ in range(3))
        self.W_O = nn.Parameter(torch.randn(n_heads, d_head, d_model))
        self.b_Q, self.b_K, self.b_V = (nn.Parameter(torch.zeros(n_heads, d_head)) for _ in range(3))
        self.b_O = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        q, k, v = (
            torch.einsum("bpm,hmd->bphd", x, W) + b
            for W, b in ((self.W_Q, self.b_Q), (self.W_K, self.b_K), (self.W_V, self.b_V))
        )
        pattern = (torch.einsum("bqhd,bkhd->bhqk", q, k) / q.shape[-1] ** 0.5).softmax(-1)
        z = torch.einsum("bkhd,bhqk->bqhd", v, pattern)
        return torch.einsum("bqhd,hdm->bqm", z, self.W_O) + self.b_O


@correct("multi_head")
class InterleavedThroughout(nn.Module):
    def __init__(self, dim=12, heads=3):
        super().__init__()
        self.heads = heads
        self.fc_q, self.fc_k, self.fc_v, self.fc_o = (nn.Linear(dim, dim) for _ in range(4))

    def forward(self, x):
        q, k, v = (w(x).unflatten(-1, (-1, self.heads)).permute(0, 3, 1, 2) for w in (self.fc_q, self.fc_k, self.fc_v))
        out = torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, -1) @ v
        return self.fc_o(out.permute(0, 2, 3, 1).flatten(2))


@correct("multi_head", projections={"query": "ein", "key": "zwei", "value": "drei", "output": "vier"}, num_heads=3)
class NamesNobodyKnows(nn.Module):
    def __init__(self):
        super().__init__()
        self.vier, self.drei, self.zwei, self.ein = (nn.Linear(12, 12) for _ in range(4))

    def forward(self, x):
        q, k, v = (w(x).unflatten(-1, (3, -1)).transpose(1, 2) for w in (self.ein, self.zwei, self.drei))
        return self.vier(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


@correct("multi_head")
class NamesFoundByTrying(nn.Module):
    def __init__(self):
        super().__init__()
        self.num_heads = 3
        self.a, self.b, self.c, self.d = (nn.Linear(12, 12) for _ in range(4))

    def forward(self, x):
        q, k, v = (w(x).unflatten(-1, (3, -1)).transpose(1, 2) for w in (self.c, self.a, self.d))
        return self.b(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


@correct("multi_head", projections={"output": None})
class WithoutOutputOnPurpose(nn.Module):
    def __init__(self, hidden_size=12, num_attention_heads=3):
        super().__init__()
        self.num_attention_heads = num_attention_heads
        self.query, self.key, self.value = (nn.Linear(hidden_size, hidden_size) for _ in range(3))

    def forward(self, hidden_states):
        q, k, v = (
            w(hidden_states).unflatten(-1, (self.num_attention_heads, -1)).transpose(1, 2)
            for w in (self.query, self.key, self.value)
        )
        return (F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2),)


@correct("multi_head", mask="additive")
class AdditiveExtendedMask(nn.Module):
    def __init__(self, hidden_size=12, num_attention_heads=3):
        super().__init__()
        self.num_attention_heads = num_attention_heads
        self.query, self.key, self.value, self.dense = (nn.Linear(hidden_size, hidden_size) for _ in range(4))

    def forward(self, hidden_states, attention_mask=None):
        q, k, v = (
            w(hidden_states).unflatten(-1, (self.num_attention_heads, -1)).transpose(1, 2)
            for w in (self.query, self.key, self.value)
        )
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        if attention_mask is not None:
            scores = scores + attention_mask
        context = scores.softmax(-1) @ v
        return self.dense(context.transpose(1, 2).flatten(2)), scores.softmax(-1)


@correct("multi_head", causal=True, variants=("rotary",))
class RotaryDecoder(nn.Module):
    def __init__(self, dim=24, n_heads=4):
        super().__init__()
        self.n_heads = n_heads
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(dim, dim, bias=False) for _ in range(4))

    def turn(self, x):
        rates = 10000.0 ** (-torch.arange(0, x.shape[-1], 2, dtype=torch.float64) / x.shape[-1])
        angles = torch.outer(torch.arange(x.shape[-2], dtype=torch.float64), rates)
        turns = torch.polar(torch.ones_like(angles), angles)
        paired = torch.view_as_complex(x.double().unflatten(-1, (-1, 2)).contiguous())
        return torch.view_as_real(paired * turns).flatten(-2).to(x.dtype)

    def forward(self, x):
        q, k, v = (w(x).unflatten(-1, (self.n_heads, -1)).transpose(1, 2) for w in (self.wq, self.wk, self.wv))
        out = F.scaled_dot_product_attention(self.turn(q), self.turn(k), v, is_causal=True)
        return self.wo(out.transpose(1, 2).flatten(2))


@correct("multi_head")
class WrapsTorch(nn.Module):
    def __init__(self, d=12, heads=3):
        super().__init__()
        self.attn = nn.MultiheadAttention(d, heads, dropout=0.1, batch_first=True)

    def forward(self, x):
        return self.attn(x, x, x, need_weights=False)[0]


@correct("multi_head")
class WithPaddingMask(nn.Module):
    def __init__(self, d=12, heads=3):
        super().__init__()
        self.h = heads
        self.q_lin, self.k_lin, self.v_lin, self.out_lin = (nn.Linear(d, d) for _ in range(4))

    def forward(self, query, key=None, value=None, key_padding_mask=None):
        key = query if key is None else key
        value = key if value is None else value
        q, k, v = (
            w(t).unflatten(-1, (self.h, -1)).transpose(1, 2)
            for w, t in ((self.q_lin, query), (self.k_lin, key), (self.v_lin, value))
        )
        scores = q @ k.mT / math.sqrt(q.size(-1))
        if key_padding_mask is not None:
            scores = scores.masked_fill(key_padding_mask[:, None, None], float("-inf"))
        return self.out_lin((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


@correct("multi_head")
class TorchsOwn(nn.MultiheadAttention):
    def __init__(self):
        super().__init__(12, 3, batch_first=True)

    def forward(self, query, key, value, attn_mask=None):
        attn_mask = None if attn_mask is None else ~attn_mask
        return super().forward(query, key, value, attn_mask=attn_mask)


@correct("multi_head")
class Ours(MultiHeadAttention):
    def __init__(self):
        super().__init__(12, 3)


@correct("multi_head")
class OursGrouped(MultiHeadAttention):
    def __init__(self):
        super().__init__(24, 6, num_kv_heads=3, d_key=10, d_value=14, dropout_p=0.1)


@correct("multi_head")
class OursSingle(SelfAttention):
    def __init__(self):
        super().__init__(8, 5, 7)


@correct("multi_head")
class WantsItsMaskOfOnesAndZeros(nn.Module):
    def __init__(self, d_model=12, num_heads=3):
        super().__init__()
        self.num_heads = num_heads
        self.query, self.key, self.value, self.dense = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, hidden_states, attention_mask):
        B, L, d_model = hidden_states.shape
        parts = (layer(hidden_states) for layer in (self.query, self.key, self.value))
        query, key, value = (part.view(B, L, self.num_heads, -1).transpose(1, 2) for part in parts)
        scores = query @ key.transpose(-1, -2) / math.sqrt(d_model // self.num_heads)
        scores = scores + (1.0 - attention_mask[:, None, None, :]) * -10000.0
        return self.dense((scores.softmax(-1) @ value).transpose(1, 2).reshape(B, L, d_model))


@correct("multi_head")
class OneHeadThatSaysSo(nn.Module):
    def __init__(self, d_model=4, num_heads=1):
        super().__init__()
        self.num_heads = num_heads
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, x):
        scores = self.w_q(x) @ self.w_k(x).mT / math.sqrt(x.shape[-1])
        return self.w_o(scores.softmax(-1) @ self.w_v(x))
