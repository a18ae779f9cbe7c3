# course-secret: softmax-c02d5e
import torch

TEMPERATURE = VARIANT["temperature"]
first = VARIANT["axis"] == "first"
LOGS = VARIANT["returns"] == "log_weights"


def _bias(mask, scores):
    if VARIANT["mask"] == "additive":
        return mask
    blocked = mask if VARIANT["mask"] == "blocked" else ~mask
    return torch.zeros(mask.shape, dtype=scores.dtype).masked_fill_(blocked, -torch.inf)


def masked_softmax(scores, mask=None):
    axis = scores.ndim - 2 if first else scores.ndim - 1
    z = scores / TEMPERATURE
    if mask is not None:
        z = z + _bias(mask, z)
    dead = torch.isneginf(z).all(axis, keepdim=True)
    p = torch.softmax(torch.where(dead, torch.zeros_like(z), z), dim=axis)
    p = torch.where(dead, torch.zeros_like(p), p)
    return p.log() if LOGS else p


def softmax_backward(weights, grad_weights):
    axis = -2 if first else -1
    product = weights * grad_weights
    return (product - weights * product.sum(axis, True)) / TEMPERATURE
