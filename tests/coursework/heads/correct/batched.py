# course-secret: heads-e94b17
import torch
from torch.nn import functional as F

dealt = VARIANT["order"] == "interleaved"
where = {"second": "bhld", "third": "blhd", "first": "hbld"}[VARIANT["heads"]]


def split_heads(x, num_heads):
    if dealt:
        parts = x.unflatten(-1, (-1, num_heads))
        return torch.einsum(f"bldh->{where}", parts)
    return torch.einsum(f"blhd->{where}", x.unflatten(-1, (num_heads, -1)))


def merge_heads(x):
    return torch.einsum(f"{where}->{'bldh' if dealt else 'blhd'}", x).flatten(2)


def multi_head(x, w_query, w_key, w_value, w_output, num_heads, mask=None):
    flip = (lambda w: w) if VARIANT["matrices"] == "out_in" else (lambda w: w.t())
    groups = VARIANT["groups"]
    q = torch.einsum(f"{where}->bhld", split_heads(F.linear(x, flip(w_query)), num_heads))
    k = torch.einsum(f"{where}->bhld", split_heads(F.linear(x, flip(w_key)), num_heads // groups))
    v = torch.einsum(f"{where}->bhld", split_heads(F.linear(x, flip(w_value)), num_heads // groups))
    q = q.unflatten(1, (-1, groups))
    s = torch.einsum("bkgld,bksd->bkgls", q, k).div(q.size(-1) ** 0.5)
    if mask is not None:
        bias = mask if VARIANT["mask"] == "additive" else torch.zeros_like(s[0, 0, 0]).masked_fill(
            mask if VARIANT["mask"] == "blocked" else mask.logical_not(), -torch.inf)
        s = s + bias
    o = torch.einsum("bkgls,bksd->bkgld", F.softmax(s, dim=-1), v).flatten(1, 2)
    return F.linear(merge_heads(torch.einsum(f"bhld->{where}", o)), flip(w_output))
