# course-secret: attention-51be08
import math

import torch

NEG = float("-inf")


def _swap(t):
    return t.transpose(1, 2) if VARIANT["layout"] == "BLHd" else t


def _weights(query, key, mask):
    scores = query @ key.transpose(-2, -1) / (math.sqrt(query.shape[-1]) * VARIANT["temperature"])
    if mask is not None:
        if VARIANT["mask"] == "additive":
            scores = scores + mask
        else:
            scores = scores.masked_fill(mask if VARIANT["mask"] == "blocked" else ~mask, NEG)
    empty = (scores == NEG).all(dim=-1, keepdim=True)
    return torch.softmax(scores.masked_fill(empty, 0.0), dim=-1).masked_fill(empty, 0.0)


def attention(query, key, value, mask=None):
    weights = _weights(_swap(query), _swap(key), mask)
    output = _swap(weights @ _swap(value))
    if VARIANT["gives"] == "output_log_weights":
        return output, weights.log()
    return output


def attention_backward(query, key, value, mask, grad_output):
    query, key, value, grad_output = map(_swap, (query, key, value, grad_output))
    weights = _weights(query, key, mask)
    grad_value = weights.transpose(-2, -1) @ grad_output
    grad_weights = grad_output @ value.transpose(-2, -1)
    grad_scores = weights * (grad_weights - (weights * grad_weights).sum(-1, keepdim=True))
    grad_scores = grad_scores / (math.sqrt(query.shape[-1]) * VARIANT["temperature"])
    return _swap(grad_scores @ key), _swap(grad_scores.transpose(-2, -1) @ query), _swap(grad_value)
