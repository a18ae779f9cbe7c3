"""`move_query`: a query in the plane that the reader drags, and the lookup that follows it."""

from collections.abc import Sequence
from typing import Any

import torch

from attention_lib.axes import is_real
from attention_lib.errors import OptionError
from attention_lib.plot.vector_chart import vectors
from attention_lib.viz.figure import Figure
from attention_lib.viz.inputs import finite, numbers, pack, texts, words


def move_query(
    query: Any,
    keys: Any,
    values: Any,
    *,
    names: Sequence[str] | None = None,
    temperature: float = 1.0,
    question: str | None = None,
    observe: str | None = None,
) -> Figure:
    """Drag a query: its dot products, the weights and the answer move along.

    Formula: weights = softmax(keys query / temperature), answer = weights values.

    Args:
        query: `(2,)`, where the query starts.
        keys: `(S, 2)`, S from 1 to 12.
        values: `(S,)`, `(S, 1)` or `(S, 2)`; the last are drawn as points of the plane.
        names: S names of the keys; None is "key 1", "key 2", ...
        temperature: from 0.01 to 10, where its slider starts.
        question: what the reader is to find out.
        observe: what the reader should then have seen.

    Returns:
        The figure.

    Raises:
        OptionError: too many keys, another number of names, or a temperature out of range.
        ShapeError: a tensor of another shape.
        AttentionError: NaN or infinity.

    Example:
        >>> move_query([1.0, 0.0], [[1.0, 0.0], [0.0, 1.0]], [10.0, 20.0])
        Figure: A query (1.00, 0.00) and 2 keys. Weights: key 1 0.731, key 2 0.269. Answer: 12.689.
    """
    k = finite(keys, "keys", (None, 2))
    if len(k) > 12:
        raise OptionError(f"keys has length {len(k)}, but this figure shows 1 to 12; pass a slice: keys[:12]")
    q, found = finite(query, "query", (2,)), numbers(values, "values")
    v = finite(found[:, None] if found.ndim == 1 else found, "values", (len(k), None))
    if v.shape[1] > 2:
        raise OptionError(f"values has {v.shape[1]} numbers a key, but this figure shows 1 or 2: values[:, :2]")
    if not is_real(temperature) or not 0.01 <= temperature <= 10:
        raise OptionError(f"temperature={temperature!r} must be a number from 0.01 to 10")
    named = words(names, "names", most=12) if names is not None else [f"key {j + 1}" for j in range(len(k))]
    if len(named) != len(k):
        raise OptionError(f"names has length {len(named)}, but there are {len(k)} keys; give one name a key")

    matches = k.double() @ q.double()  # (S,)
    weights = torch.softmax(matches / temperature, dim=0)  # (S,)
    answer = ", ".join(f"{x:.3f}" for x in (weights @ v.double()).tolist())
    told = ", ".join(f"{name} {w:.3f}" for name, w in zip(named, weights.tolist(), strict=True))
    alt = f"A query ({q[0]:.2f}, {q[1]:.2f}) and {len(k)} keys. Weights: {told}. Answer: {answer}."
    picture = vectors({"query": q, **{f"{name} ": key for name, key in zip(named, k, strict=True)}}, alt=alt,
                      roles={f"{name} ": "key" for name in named})  # fmt: skip
    rows = zip(named, matches.tolist(), weights.tolist(), strict=True)
    table = [["key", "q · k", "weight"], *[(name, f"{match:.3f}", f"{weight:.3f}") for name, match, weight in rows]]
    data = {"names": named, "keys": pack(k), "values": pack(v), "query": pack(q), "dv": v.shape[1]}
    return Figure("attn-vectors", data | {"temperature": float(temperature)} | texts(question, observe), table, picture)
