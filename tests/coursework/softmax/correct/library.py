# course-secret: softmax-c02d5e
import torch
import torch.nn.functional as F


def _keys_last(t):
    return t if VARIANT["axis"] == "last" else t.transpose(-1, -2)


def _allowed(mask):
    if VARIANT["mask"] == "additive":
        return mask == 0
    return torch.logical_not(mask) if VARIANT["mask"] == "blocked" else mask


def masked_softmax(scores, mask=None):
    heights = _keys_last(scores).div(VARIANT["temperature"])
    if mask is not None:
        heights = torch.where(_keys_last(_allowed(mask)), heights, torch.tensor(-torch.inf, dtype=heights.dtype))
    logs = F.log_softmax(heights, dim=-1)
    logs = torch.nan_to_num(logs, nan=-torch.inf, neginf=-torch.inf)
    return _keys_last(logs if VARIANT["returns"] == "log_weights" else logs.exp())


def softmax_backward(weights, grad_weights):
    w, g = _keys_last(weights), _keys_last(grad_weights)
    jacobian = torch.diag_embed(w) - w.unsqueeze(-1) * w.unsqueeze(-2)
    return _keys_last(torch.einsum("...ij,...j->...i", jacobian, g) / VARIANT["temperature"])
