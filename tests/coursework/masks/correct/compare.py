# course-secret: masks-a86f24
import torch


def _say(allowed):
    if VARIANT["mask"] == "additive":
        return torch.zeros(allowed.shape).masked_fill(~allowed, float("-inf"))
    return allowed if VARIANT["mask"] == "allowed" else ~allowed


def _behind(L, S):
    rows = torch.arange(L)
    if VARIANT["corner"] == "bottom_right":
        rows = rows + S - L
    return rows[:, None] - torch.arange(S)


def causal_mask(L, S):
    return _say(_behind(L, S) >= 0)


def padding_mask(lengths, S):
    places = torch.arange(S)
    if VARIANT["side"] == "left":
        places = places.flip(0)
    return _say((places < lengths[:, None])[:, None, None])


def window_mask(L, S, window):
    behind = _behind(L, S)
    if VARIANT["reach"] == "around":
        return _say(behind.abs() < window)
    return _say((behind >= 0) & (behind < window + (VARIANT["reach"] == "before")))


def combine(first, second):
    if VARIANT["mask"] == "additive":
        return first + second
    return first & second if VARIANT["mask"] == "allowed" else first | second


def to_additive(mask):
    if VARIANT["mask"] == "additive":
        return mask
    blocked = mask if VARIANT["mask"] == "blocked" else ~mask
    return torch.zeros(mask.shape).masked_fill(blocked, float("-inf"))
