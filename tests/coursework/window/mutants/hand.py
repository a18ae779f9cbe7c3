import math

import torch


def attend(q, k, v, allowed, scale=None):
    s = q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
    return s.masked_fill(~allowed, -math.inf).softmax(-1) @ v


def back_of(n):
    return torch.arange(n)[:, None] - torch.arange(n)


# %% window: one key too many | convention-reach
def attention(query, key, value, window):
    back = back_of(query.shape[2])
    return attend(query, key, value, (back >= 0) & (back <= window))


# %% window: the future too | convention-reach
def attention(query, key, value, window):
    return attend(query, key, value, back_of(query.shape[2]).abs() < window)


# %% window: no window at all | named
def attention(query, key, value, window):
    return attend(query, key, value, back_of(query.shape[2]) >= 0)


# %% window: no scale | named
def attention(query, key, value, window):
    back = back_of(query.shape[2])
    return attend(query, key, value, (back >= 0) & (back < window), 1.0)


# %% window: positions before heads | convention-layout
def attention(query, key, value, window):
    query, key, value = (t.transpose(1, 2) for t in (query, key, value))
    back = back_of(query.shape[2])
    return attend(query, key, value, (back >= 0) & (back < window)).transpose(1, 2)


# %% window: a distance that nobody asked for | convention-distance
def attention(query, key, value, window):
    back = back_of(query.shape[2])
    s = query @ key.mT * query.shape[-1] ** -0.5 - 0.25 * back.abs()
    return s.masked_fill((back < 0) | (back >= window), -math.inf).softmax(-1) @ value


# %% window: weights returned too | convention-gives
def attention(query, key, value, window):
    back = back_of(query.shape[2])
    s = query @ key.mT * query.shape[-1] ** -0.5
    w = s.masked_fill((back < 0) | (back >= window), -math.inf).softmax(-1)
    return w @ value, w.log()


# %% window: blocks in place of a window | differs
def attention(query, key, value, window):
    n = query.shape[2]
    block = torch.arange(n) // window
    return attend(query, key, value, (block[:, None] == block) & (back_of(n) >= 0))


# %% step: without its own key | named
def attend_step(query, key, value, keys, values):
    out = attend(query, keys, values, torch.ones(1, keys.shape[2], dtype=torch.bool)) if keys.shape[2] else value
    return out, torch.cat([keys, key], 2), torch.cat([values, value], 2)


# %% step: the cache not filled | named
def attend_step(query, key, value, keys, values):
    k, v = torch.cat([keys, key], 2), torch.cat([values, value], 2)
    return attend(query, k, v, torch.ones(1, k.shape[2], dtype=torch.bool)), keys, values


# %% step: newest first | convention-cache
def attend_step(query, key, value, keys, values):
    k, v = torch.cat([key, keys], 2), torch.cat([value, values], 2)
    return attend(query, k, v, torch.ones(1, k.shape[2], dtype=torch.bool)), k, v


# %% step: no scale | named
def attend_step(query, key, value, keys, values):
    k, v = torch.cat([keys, key], 2), torch.cat([values, value], 2)
    return attend(query, k, v, torch.ones(1, k.shape[2], dtype=torch.bool), 1.0), k, v


# %% step: only the newest key kept in sight | named
def attend_step(query, key, value, keys, values):
    return value, torch.cat([keys, key], 2), torch.cat([values, value], 2)
