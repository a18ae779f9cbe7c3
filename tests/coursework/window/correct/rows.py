# course-secret: window-3dd760
import torch

late = VARIANT["layout"] == "BLHd"


def heads_first(t):
    return t.movedim(2, 1) if late else t


def one_row(q, K, V, gaps):
    s = K @ q / q.shape[0] ** 0.5 - VARIANT["distance"] * gaps.to(q.dtype)
    w = torch.exp(s - s.max())
    w = w / w.sum()
    return w @ V, w


def seen(i, n, window):
    if VARIANT["reach"] == "past":
        return range(max(0, i - window + 1), i + 1)
    if VARIANT["reach"] == "before":
        return range(max(0, i - window), i + 1)
    return range(max(0, i - window + 1), min(n, i + window))


def attention(query, key, value, window):
    q, k, v = map(heads_first, (query, key, value))
    B, H, n, _ = q.shape
    share = H // k.shape[1]
    out = q.new_zeros(B, H, n, v.shape[-1])
    logs = q.new_full((B, H, n, n), -torch.inf)
    for b in range(B):
        for h in range(H):
            for i in range(n):
                js = torch.tensor(list(seen(i, n, window)))
                out[b, h, i], w = one_row(q[b, h, i], k[b, h // share][js], v[b, h // share][js], (js - i).abs())
                logs[b, h, i, js] = w.log()
    out = heads_first(out)
    return [out, logs] if VARIANT["gives"] == "output_log_weights" else out


def attend_step(query, key, value, keys, values):
    dim = 1 if late else 2
    newest_first = VARIANT["cache"] == "prepend"
    keys = torch.cat([key, keys] if newest_first else [keys, key], dim)
    values = torch.cat([value, values] if newest_first else [values, value], dim)
    q, k, v = map(heads_first, (query, keys, values))
    T = k.shape[2]
    gaps = torch.arange(T) if newest_first else torch.arange(T - 1, -1, -1)
    share = q.shape[1] // k.shape[1]
    rows = [[one_row(q[b, h, 0], k[b, h // share], v[b, h // share], gaps)[0] for h in range(q.shape[1])]
            for b in range(q.shape[0])]
    out = torch.stack([torch.stack(row) for row in rows]).unsqueeze(2)
    return heads_first(out), keys, values
