"""`saturate`: the same query and keys at growing width, divided by the root of d_k and not."""

from typing import Any

import torch
from torch import Tensor

from attention_lib.errors import OptionError
from attention_lib.plot.line_chart import lines
from attention_lib.viz.figure import Figure
from attention_lib.viz.inputs import finite, pack, texts


def saturate(query: Any, key: Any, value: Any, *, question: str | None = None, observe: str | None = None) -> Figure:
    """Scores, weights and the gradient at the query for d_k = 1, 2, 4, ... up to the width given.

    Formula: weights = softmax(scale q K^T), |d output / d q| = scale |sum_j w_j (v_j - v_mean) k_j|, with
    scale = 1 / sqrt(d_k) on one side and 1 on the other. Width d_k takes the first d_k numbers of each vector.

    Args:
        query: `(R, d)`: R draws, 1 to 8, which the reader leafs through.
        key: `(R, S, d)`, S from 2 to 32.
        value: `(R, S)`: one number a key.
        question: what the reader is to find out.
        observe: what the reader should then have seen.

    Returns:
        The figure.

    Raises:
        OptionError: too many draws or keys.
        ShapeError: shapes that do not fit each other.
        AttentionError: NaN or infinity.

    Example:
        >>> saturate(torch.ones(1, 4), torch.eye(4)[None, :2], torch.tensor([[0.0, 1.0]]))
        Figure: Gradient at the query, d_k from 1 to 4: 0.197 to 0.177 divided by the root, 0.197 to 0.354 not divided.
    """
    k = finite(key, "key", (None, None, None))
    draws, n, width = k.shape
    if draws > 8 or not 2 <= n <= 32:
        raise OptionError(f"key has {draws} draws of {n} keys, but this figure shows 1 to 8 draws of 2 to 32 keys")
    q, v = finite(query, "query", (draws, width)), finite(value, "value", (draws, n))
    widths = [2**p for p in range(width.bit_length()) if 2**p <= width]
    packed = []
    for r in range(draws):
        scores = torch.stack([k[r, :, :d].double() @ q[r, :d].double() for d in widths])  # (widths, S)
        grams = torch.stack([k[r, :, :d].double() @ k[r, :, :d].double().T for d in widths])  # (widths, S, S)
        packed.append({"scores": pack(scores.float()), "grams": pack(grams.float()), "value": pack(v[r])})

    kinds = {"divided by the root": -0.5, "not divided": 0.0}
    measured = {name: [row(q[0], k[0], v[0], d, d**power) for d in widths] for name, power in kinds.items()}
    slopes = {name: [gradient for _, gradient in rows] for name, rows in measured.items()}
    told = ", ".join(f"{slope[0]:.3f} to {slope[-1]:.3f} {name}" for name, slope in slopes.items())
    alt = f"Gradient at the query, d_k from 1 to {widths[-1]}: {told}."
    picture = lines({name: (widths, [max(x, 1e-5) for x in slope]) for name, slope in slopes.items()},
                    x_label="d_k", y_label="gradient at the query", x_log=True, y_log=True, alt=alt)  # fmt: skip
    table = [["d_k", "largest weight, divided", "not divided", "gradient, divided", "not divided"]]
    for p, d in enumerate(widths):
        table.append([str(d), *[f"{measured[name][p][at]:.3f}" for at in (0, 1) for name in kinds]])
    data = {"widths": widths, "draws": packed, "keys": n, "at": min(6, len(widths) - 1)}
    return Figure("attn-saturation", data | texts(question, observe), table, picture)


def row(query: Tensor, key: Tensor, value: Tensor, d: int, scale: float) -> tuple[float, float]:
    """Largest weight and length of the gradient, by autograd.

    Args:
        query: `(width,)`.
        key: `(S, width)`.
        value: `(S,)`.
        d: how many numbers of each vector count.
        scale: what the scores are multiplied by.

    Returns:
        Both numbers.

    Example:
        >>> row(torch.zeros(1), torch.tensor([[1.0], [-1.0]]), torch.tensor([1.0, 0.0]), 1, 1.0)
        (0.5, 0.5)
    """
    q = query[:d].double().requires_grad_()
    weights = torch.softmax(scale * (key[:, :d].double() @ q), dim=0)  # (S,)
    (gradient,) = torch.autograd.grad(weights @ value.double(), q)
    return weights.max().item(), gradient.norm().item()
