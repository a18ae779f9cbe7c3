"""Mistakes on the way to the scores."""

import math

import torch
from specimens import wrong
from torch import einsum, nn
from torch.nn import functional as F


@wrong("missing-scale", repair=("key.transpose(-2, -1)", "key.transpose(-2, -1) / math.sqrt(query.size(-1))"))
def unscaled(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1) @ value


@wrong("missing-scale")
def unscaled_einsum(q, k, v, mask=None):
    energy = einsum("...id,...jd->...ij", q, k)
    if mask is not None:
        energy = torch.where(mask, energy, torch.tensor(-1e30, dtype=energy.dtype))
    return einsum("...ij,...jd->...id", energy.softmax(-1), v)


@wrong("scale-by-d", repair=("/ d_k", "/ math.sqrt(d_k)"))
def divided_by_width(query, key, value, mask=None):
    d_k = query.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1)) / d_k
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    p_attn = F.softmax(scores, dim=-1)
    return torch.matmul(p_attn, value), p_attn


@wrong("scale-by-d")
def scaled_twice(query, key, value, mask=None):
    query = query / math.sqrt(query.shape[-1])
    scores = query @ key.mT / math.sqrt(key.shape[-1])
    if mask is not None:
        scores = scores + torch.zeros_like(scores).masked_fill(~mask, -torch.inf)
    return scores.softmax(dim=-1) @ value


@wrong("scale-multiplied", repair=("* query.shape[-1] ** 0.5", "* query.shape[-1] ** -0.5"))
def multiplied(query, key, value, mask=None):
    scores = (query @ key.mT) * query.shape[-1] ** 0.5
    if mask is not None:
        scores[~mask.expand_as(scores)] = -torch.inf
    return scores.softmax(dim=-1) @ value


@wrong("scale-by-heads", repair=("query.size(1)", "query.size(-1)"))
def divided_by_heads(query, key, value, mask=None):
    if query.dim() != 4:
        raise ValueError("expects (batch, heads, length, width)")
    scores = query @ key.transpose(2, 3) / query.size(1) ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask.logical_not(), float("-inf"))
    return torch.softmax(scores, 3) @ value


@wrong("wrong-scale")
def written_for_sixty_four(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / 8.0
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1) @ value


@wrong("wrong-scale", repair=("key.size(-2)", "key.size(-1)"))
def divided_by_length(query, key, value):
    scores = torch.matmul(query, key.transpose(-1, -2)) / math.sqrt(key.size(-2))
    return torch.matmul(F.softmax(scores, -1), value)


@wrong("wrong-scale")
def baddbmm_with_a_typo(query, key, value):
    B, L, d = query.shape
    empty = torch.empty(B, L, key.shape[1], dtype=query.dtype)
    scores = torch.baddbmm(empty, query, key.transpose(1, 2), beta=0, alpha=d**-0.25)
    return scores.softmax(-1).bmm(value)


@wrong("scale-negative", repair=("scores = -", "scores = "))
def least_similar_wins(query, key, value):
    scores = -(query @ key.transpose(-2, -1)) / query.size(-1) ** 0.5
    return torch.softmax(scores, dim=-1) @ value


@wrong("key-unused", repair=("query.transpose(-2, -1)", "key.transpose(-2, -1)"))
def compares_queries(query, key, value):
    scores = query @ query.transpose(-2, -1) / math.sqrt(query.size(-1))
    return torch.softmax(scores, dim=-1) @ value


@wrong("query-unused", repair=("key @ key", "query @ key"))
def compares_keys(query, key, value):
    scores = key @ key.transpose(-2, -1) / math.sqrt(key.size(-1))
    return torch.softmax(scores, dim=-1) @ value


@wrong("query-key-swapped", repair=("key @ query", "query @ key"))
def swapped_operands(query, key, value):
    scores = key @ query.transpose(-2, -1) / math.sqrt(query.size(-1))
    return torch.softmax(scores, dim=-1) @ value


@wrong("variant-cosine")
def directions_only(query, key, value):
    query, key = F.normalize(query, dim=-1), F.normalize(key, dim=-1)
    return torch.softmax(10.0 * query @ key.transpose(-2, -1), dim=-1) @ value


@wrong("scale-by-model", kind="multi_head", repair=("self.embed_size**0.5", "self.head_dim**0.5"))
class ScaledByEmbedding(nn.Module):
    def __init__(self, embed_size=12, heads=3):
        super().__init__()
        self.embed_size, self.heads, self.head_dim = embed_size, heads, embed_size // heads
        self.queries = nn.Linear(embed_size, embed_size, bias=False)
        self.keys = nn.Linear(embed_size, embed_size, bias=False)
        self.values = nn.Linear(embed_size, embed_size, bias=False)
        self.fc_out = nn.Linear(embed_size, embed_size)

    def forward(self, values, keys, query, mask=None):
        N, L = query.shape[:2]
        v = self.values(values).reshape(N, -1, self.heads, self.head_dim)
        k = self.keys(keys).reshape(N, -1, self.heads, self.head_dim)
        q = self.queries(query).reshape(N, L, self.heads, self.head_dim)
        energy = torch.einsum("nqhd,nkhd->nhqk", q, k)
        if mask is not None:
            energy = energy.masked_fill(mask == 0, float("-1e20"))
        attention = torch.softmax(energy / self.embed_size**0.5, dim=3)
        out = torch.einsum("nhql,nlhd->nqhd", attention, v).reshape(N, L, -1)
        return self.fc_out(out)


@wrong("shared-projection", kind="multi_head", repair=("self.query(x), self.query(x)", "self.query(x), self.key(x)"))
class OneMatrixForBoth(nn.Module):
    def __init__(self, n_embd=12, n_head=3):
        super().__init__()
        self.n_head = n_head
        self.query, self.key = nn.Linear(n_embd, n_embd), nn.Linear(n_embd, n_embd)
        self.value, self.proj = nn.Linear(n_embd, n_embd), nn.Linear(n_embd, n_embd)

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.query(x), self.query(x), self.value(x)
        q, k, v = (t.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for t in (q, k, v))
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        y = F.softmax(att, dim=-1) @ v
        return self.proj(y.transpose(1, 2).contiguous().view(B, T, C))


@wrong("missing-projection", kind="multi_head", repair=("k = x.unflatten", "k = self.to_k(x).unflatten"))
class KeysNotProjected(nn.Module):
    def __init__(self, dim=12, heads=3):
        super().__init__()
        self.heads = heads
        self.to_q, self.to_k, self.to_v, self.to_out = (nn.Linear(dim, dim) for _ in range(4))

    def forward(self, x, mask=None):
        q = self.to_q(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
        k = x.unflatten(-1, (self.heads, -1)).transpose(1, 2)
        v = self.to_v(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.to_out(out.transpose(1, 2).flatten(2))


@wrong("input-mixed-up", kind="multi_head", repair=("self.k_proj(query)", "self.k_proj(key)"))
class KeysFromTheQuery(nn.Module):
    def __init__(self, d_model=12, num_heads=3):
        super().__init__()
        self.num_heads = num_heads
        self.q_proj, self.k_proj = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.v_proj, self.out_proj = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)

    def forward(self, query, key, value):
        q, k, v = self.q_proj(query), self.k_proj(query), self.v_proj(value)
        q, k, v = (t.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for t in (q, k, v))
        weights = torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, -1)
        return self.out_proj((weights @ v).transpose(1, 2).flatten(2))


@wrong("missing-bias", kind="multi_head", repair=("x @ self.w_q.weight.T", "self.w_q(x)"))
class MultipliesWithTheWeight(nn.Module):
    def __init__(self, d_model=12, num_heads=3):
        super().__init__()
        self.num_heads = num_heads
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, x):
        q, k, v = x @ self.w_q.weight.T, self.w_k(x), self.w_v(x)
        q, k, v = (t.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for t in (q, k, v))
        return self.w_o(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


@wrong(
    "variant-missing",
    variants=("cosine",),
    repair=("query @ key.mT / 2.0", "F.normalize(query, dim=-1) @ F.normalize(key, dim=-1).mT / 2.0"),
)
def says_cosine_and_is_not(query, key, value):
    scores = query @ key.mT / 2.0 * 2.0 / math.sqrt(query.size(-1))
    return torch.softmax(scores, dim=-1) @ value
