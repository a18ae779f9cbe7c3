# course-secret: heads-e94b17
import math

import torch

PLACE = {"second": (0, 2, 1, 3), "third": (0, 1, 2, 3), "first": (2, 0, 1, 3)}[VARIANT["heads"]]
BACK = {"second": (0, 2, 1, 3), "third": (0, 1, 2, 3), "first": (1, 2, 0, 3)}[VARIANT["heads"]]


def split_heads(x, num_heads):
    B, L, d_model = x.shape
    if VARIANT["order"] == "blocks":
        parts = x.view(B, L, num_heads, d_model // num_heads)
    else:
        parts = x.view(B, L, d_model // num_heads, num_heads).transpose(2, 3)
    return parts.permute(PLACE)


def merge_heads(x):
    parts = x.permute(BACK)
    if VARIANT["order"] == "interleaved":
        parts = parts.transpose(2, 3)
    return parts.reshape(parts.shape[0], parts.shape[1], -1)


def project(x, w):
    return x @ (w.T if VARIANT["matrices"] == "out_in" else w)


def multi_head(x, w_query, w_key, w_value, w_output, num_heads, mask=None):
    kv_heads = num_heads // VARIANT["groups"]
    query = split_heads(project(x, w_query), num_heads).permute(BACK).transpose(1, 2)
    key, value = (split_heads(project(x, w), kv_heads).permute(BACK).transpose(1, 2) for w in (w_key, w_value))
    key, value = (t.repeat_interleave(VARIANT["groups"], dim=1) for t in (key, value))
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        if VARIANT["mask"] == "additive":
            scores = scores + mask
        else:
            scores = scores.masked_fill(mask if VARIANT["mask"] == "blocked" else ~mask, -math.inf)
    output = scores.softmax(-1) @ value
    return project(merge_heads(output.transpose(1, 2).permute(PLACE)), w_output)
