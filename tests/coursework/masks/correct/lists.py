# course-secret: masks-a86f24
import torch

WORDS = {"allowed": (True, False), "blocked": (False, True), "additive": (0.0, float("-inf"))}
YES, NO = WORDS[VARIANT["mask"]]


def build(rule, L, S):
    offset = S - L if VARIANT["corner"] == "bottom_right" else 0
    return torch.tensor([[YES if rule(i + offset - j) else NO for j in range(S)] for i in range(L)])


def causal_mask(L, S):
    return build(lambda back: back >= 0, L, S)


def padding_mask(lengths, S):
    left = VARIANT["side"] == "left"
    out = []
    for n in lengths:
        n = int(n)
        out.append([[[YES if (j >= S - n if left else j < n) else NO for j in range(S)]]])
    return torch.tensor(out)


def window_mask(L, S, window):
    rules = {
        "past": lambda back: 0 <= back < window,
        "before": lambda back: 0 <= back <= window,
        "around": lambda back: -window < back < window,
    }
    return build(rules[VARIANT["reach"]], L, S)


def combine(first, second):
    first, second = torch.broadcast_tensors(first, second)
    both = (first == YES) & (second == YES)
    return torch.where(both, torch.tensor(YES), torch.tensor(NO))


def to_additive(mask):
    return torch.where(mask == YES, torch.tensor(0.0), torch.tensor(float("-inf")))
