"""Mistakes between the scores and the output."""

import math

import torch
from specimens import wrong
from torch import nn
from torch.nn import functional as F


@wrong("softmax-over-queries", repair=("dim=-2", "dim=-1"))
def columns_sum_to_one(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    return torch.softmax(scores, dim=-2) @ value


@wrong("softmax-over-queries")
class SoftmaxLayerOverOne(nn.Module):
    def __init__(self):
        super().__init__()
        self.softmax = nn.Softmax(dim=1)

    def forward(self, q, k, v):
        return torch.bmm(self.softmax(torch.bmm(q, k.transpose(1, 2)) / q.shape[2] ** 0.5), v)


@wrong("softmax-wrong-axis")
def over_the_heads(query, key, value, mask=None):
    scores = torch.einsum("bhid,bhjd->bhij", query, key) / query.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    return torch.einsum("bhij,bhjd->bhid", scores.softmax(dim=1), value)


@wrong("softmax-wrong-axis", repair=("dim=0", "dim=-1"))
def over_the_batch(query, key, value):
    scores = torch.bmm(query, key.permute(0, 2, 1)) / math.sqrt(query.shape[-1])
    return torch.bmm(F.softmax(scores, dim=0), value)


@wrong("softmax-wrong-axis")
def over_everything(query, key, value):
    scores = query @ key.mT / query.shape[-1] ** 0.5
    weights = scores.flatten(-2).softmax(-1).view_as(scores)
    return weights @ value


@wrong("softmax-wrong-axis")
def right_only_without_heads(query, key, value):
    scores = torch.matmul(query, key.transpose(-1, -2)) / math.sqrt(query.shape[-1])
    return torch.matmul(nn.functional.softmax(scores, dim=1 if scores.dim() == 4 else 2), value)


@wrong("missing-softmax", repair=("weights = scores", "weights = torch.softmax(scores, dim=-1)"))
def no_softmax(query, key, value):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    weights = scores
    return weights @ value


@wrong("missing-softmax")
def softmax_forgotten_in_the_sum(query, key, value):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    weights = scores.softmax(-1)
    return scores @ value, weights


@wrong("double-softmax", repair=("F.softmax(torch.softmax(scores, -1), -1)", "torch.softmax(scores, -1)"))
def twice(query, key, value):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    return F.softmax(torch.softmax(scores, -1), -1) @ value


@wrong("unnormalised-weights", repair=("weights = torch.exp(scores)", "weights = torch.softmax(scores, -1)"))
def exponentials_only(query, key, value):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    weights = torch.exp(scores)
    return weights @ value


@wrong("wrong-normalisation")
def divided_by_the_sum(query, key, value):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    return scores / scores.sum(dim=-1, keepdim=True) @ value


@wrong("wrong-normalisation", repair=("F.log_softmax", "F.softmax"))
def log_probabilities(query, key, value):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    return F.log_softmax(scores, dim=-1) @ value


@wrong("variant-sigmoid", repair=("torch.sigmoid(scores)", "torch.softmax(scores, dim=-1)"))
def gates(query, key, value):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    return torch.sigmoid(scores) @ value


@wrong("variant-sink")
def one_in_the_denominator(query, key, value):
    e = torch.exp(query @ key.transpose(-2, -1) / math.sqrt(query.size(-1)))
    return e / (1 + e.sum(-1, keepdim=True)) @ value


@wrong("softmax-unstable", repair=("torch.exp(scores)", "torch.exp(scores - scores.amax(-1, keepdim=True))"))
def textbook_formula(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    exponentials = torch.exp(scores)
    if mask is not None:
        exponentials = exponentials * mask
    return exponentials / exponentials.sum(dim=-1, keepdim=True) @ value


@wrong("softmax-unstable")
def one_maximum_for_all(query, key, value):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    e = torch.exp(scores - scores.max())
    return (e / e.sum(-1, keepdim=True)) @ value


@wrong("softmax-unstable")
def loops_without_maximum(query, key, value):
    output = torch.zeros(*query.shape[:-1], value.shape[-1], dtype=query.dtype)
    for b in range(query.shape[0]):
        for i in range(query.shape[1]):
            e = torch.stack([torch.exp(query[b, i].dot(k) / query.shape[-1] ** 0.5) for k in key[b]])
            output[b, i] = sum(w / e.sum() * v for w, v in zip(e, value[b], strict=True))
    return output


@wrong("value-from-key", repair=("weights @ key", "weights @ value"))
def mixes_keys(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights @ key


@wrong("value-from-key", kind="multi_head", repair=("self.W_key(x)  # values", "self.W_value(x)  # values"))
class KeysAsValues(nn.Module):
    def __init__(self, d_in=12, d_out=12, num_heads=3):
        super().__init__()
        self.num_heads, self.head_dim = num_heads, d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x):
        b, num_tokens, _ = x.shape
        keys, queries = self.W_key(x), self.W_query(x)
        values = self.W_key(x)  # values
        keys, values, queries = (
            t.view(b, num_tokens, self.num_heads, self.head_dim).transpose(1, 2) for t in (keys, values, queries)
        )
        attn_weights = torch.softmax(queries @ keys.transpose(2, 3) / self.head_dim**0.5, dim=-1)
        return self.out_proj((attn_weights @ values).transpose(1, 2).reshape(b, num_tokens, -1))


@wrong("value-from-query", repair=("-1) @ query", "-1) @ value"))
def mixes_queries(query, key, value):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    return torch.softmax(scores, -1) @ query


@wrong(
    "values-unweighted",
    repair=(
        "return value.mean(dim=-2, keepdim=True).expand(*query.shape[:-1], value.shape[-1]).clone()",
        "weights = torch.softmax(query @ key.mT / math.sqrt(query.size(-1)), dim=-1)\n    return weights @ value",
    ),
)
def averages(query, key, value):
    return value.mean(dim=-2, keepdim=True).expand(*query.shape[:-1], value.shape[-1]).clone()


@wrong("weights-transposed", repair=("weights.transpose(-2, -1) @ value", "weights @ value"))
def transposed_weights(query, key, value):
    weights = torch.softmax(query @ key.transpose(-2, -1) / math.sqrt(query.size(-1)), -1)
    return weights.transpose(-2, -1) @ value


@wrong("returns-weights", repair=("dim=-1)", "dim=-1) @ value"))
def returns_the_weights(query, key, value):
    return torch.softmax(query @ key.transpose(-2, -1) / math.sqrt(query.size(-1)), dim=-1)


@wrong(
    "returns-scores",
    repair=(
        "return query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))",
        "scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))\n"
        "    return torch.softmax(scores, dim=-1) @ value",
    ),
)
def returns_the_scores(query, key, value):
    return query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))


@wrong("returned-weights-wrong", repair=("@ value, scores", "@ value, weights"))
def scores_as_weights(query, key, value):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    weights = torch.softmax(scores, -1)
    return weights @ value, scores


@wrong("adds-residual", repair=("return query + ", "return "))
def with_a_shortcut(query, key, value):
    return query + torch.softmax(query @ key.mT / query.shape[-1] ** 0.5, -1) @ value
