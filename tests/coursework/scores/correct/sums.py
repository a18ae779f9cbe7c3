# course-secret: scores-7f3a91
import numpy as np
import torch

SLOPE, T = VARIANT["distance"], VARIANT["temperature"]


class Distance:
    def __call__(self, n, m, like):
        i, j = np.mgrid[0:n, 0:m]
        return torch.from_numpy(np.abs(i - j)).to(like.dtype)


distance = Distance()


def attention_scores(query, key):
    keys = key if VARIANT["keys"] == "rows" else torch.swapaxes(key, -1, -2)
    products = (query.unsqueeze(-2) * keys.unsqueeze(-3)).sum(dim=-1)
    products = products * (1 / (T * query.shape[-1] ** 0.5))
    products = products - SLOPE * distance(*products.shape[-2:], products)
    return products if VARIANT["result"] == "queries_first" else torch.swapaxes(products, -1, -2)
