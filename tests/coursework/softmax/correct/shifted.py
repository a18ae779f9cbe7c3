# course-secret: softmax-c02d5e
import torch

DIM = -1 if VARIANT["axis"] == "last" else -2


def masked_softmax(scores, mask=None):
    scores = scores / VARIANT["temperature"]
    if mask is not None:
        if VARIANT["mask"] == "additive":
            scores = scores + mask
        elif VARIANT["mask"] == "blocked":
            scores = scores.masked_fill(mask, float("-inf"))
        else:
            scores = scores.masked_fill(~mask, float("-inf"))
    highest = scores.max(dim=DIM, keepdim=True).values
    highest = highest.masked_fill(highest == float("-inf"), 0.0)
    raised = torch.exp(scores - highest)
    total = raised.sum(dim=DIM, keepdim=True)
    weights = raised / total.masked_fill(total == 0, 1.0)
    return torch.log(weights) if VARIANT["returns"] == "log_weights" else weights


def softmax_backward(weights, grad_weights):
    mean = (weights * grad_weights).sum(dim=DIM, keepdim=True)
    return weights * (grad_weights - mean) / VARIANT["temperature"]
