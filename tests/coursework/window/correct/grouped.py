# course-secret: window-3dd760
import torch

IN = "blhd" if VARIANT["layout"] == "BLHd" else "bhld"
SLOPE = VARIANT["distance"]


def regroup(q, kv_heads):
    q = torch.einsum(f"{IN}->bhld", q)
    return q.unflatten(1, (kv_heads, -1))


def core(query, key, value, bias):
    k, v = torch.einsum(f"{IN}->bhld", key), torch.einsum(f"{IN}->bhld", value)
    q = regroup(query, k.size(1)) * query.size(-1) ** -0.5
    s = torch.einsum("bkgld,bksd->bkgls", q, k) + bias
    w = s.softmax(dim=-1)
    o = torch.einsum("bkgls,bkse->bkgle", w, v).flatten(1, 2)
    return torch.einsum(f"bhld->{IN}", o), w.flatten(1, 2)


def attention(query, key, value, window):
    n = query.shape[1 if IN == "blhd" else 2]
    i, j = torch.meshgrid(torch.arange(n), torch.arange(n), indexing="ij")
    far = (i - j).abs()
    last = window - 1 + (VARIANT["reach"] == "before")
    blocked = far > last
    if VARIANT["reach"] != "around":
        blocked = blocked | (j > i)
    bias = (-SLOPE * far.to(query.dtype)).masked_fill(blocked, float("-inf"))
    output, weights = core(query, key, value, bias)
    if VARIANT["gives"] == "output":
        return output
    return output, torch.log(weights)


def attend_step(query, key, value, keys, values):
    axis = 1 if IN == "blhd" else 2
    pair = [keys, key], [values, value]
    if VARIANT["cache"] == "prepend":
        pair = [key, keys], [value, values]
    keys, values = (torch.cat(p, dim=axis) for p in pair)
    T = keys.shape[axis]
    gaps = torch.arange(T) if VARIANT["cache"] == "prepend" else T - 1 - torch.arange(T)
    output, _ = core(query, keys, values, (-SLOPE * gaps.to(query.dtype))[None])
    return output, keys, values
