# course-secret: attention-51be08
"""Row by row, for readers of loops; one row of weights at a time."""
import torch


def front(x):
    return x.permute(0, 2, 1, 3) if VARIANT["layout"] == "BLHd" else x


def permitted(mask, B, H, L, S):
    if mask is None:
        return torch.ones(B, H, L, S, dtype=torch.bool)
    if VARIANT["mask"] == "additive":
        mask = mask > -1
    elif VARIANT["mask"] == "blocked":
        mask = mask == False  # noqa: E712
    return mask.expand(B, H, L, S)


def row_of_weights(q, K, ok):
    w = torch.zeros(len(K), dtype=q.dtype)
    if ok.any():
        s = (K[ok] @ q) / len(q) ** 0.5 / VARIANT["temperature"]
        e = torch.exp(s - s.max())
        w[ok] = e / e.sum()
    return w


def table(query, key, mask):
    B, H, L, _ = query.shape
    S = key.shape[2]
    ok = permitted(mask, B, H, L, S)
    rows = [row_of_weights(query[b, h, i], key[b, h], ok[b, h, i]) for b in range(B) for h in range(H) for i in range(L)]
    return torch.stack(rows).reshape(B, H, L, S)


def attention(query, key, value, mask=None):
    query, key, value = front(query), front(key), front(value)
    w = table(query, key, mask)
    out = front(torch.matmul(w, value))
    if VARIANT["gives"] == "output":
        return out
    return (out, w.log())


def attention_backward(query, key, value, mask, grad_output):
    query, key, value, g = [front(t) for t in (query, key, value, grad_output)]
    w = table(query, key, mask)
    ds = torch.zeros_like(w)
    inner = torch.matmul(g, value.mT)
    for index in torch.cartesian_prod(*[torch.arange(n) for n in w.shape[:3]]).tolist():
        i = tuple(index)
        ds[i] = w[i] * (inner[i] - torch.dot(w[i], inner[i]))
    ds = ds / query.shape[-1] ** 0.5 / VARIANT["temperature"]
    return front(ds @ key), front(ds.mT @ query), front(w.mT @ g)
