import torch


# %% causal: the other triangle | named
def causal_mask(L, S):
    return torch.ones(L, S, dtype=torch.bool).triu(S - L)


# %% causal: the diagonal left out | causal-excludes-itself
def causal_mask(L, S):
    return torch.ones(L, S, dtype=torch.bool).tril(S - L - 1)


# %% causal: one position too far | causal-sees-next
def causal_mask(L, S):
    return torch.ones(L, S, dtype=torch.bool).tril(S - L + 1)


# %% causal: aligned at the top left | convention-corner
def causal_mask(L, S):
    return torch.ones(L, S, dtype=torch.bool).tril()


# %% causal: True blocks | convention-mask
def causal_mask(L, S):
    return ~torch.ones(L, S, dtype=torch.bool).tril(S - L)


# %% causal: added to scores | convention-mask
def causal_mask(L, S):
    return torch.full((L, S), float("-inf")).triu(S - L + 1)


# %% causal: 0 and 1 as numbers | wrong-dtype
def causal_mask(L, S):
    return torch.ones(L, S).tril(S - L)


# %% causal: S forgotten | wrong-shape
def causal_mask(L, S):
    return torch.ones(L, L, dtype=torch.bool).tril()


# %% padding: True means padding | convention-mask
def padding_mask(lengths, S):
    return (torch.arange(S) >= lengths[:, None])[:, None, None]


# %% padding: at the start | convention-side
def padding_mask(lengths, S):
    return (torch.arange(S) >= S - lengths[:, None])[:, None, None]


# %% padding: one token too many | named
def padding_mask(lengths, S):
    return (torch.arange(S) <= lengths[:, None])[:, None, None]


# %% padding: the last real token lost | named
def padding_mask(lengths, S):
    return (torch.arange(S) < lengths[:, None] - 1)[:, None, None]


# %% padding: axes missing | named
def padding_mask(lengths, S):
    return torch.arange(S) < lengths[:, None]


# %% window: one key too many | convention-reach
def window_mask(L, S, window):
    back = torch.arange(L)[:, None] + S - L - torch.arange(S)
    return (back >= 0) & (back <= window)


# %% window: one key too few | named
def window_mask(L, S, window):
    back = torch.arange(L)[:, None] + S - L - torch.arange(S)
    return (back >= 0) & (back < window - 1)


# %% window: the future too | convention-reach
def window_mask(L, S, window):
    back = torch.arange(L)[:, None] + S - L - torch.arange(S)
    return back.abs() < window


# %% window: aligned at the top left | convention-corner
def window_mask(L, S, window):
    back = torch.arange(L)[:, None] - torch.arange(S)
    return (back >= 0) & (back < window)


# %% combine: either | convention-mask
def combine(first, second):
    return first | second


# %% combine: the first alone | named
def combine(first, second):
    return first.expand(torch.broadcast_shapes(first.shape, second.shape)).clone()


# %% combine: one only | differs
def combine(first, second):
    return first ^ second


# %% additive: what is allowed is blocked | convention-mask
def to_additive(mask):
    return torch.zeros(mask.shape).masked_fill(mask, float("-inf"))


# %% additive: 0 and 1 | convention-mask
def to_additive(mask):
    return mask.float()


# %% additive: a large number | named
def to_additive(mask):
    return torch.zeros(mask.shape).masked_fill(~mask, -1e9)
