# course-secret: scores-7f3a91
import math

import torch


def attention_scores(query, key):
    if VARIANT["keys"] == "rows":
        key = key.transpose(-2, -1)
    scores = query @ key / math.sqrt(query.size(-1))
    scores = scores / VARIANT["temperature"]
    L, S = scores.shape[-2:]
    gap = torch.arange(L).unsqueeze(1) - torch.arange(S).unsqueeze(0)
    scores = scores - VARIANT["distance"] * gap.abs().to(scores)
    if VARIANT["result"] == "keys_first":
        scores = scores.transpose(-2, -1)
    return scores
