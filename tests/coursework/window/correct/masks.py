# course-secret: window-3dd760
import math

import torch


def _swap(t):
    return t.transpose(1, 2) if VARIANT["layout"] == "BLHd" else t


def _attend(query, key, value, behind, allowed):
    key = key.repeat_interleave(query.shape[1] // key.shape[1], dim=1)
    value = value.repeat_interleave(query.shape[1] // value.shape[1], dim=1)
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    scores = scores - VARIANT["distance"] * behind.abs().to(scores.dtype)
    scores = scores.masked_fill(~allowed, -math.inf)
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights


def attention(query, key, value, window):
    query, key, value = _swap(query), _swap(key), _swap(value)
    place = torch.arange(query.shape[2])
    behind = place[:, None] - place
    if VARIANT["reach"] == "around":
        allowed = behind.abs() < window
    else:
        allowed = (behind >= 0) & (behind < window + (VARIANT["reach"] == "before"))
    output, weights = _attend(query, key, value, behind, allowed)
    output = _swap(output)
    return (output, weights.log()) if VARIANT["gives"] == "output_log_weights" else output


def attend_step(query, key, value, keys, values):
    axis = 1 if VARIANT["layout"] == "BLHd" else 2
    order = (lambda old, new: (new, old)) if VARIANT["cache"] == "prepend" else (lambda old, new: (old, new))
    keys, values = torch.cat(order(keys, key), dim=axis), torch.cat(order(values, value), dim=axis)
    behind = torch.arange(keys.shape[axis])
    if VARIANT["cache"] == "append":
        behind = behind.flip(0)
    output, _ = _attend(_swap(query), _swap(keys), _swap(values), behind, torch.ones(1, len(behind), dtype=torch.bool))
    return _swap(output), keys, values
