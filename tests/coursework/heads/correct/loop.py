# course-secret: heads-e94b17
import torch

G = VARIANT["groups"]
AXIS = {"second": 1, "third": 2, "first": 0}[VARIANT["heads"]]


def columns(d_model, num_heads, h):
    d = d_model // num_heads
    if VARIANT["order"] == "blocks":
        return list(range(h * d, (h + 1) * d))
    return list(range(h, d_model, num_heads))


def split_heads(x, num_heads):
    return torch.stack([x[:, :, columns(x.shape[-1], num_heads, h)] for h in range(num_heads)], dim=AXIS)


def merge_heads(x):
    heads = x.unbind(AXIS)
    d_model = len(heads) * heads[0].shape[-1]
    whole = torch.zeros(*heads[0].shape[:2], d_model, dtype=x.dtype)
    for h, head in enumerate(heads):
        whole[:, :, columns(d_model, len(heads), h)] = head
    return whole


def linear(x, w):
    return torch.einsum("bli,oi->blo" if VARIANT["matrices"] == "out_in" else "bli,io->blo", x, w)


def one_head(q, k, v, mask):
    s = torch.einsum("bld,bsd->bls", q, k) * q.shape[-1] ** -0.5
    if mask is not None:
        blocked = {"allowed": lambda: ~mask, "blocked": lambda: mask, "additive": lambda: mask != 0}[VARIANT["mask"]]()
        s = torch.where(blocked, torch.full_like(s, -1e30), s)
    return torch.softmax(s, 2) @ v


def multi_head(x, w_query, w_key, w_value, w_output, num_heads, mask=None):
    q = split_heads(linear(x, w_query), num_heads).unbind(AXIS)
    k = split_heads(linear(x, w_key), num_heads // G).unbind(AXIS)
    v = split_heads(linear(x, w_value), num_heads // G).unbind(AXIS)
    results = [one_head(q[h], k[h // G], v[h // G], mask) for h in range(num_heads)]
    return linear(merge_heads(torch.stack(results, dim=AXIS)), w_output)
