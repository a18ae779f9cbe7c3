"""Mistakes with splitting, merging and projecting heads."""

import math

import torch
from specimens import wrong
from torch import nn
from torch.nn import functional as F


class _Base(nn.Module):
    """Four projections, and attention in the middle; the specimens change one step each."""

    def __init__(self, d_model=12, num_heads=3):
        super().__init__()
        self.num_heads, self.d_head = num_heads, d_model // num_heads
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model) for _ in range(4))

    def split(self, x):
        return x.view(x.size(0), x.size(1), self.num_heads, self.d_head).transpose(1, 2)

    def attend(self, q, k, v, mask=None):
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        return scores.softmax(-1) @ v

    def merge(self, heads):
        return heads.transpose(1, 2).flatten(2)

    def forward(self, x, mask=None):
        q, k, v = self.split(self.w_q(x)), self.split(self.w_k(x)), self.split(self.w_v(x))
        return self.w_o(self.merge(self.attend(q, k, v, mask)))


@wrong("split-without-transpose", kind="multi_head", repair=(
    "x.view(x.size(0), self.num_heads, -1, self.d_head)",
    "x.view(x.size(0), -1, self.num_heads, self.d_head).transpose(1, 2)"))  # fmt: skip
class ViewedIntoHeads(_Base):
    def split(self, x):
        return x.view(x.size(0), self.num_heads, -1, self.d_head)


@wrong("split-without-transpose", kind="multi_head")
class HeadsAttendToEachOther(nn.Module):
    def __init__(self, d_model=12, num_heads=3):
        super().__init__()
        self.h = num_heads
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, x):
        q, k, v = (w(x).unflatten(-1, (self.h, -1)) for w in (self.q_proj, self.k_proj, self.v_proj))
        return self.o_proj(F.scaled_dot_product_attention(q, k, v).flatten(2))


@wrong("split-without-transpose", "merge-without-transpose", kind="multi_head")
class FoldedIntoTheBatch(nn.Module):
    def __init__(self, input_dim=12, num_heads=3):
        super().__init__()
        self.num_heads, self.attention_dim = num_heads, input_dim // num_heads
        self.W_q = nn.Linear(input_dim, input_dim, bias=False)
        self.W_k = nn.Linear(input_dim, input_dim, bias=False)
        self.W_v = nn.Linear(input_dim, input_dim, bias=False)
        self.W_out = nn.Linear(input_dim, input_dim)

    def forward(self, x):
        B = x.size(0)
        q, k, v = (w(x).view(B * self.num_heads, -1, self.attention_dim) for w in (self.W_q, self.W_k, self.W_v))
        out = torch.bmm(torch.softmax(torch.bmm(q, k.transpose(1, 2)) / self.attention_dim**0.5, -1), v)
        return self.W_out(out.view(B, -1, self.num_heads * self.attention_dim))


@wrong("merge-without-transpose", kind="multi_head", repair=(
    "heads.reshape(B, L, -1)", "heads.transpose(1, 2).reshape(B, L, -1)"))  # fmt: skip
class ReshapedBack(_Base):
    def merge(self, heads):
        B, L = heads.size(0), heads.size(2)
        return heads.reshape(B, L, -1)


@wrong("merge-without-transpose", kind="multi_head")
class ContiguousDoesNotHelp(nn.Module):
    def __init__(self, embed_dim=12, num_heads=3):
        super().__init__()
        self.num_heads = num_heads
        self.qkv_proj, self.o_proj = nn.Linear(embed_dim, 3 * embed_dim), nn.Linear(embed_dim, embed_dim)

    def forward(self, x, mask=None):
        B, L, E = x.size()
        qkv = self.qkv_proj(x).reshape(B, L, self.num_heads, -1).permute(0, 2, 1, 3)
        q, k, v = qkv.chunk(3, dim=-1)
        values = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.o_proj(values.contiguous().view(B, L, E))


@wrong("heads-interleaved", kind="multi_head")
class SplitsEveryThirdFeature(_Base):
    def split(self, x):
        return x.view(x.size(0), x.size(1), self.d_head, self.num_heads).permute(0, 3, 1, 2)


@wrong("heads-averaged", kind="multi_head")
class AveragesHeads(nn.Module):
    def __init__(self, d_model=12, num_heads=3):
        super().__init__()
        self.num_heads = num_heads
        self.q, self.k, self.v = (nn.Linear(d_model, d_model * num_heads) for _ in range(3))
        self.out = nn.Linear(d_model, d_model)

    def forward(self, x):
        q, k, v = (w(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for w in (self.q, self.k, self.v))
        return self.out(F.scaled_dot_product_attention(q, k, v).mean(dim=1))


@wrong("missing-output-projection", kind="multi_head", repair=("return merged", "return self.w_o(merged)"))
class NoOutputMatrixUsed(_Base):
    def forward(self, x, mask=None):
        q, k, v = self.split(self.w_q(x)), self.split(self.w_k(x)), self.split(self.w_v(x))
        merged = self.merge(self.attend(q, k, v, mask))
        return merged


class _Head(nn.Module):
    def __init__(self, d, head_size):
        super().__init__()
        self.key, self.query, self.value = (nn.Linear(d, head_size, bias=False) for _ in range(3))

    def forward(self, x):
        q, k = self.query(x), self.key(x)
        return (q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5).softmax(-1) @ self.value(x)


@wrong("missing-output-projection", kind="multi_head")
class ConcatenatedHeads(nn.Module):
    def __init__(self, d=12, num_heads=3):
        super().__init__()
        self.heads = nn.ModuleList([_Head(d, d // num_heads) for _ in range(num_heads)])

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)


@wrong(
    "input-split",
    kind="multi_head",
    repair=(
        "nn.Linear(self.head_dim, self.head_dim, bias=False)",
        "nn.Linear(embed_size, embed_size, bias=False)",
        "self.values(values.reshape(N, -1, self.heads, self.head_dim))",
        "self.values(values).reshape(N, -1, self.heads, self.head_dim)",
        "self.keys(keys.reshape(N, -1, self.heads, self.head_dim))",
        "self.keys(keys).reshape(N, -1, self.heads, self.head_dim)",
        "self.queries(query.reshape(N, -1, self.heads, self.head_dim))",
        "self.queries(query).reshape(N, -1, self.heads, self.head_dim)",
    ),
)
class SplitsTheInput(nn.Module):
    def __init__(self, embed_size=12, heads=3):
        super().__init__()
        self.heads, self.head_dim = heads, embed_size // heads
        self.values = nn.Linear(self.head_dim, self.head_dim, bias=False)
        self.keys = nn.Linear(self.head_dim, self.head_dim, bias=False)
        self.queries = nn.Linear(self.head_dim, self.head_dim, bias=False)
        self.fc_out = nn.Linear(embed_size, embed_size)

    def forward(self, values, keys, query, mask=None):
        N = query.shape[0]
        v = self.values(values.reshape(N, -1, self.heads, self.head_dim))
        k = self.keys(keys.reshape(N, -1, self.heads, self.head_dim))
        q = self.queries(query.reshape(N, -1, self.heads, self.head_dim))
        energy = torch.einsum("nqhd,nkhd->nhqk", q, k) / self.head_dim**0.5
        if mask is not None:
            energy = energy.masked_fill(mask == 0, float("-1e20"))
        out = torch.einsum("nhql,nlhd->nqhd", energy.softmax(-1), v)
        return self.fc_out(out.reshape(N, query.shape[1], -1))


@wrong("grouped-heads-tiled", kind="multi_head", strict=True, repair=(
    "t.repeat(1, self.n_heads // self.n_kv_heads, 1, 1)",
    "t.repeat_interleave(self.n_heads // self.n_kv_heads, dim=1)"))  # fmt: skip
class GroupsInTheWrongOrder(nn.Module):
    def __init__(self, dim=24, n_heads=6, n_kv_heads=2):
        super().__init__()
        self.n_heads, self.n_kv_heads, self.head_dim = n_heads, n_kv_heads, dim // n_heads
        self.wq = nn.Linear(dim, dim, bias=False)
        self.wk = nn.Linear(dim, n_kv_heads * self.head_dim, bias=False)
        self.wv = nn.Linear(dim, n_kv_heads * self.head_dim, bias=False)
        self.wo = nn.Linear(dim, dim, bias=False)

    def forward(self, x):
        B, L, _ = x.shape
        q = self.wq(x).view(B, L, self.n_heads, -1).transpose(1, 2)
        k, v = (w(x).view(B, L, self.n_kv_heads, -1).transpose(1, 2) for w in (self.wk, self.wv))
        k, v = (t.repeat(1, self.n_heads // self.n_kv_heads, 1, 1) for t in (k, v))
        return self.wo(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(B, L, -1))


@wrong("batch-first-swapped", kind="multi_head", repair=("heads)", "heads, batch_first=True)"))
class TorchWithBatchSecond(nn.Module):
    def __init__(self, d=12, heads=3):
        super().__init__()
        self.attn = nn.MultiheadAttention(d, heads)

    def forward(self, x):
        return self.attn(x, x, x)[0]


@wrong("missing-scale", kind="multi_head")
class UnscaledHeads(_Base):
    def attend(self, q, k, v, mask=None):
        return F.scaled_dot_product_attention(q, k, v, None if mask is None else mask.bool(), scale=1.0)


@wrong("softmax-over-queries", kind="multi_head")
class SoftmaxOverQueriesInside(_Base):
    def attend(self, q, k, v, mask=None):
        scores = q @ k.mT / self.d_head**0.5
        return torch.softmax(scores if mask is None else scores.masked_fill(~mask, -1e9), dim=2) @ v


@wrong("softmax-wrong-axis", kind="multi_head")
class SoftmaxOverHeadsInside(_Base):
    def attend(self, q, k, v, mask=None):
        scores = q @ k.mT / self.d_head**0.5
        return torch.softmax(scores if mask is None else scores.masked_fill(~mask, -1e9), dim=1) @ v


@wrong("split-without-transpose", kind="split_heads", repair=(
    "x.view(B, num_heads, L, D // num_heads)", "x.view(B, L, num_heads, D // num_heads).transpose(1, 2)"))  # fmt: skip
def view_alone(x, num_heads):
    B, L, D = x.shape
    return x.view(B, num_heads, L, D // num_heads)


@wrong("wrong-heads", kind="split_heads", repair=("(num_heads, -1))", "(num_heads, -1)).transpose(1, 2)"))
def heads_last_but_one(x, num_heads):
    return x.unflatten(-1, (num_heads, -1))


@wrong(
    "heads-interleaved",
    kind="split_heads",
    repair=(
        "x.reshape(B, L, D // num_heads, num_heads).permute(0, 3, 1, 2)",
        "x.reshape(B, L, num_heads, D // num_heads).transpose(1, 2)",
    ),
)
def every_hth_feature(x, num_heads):
    B, L, D = x.shape
    return x.reshape(B, L, D // num_heads, num_heads).permute(0, 3, 1, 2)


@wrong("merge-without-transpose", kind="merge_heads", repair=(
    "x.reshape(B, L, H * d)", "x.transpose(1, 2).reshape(B, L, H * d)"))  # fmt: skip
def reshape_alone(x):
    B, H, L, d = x.shape
    return x.reshape(B, L, H * d)


@wrong("merge-without-transpose", kind="merge_heads")
def swaps_the_wrong_axes(x):
    B, H, L, d = x.shape
    return x.transpose(2, 3).reshape(B, L, H * d)


@wrong("heads-averaged", kind="merge_heads", repair=("x.mean(dim=1)", "x.transpose(1, 2).flatten(2)"))
def mean_of_heads(x):
    return x.mean(dim=1)
