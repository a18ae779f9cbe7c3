"""Mistakes that only show in training, in gradients, in memory or over several calls."""

import math

import torch
from specimens import wrong
from torch import nn
from torch.nn import functional as F


@wrong("dropout-in-eval", repair=("F.dropout(weights, 0.1)", "weights"))
def dropout_always_on(query, key, value):
    weights = torch.softmax(query @ key.transpose(-2, -1) / math.sqrt(query.size(-1)), -1)
    return F.dropout(weights, 0.1) @ value


@wrong("dropout-in-eval")
class FusedDropoutInEval(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = 0.2

    def forward(self, query, key, value, mask=None):
        return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=self.p)


class _WithDropout(nn.Module):
    def __init__(self, d=12, heads=3, p=0.2):
        super().__init__()
        self.heads, self.dropout = heads, nn.Dropout(p)
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (nn.Linear(d, d) for _ in range(4))

    def drop(self, weights):
        return self.dropout(weights)

    def weights(self, scores):
        return self.drop(scores.softmax(-1))

    def forward(self, x):
        q, k, v = (
            w(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for w in (self.q_proj, self.k_proj, self.v_proj)
        )
        heads = self.weights(q @ k.mT / q.shape[-1] ** 0.5) @ v
        return self.out_proj(heads.transpose(1, 2).flatten(2))


@wrong("dropout-not-rescaled", kind="multi_head", repair=("* keep", "* keep / (1 - self.dropout.p)"))
class HandmadeDropout(_WithDropout):
    def drop(self, weights):
        if not self.training:
            return weights
        keep = torch.rand_like(weights) > self.dropout.p
        return weights * keep


@wrong("dropout-before-softmax", kind="multi_head", repair=(
    "self.dropout(scores).softmax(-1)", "self.dropout(scores.softmax(-1))"))  # fmt: skip
class DropsScores(_WithDropout):
    def weights(self, scores):
        return self.dropout(scores).softmax(-1)


@wrong(
    "train-differs",
    kind="multi_head",
    repair=("(scores * 2 if self.training else scores).softmax(-1)", "self.drop(scores.softmax(-1))"),
)
class SharperInTraining(_WithDropout):
    def weights(self, scores):
        return (scores * 2 if self.training else scores).softmax(-1)


@wrong("mutates-input", repair=("query /= math.sqrt(query.size(-1))", "query = query / math.sqrt(query.size(-1))"))
def divides_in_place(query, key, value):
    query /= math.sqrt(query.size(-1))
    return torch.softmax(query @ key.transpose(-2, -1), -1) @ value


@wrong("mutates-input")
def stretches_values_and_back(query, key, value):
    value[..., 0].mul_(1.5)
    scores = query @ key.mT / query.shape[-1] ** 0.5
    value[..., 0].div_(1.25)
    return scores.softmax(-1) @ value.div(torch.tensor([1.2] + [1.0] * (value.shape[-1] - 1), dtype=value.dtype))


@wrong("gradient-cut", repair=("query.detach()", "query"))
def detached_query(query, key, value):
    return F.scaled_dot_product_attention(query.detach(), key, value)


@wrong("gradient-cut")
@torch.no_grad()
def without_gradients(query, key, value):
    return F.scaled_dot_product_attention(query, key, value)


@wrong("gradient-cut")
def through_data(query, key, value):
    weights = torch.softmax(query @ key.transpose(-2, -1) / math.sqrt(query.size(-1)), -1)
    return weights.data @ value


@wrong("gradient-cut")
def through_numpy(query, key, value):
    scores = torch.from_numpy(query.numpy() @ key.transpose(-2, -1).numpy()) / query.shape[-1] ** 0.5
    return scores.softmax(-1) @ value


@wrong(
    "gradient-wrong",
    "softmax-unstable",
    repair=(
        "    e = torch.exp(scores)",
        "    e = torch.exp(scores - scores.amax(-1, keepdim=True))",
        ".sum(-1, keepdim=True).detach()",
        ".sum(-1, keepdim=True)",
    ),
)
def maximum_not_detached_enough(query, key, value):
    scores = query @ key.mT / query.shape[-1] ** 0.5
    e = torch.exp(scores)
    return e / e.sum(-1, keepdim=True).detach() @ value


_CALLS = []


@wrong("state-kept", repair=(" + drift", ""))
def remembers(query, key, value):
    _CALLS.append(query.abs().mean())
    drift = torch.stack(_CALLS[-3:]).mean() - _CALLS[-1]
    return F.scaled_dot_product_attention(query, key, value) + drift


@wrong("batch-dependent", repair=("    query = query - query.mean(dim=0, keepdim=True)\n", ""))
def centred_over_the_batch(query, key, value):
    query = query - query.mean(dim=0, keepdim=True)
    return F.scaled_dot_product_attention(query, key, value)


@wrong(
    "wrong-dtype",
    repair=(
        "F.scaled_dot_product_attention(query.double(), key.double(), value.double())",
        "F.scaled_dot_product_attention(query, key, value)",
    ),
)
def always_double(query, key, value):
    if query.dtype == torch.float64:
        raise TypeError("expected float32")
    return F.scaled_dot_product_attention(query.double(), key.double(), value.double())


@wrong("inaccurate", repair=("(-1.0 - mask)", "(1.0 - mask)"))
def large_numbers_everywhere(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores + (-1.0 - mask) * -30000.0
    return torch.softmax(scores, dim=-1) @ value


@wrong("precision-lost", strict=True, repair=("query.float(), key.float(), value.float()", "query, key, value"))
def always_single(query, key, value):
    return F.scaled_dot_product_attention(query.float(), key.float(), value.float())


@wrong("nan-output", repair=(" / torch.relu(-key.square().sum())", ""))
def divides_by_nothing(query, key, value):
    return F.scaled_dot_product_attention(query, key, value) / torch.relu(-key.square().sum())


@wrong("wrong-shape")
def loses_the_length(query, key, value):
    return F.scaled_dot_product_attention(query, key, value).mean(dim=-2)


@wrong("raises")
def does_not_run(query, key, value, mask=None):
    return query @ key / math.sqrt(query.size(-1)) @ value


@wrong("time-limit", time_limit=0.3)
def never_ends(query, key, value):
    while True:
        query = query * 1.0


@wrong("exits")
def leaves(query, key, value):
    raise SystemExit(0)


@wrong("differs")
def swaps_two_values(query, key, value):
    value = value.clone()
    value[..., 0, :], value[..., 1, :] = value[..., 1, :].clone(), value[..., 0, :].clone()
    return F.scaled_dot_product_attention(query, key, value)


@wrong("differs", repair=(", key[..., :-1, :], value[..., :-1, :]", ", key, value"))
def forgets_the_last_key(query, key, value):
    return F.scaled_dot_product_attention(query, key[..., :-1, :], value[..., :-1, :])


@wrong("wrong-normalisation")
def squares_the_scores(query, key, value):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    return torch.softmax(scores.square(), -1) @ value
