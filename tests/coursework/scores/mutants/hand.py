import math

import torch


# %% no scale | missing-scale
def attention_scores(query, key):
    return query @ key.transpose(-2, -1)


# %% divided by the width itself | scale-by-d
def attention_scores(query, key):
    return torch.matmul(query, key.transpose(-2, -1)) / query.size(-1)


# %% multiplied by the root | scale-multiplied
def attention_scores(query, key):
    return (query @ key.mT) * query.shape[-1] ** 0.5


# %% the root of the number of keys | wrong-scale
def attention_scores(query, key):
    return (query @ key.mT) / math.sqrt(key.shape[-2])


# %% written for 64 | wrong-scale
def attention_scores(query, key):
    return torch.einsum("...ld,...sd->...ls", query, key) / 8.0


# %% keys first | convention-result
def attention_scores(query, key):
    return key @ query.transpose(-2, -1) / math.sqrt(query.shape[-1])


# %% softmax already applied | double-softmax
def attention_scores(query, key):
    return (query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])).softmax(-1)


# %% negative scores | scale-negative
def attention_scores(query, key):
    return -(query @ key.transpose(-2, -1)) / math.sqrt(query.shape[-1])


# %% a temperature that nobody asked for | convention-temperature
def attention_scores(query, key):
    return query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1]) / 2.0


# %% a distance that nobody asked for | convention-distance
def attention_scores(query, key):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    gap = (torch.arange(query.shape[-2])[:, None] - torch.arange(key.shape[-2])).abs()
    return scores - 0.5 * gap


# %% the last two axes of key exchanged by a reshape | differs
def attention_scores(query, key):
    return query @ key.reshape(*key.shape[:-2], key.shape[-1], key.shape[-2]) / math.sqrt(query.shape[-1])


# %% keys expected as columns | convention-keys
def attention_scores(query, key):
    return query @ key / math.sqrt(query.shape[-1])
