"""`explore`: the four steps of attention, word by word, on the caller's own numbers."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from attention_lib.attention import attention_weights
from attention_lib.errors import AttentionError, OptionError
from attention_lib.plot.heat_chart import heatmap
from attention_lib.viz.figure import Figure
from attention_lib.viz.inputs import finite, pack, texts, whole, words

MOST_LABELLED = 24
"""Tokens up to which the printed picture names them."""

STEPS = ("scores", "scaled", "softmax", "weighted sum")


def explore(
    tokens: Sequence[str],
    *,
    query: Any = None,
    key: Any = None,
    value: Any = None,
    weights: Any = None,
    names: Sequence[str] | None = None,
    row: int = 0,
    step: str = "softmax",
    causal: bool = False,
    question: str | None = None,
    observe: str | None = None,
) -> Figure:
    """Scores, scale, softmax and weighted sum, tokens by tokens, with every number explained.

    Formula: weights = softmax(query key^T / (sqrt(d_k) temperature)), output = weights value.

    Args:
        tokens: n texts, 1 to 128.
        query: `(n, d_k)`, or `(H, n, d_k)` for several heads.
        key: the same shape as `query`.
        value: `(n, d_v)` or `(H, n, d_v)`; None leaves out the last step.
        weights: `(n, n)` or `(H, n, n)` instead of query and key; then only they are shown.
        names: H names of the heads.
        row: the token that looks first.
        step: the first step shown, one of "scores", "scaled", "softmax", "weighted sum".
        causal: whether the causal mask is on at first.
        question: what the reader is to find out.
        observe: what the reader should then have seen.

    Returns:
        The figure.

    Raises:
        OptionError: query and key and weights do not make one figure, or an option is out of range.
        ShapeError: shapes that do not fit the tokens.
        AttentionError: NaN, infinity, or weights whose rows do not sum to 1.

    Example:
        >>> import torch
        >>> explore(["a", "b"], query=torch.eye(2), key=torch.eye(2))
        Figure: Attention of 2 tokens. a looks most at a, with weight 0.67; b looks most at b, with weight 0.67.
    """
    tokens = words(tokens, "tokens")
    row = whole(row, "row", 0, len(tokens) - 1)
    _check_options(step, causal and weights is not None)
    if (weights is None) == (query is None or key is None):
        given = _given(query, key, weights)
        raise OptionError(f"give either query and key (and value), or weights: this call has {given}")
    n = len(tokens)
    heads = _weights_alone(weights, n) if weights is not None else _heads(query, key, value, n)
    sizes = {size: heads[0][part].shape[1] for size, part in (("d", "q"), ("dv", "v")) if part in heads[0]}
    data = {"tokens": tokens, "heads": _packed(heads, names), "row": row, "step": STEPS.index(step), "causal": causal}
    shown = heads[0]["w"] if "w" in heads[0] else attention_weights(heads[0]["q"], heads[0]["k"], causal=causal)
    return _figure(tokens, shown, data | sizes | texts(question, observe))


def _check_options(step: Any, masked_weights: bool) -> None:
    if step not in STEPS:
        raise OptionError(f"step={step!r} is not known; choose one of {', '.join(STEPS)}")
    if masked_weights:
        raise OptionError("causal=True needs query and key; weights are shown as they are")


def _packed(heads: list[dict[str, Tensor]], names: Sequence[str] | None) -> list[dict[str, str]]:
    """Each head's name and numbers, as the page reads them."""
    named = [str(i) for i in range(len(heads))] if names is None else words(names, "names", most=64)
    if len(named) != len(heads):
        raise OptionError(f"names has length {len(named)}, but there are {len(heads)} heads; give one name a head")
    return [{"name": name} | {k: pack(v) for k, v in head.items()} for name, head in zip(named, heads, strict=True)]


def _given(*tensors: Any) -> str:
    names = [name for name, tensor in zip(("query", "key", "weights"), tensors, strict=True) if tensor is not None]
    return " and ".join(names) or "none of them"


def _by_head(tensor: Any, argument: str, shape: tuple[int | None, ...]) -> list[Tensor]:
    """`(H, ...)` or `(...)` as a list over the heads."""
    several = getattr(tensor, "ndim", len(shape)) == len(shape) + 1
    found = finite(tensor, argument, (None, *shape) if several else shape)
    return list(found) if several else [found]


def _heads(query: Any, key: Any, value: Any, n: int) -> list[dict[str, Tensor]]:
    queries = _by_head(query, "query", (n, None))
    keys = _by_head(key, "key", (n, queries[0].shape[1]))
    values = _by_head(value, "value", (n, None)) if value is not None else None
    for name, found in (("key", keys), ("value", values)):
        if found is not None and len(found) != len(queries):
            raise OptionError(f"query has {len(queries)} heads, but {name} has {len(found)}; give each the same number")
    parts = {"q": queries, "k": keys} | ({"v": values} if values else {})
    return [{name: parts[name][i] for name in parts} for i in range(len(queries))]


def _weights_alone(weights: Any, n: int) -> list[dict[str, Tensor]]:
    heads = _by_head(weights, "weights", (n, n))
    for head in heads:
        sums = head.double().sum(dim=1)
        wrong = (((sums - 1).abs() > 1e-3) & (sums != 0)) | (head < 0).any(dim=1)
        if wrong.any():
            i = int(wrong.nonzero()[0])
            least = head[i].min().item()
            what = f"sums to {sums[i]:.3f}, not to 1" if least >= 0 else f"holds {least:.3f}, below 0"
            raise AttentionError(f"weights: row {i} {what}; weights come after the softmax, scores before it")
    return [{"w": head} for head in heads]


def _figure(tokens: list[str], weights: Tensor, data: dict) -> Figure:
    most = [(token, tokens[int(line.argmax())], float(line.max())) for token, line in zip(tokens, weights, strict=True)]
    few = most[data["row"] : data["row"] + 1] if len(tokens) > 3 else most
    told = "; ".join(f"{token} looks most at {other}, with weight {share:.2f}" for token, other, share in few)
    alt = f"Attention of {len(tokens)} {'token' if len(tokens) == 1 else 'tokens'}. {told}."
    labels = tokens if len(tokens) <= MOST_LABELLED else None
    picture = heatmap(
        weights, row_title="query", column_title="key", alt=alt, vmax=1.0, row_labels=labels, column_labels=labels
    )
    head = ["query", "looks most at", "weight"]
    return Figure("attn-explorer", data, [head, *[(a, b, f"{share:.3f}") for a, b, share in most]], picture)
