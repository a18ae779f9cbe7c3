# course-secret: masks-a86f24
import torch

ADDITIVE = VARIANT["mask"] == "additive"
BLOCKED = VARIANT["mask"] == "blocked"


def finish(keep):
    if ADDITIVE:
        return torch.where(keep, torch.tensor(0.0), torch.tensor(-torch.inf))
    return torch.logical_xor(keep, torch.tensor(BLOCKED))


def shift(L, S):
    return S - L if VARIANT["corner"] == "bottom_right" else 0


def causal_mask(L, S):
    return finish(torch.ones(L, S, dtype=torch.bool).tril(shift(L, S)))


def padding_mask(lengths, S):
    rows = []
    for n in lengths.tolist():
        real, pad = [True] * n, [False] * (S - n)
        rows.append(real + pad if VARIANT["side"] == "right" else pad + real)
    return finish(torch.tensor(rows).view(len(rows), 1, 1, S))


def window_mask(L, S, window):
    ones = torch.ones(L, S, dtype=torch.bool)
    d = shift(L, S)
    if VARIANT["reach"] == "around":
        return finish(ones.tril(d + window - 1) & ones.triu(d - window + 1))
    back = window if VARIANT["reach"] == "before" else window - 1
    return finish(ones.tril(d) & ones.triu(d - back))


def combine(first, second):
    if ADDITIVE:
        return torch.minimum(first, second)
    return torch.logical_or(first, second) if BLOCKED else torch.logical_and(first, second)


def to_additive(mask):
    if not ADDITIVE:
        keep = ~mask if BLOCKED else mask
        mask = torch.log(keep.float())
    return mask
