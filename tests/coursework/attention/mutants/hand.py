import math

import torch


def weights_of(query, key, mask):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return torch.nan_to_num(torch.softmax(scores, dim=-1))


# %% backward: no average | named
def attention_backward(query, key, value, mask, grad_output):
    w = weights_of(query, key, mask)
    ds = w * (grad_output @ value.mT) / math.sqrt(query.shape[-1])
    return ds @ key, ds.mT @ query, w.mT @ grad_output


# %% backward: no scale | named
def attention_backward(query, key, value, mask, grad_output):
    w = weights_of(query, key, mask)
    dw = grad_output @ value.mT
    ds = w * (dw - (w * dw).sum(-1, keepdim=True))
    return ds @ key, ds.mT @ query, w.mT @ grad_output


# %% backward: the scale twice | named
def attention_backward(query, key, value, mask, grad_output):
    w = weights_of(query, key, mask)
    dw = grad_output @ value.mT
    ds = w * (dw - (w * dw).sum(-1, keepdim=True)) / query.shape[-1]
    return ds @ key, ds.mT @ query, w.mT @ grad_output


# %% backward: the scale forgotten for the key | named
def attention_backward(query, key, value, mask, grad_output):
    w = weights_of(query, key, mask)
    dw = grad_output @ value.mT
    ds = w * (dw - (w * dw).sum(-1, keepdim=True))
    return ds @ key / math.sqrt(query.shape[-1]), ds.mT @ query, w.mT @ grad_output


# %% backward: the scale forgotten for the query | named
def attention_backward(query, key, value, mask, grad_output):
    w = weights_of(query, key, mask)
    dw = grad_output @ value.mT
    ds = w * (dw - (w * dw).sum(-1, keepdim=True))
    return ds @ key, ds.mT @ query / math.sqrt(query.shape[-1]), w.mT @ grad_output


# %% backward: signs | named
def attention_backward(query, key, value, mask, grad_output):
    w = weights_of(query, key, mask)
    dw = grad_output @ value.mT
    ds = w * ((w * dw).sum(-1, keepdim=True) - dw) / math.sqrt(query.shape[-1])
    return ds @ key, ds.mT @ query, w.mT @ grad_output


# %% backward: value first | named
def attention_backward(query, key, value, mask, grad_output):
    w = weights_of(query, key, mask)
    dw = grad_output @ value.mT
    ds = w * (dw - (w * dw).sum(-1, keepdim=True)) / math.sqrt(query.shape[-1])
    return w.mT @ grad_output, ds.mT @ query, ds @ key


# %% backward: key and value exchanged | named
def attention_backward(query, key, value, mask, grad_output):
    w = weights_of(query, key, mask)
    dw = grad_output @ value.mT
    ds = w * (dw - (w * dw).sum(-1, keepdim=True)) / math.sqrt(query.shape[-1])
    return ds @ key, w.mT @ grad_output, ds.mT @ query


# %% backward: the mask forgotten | named
def attention_backward(query, key, value, mask, grad_output):
    w = weights_of(query, key, None)
    dw = grad_output @ value.mT
    ds = w * (dw - (w * dw).sum(-1, keepdim=True)) / math.sqrt(query.shape[-1])
    return ds @ key, ds.mT @ query, w.mT @ grad_output


# %% backward: one gradient missing | wrong-count
def attention_backward(query, key, value, mask, grad_output):
    w = weights_of(query, key, mask)
    dw = grad_output @ value.mT
    ds = w * (dw - (w * dw).sum(-1, keepdim=True)) / math.sqrt(query.shape[-1])
    return ds @ key, ds.mT @ query


# %% torch's own operator | withheld
def attention(query, key, value, mask=None):
    return torch.ops.aten.scaled_dot_product_attention(query, key, value, mask)
