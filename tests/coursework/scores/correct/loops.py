# course-secret: scores-7f3a91
import torch


def one_score(q, k, i, j):
    dot = sum(q[c] * k[c] for c in range(len(q)))
    return dot / len(q) ** 0.5 / VARIANT["temperature"] - VARIANT["distance"] * abs(i - j)


def attention_scores(query, key):
    if VARIANT["keys"] == "columns":
        key = key.mT
    front = query.shape[:-2]
    flat_query = query.reshape(-1, *query.shape[-2:])
    flat_key = key.reshape(-1, *key.shape[-2:])
    tables = []
    for q, k in zip(flat_query, flat_key):
        rows = [torch.stack([one_score(q[i], k[j], i, j) for j in range(len(k))]) for i in range(len(q))]
        tables.append(torch.stack(rows))
    table = torch.stack(tables).reshape(*front, query.shape[-2], key.shape[-2])
    return table.mT if VARIANT["result"] == "keys_first" else table
