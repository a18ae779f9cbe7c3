"""`run_tiny`: a small trained transformer that runs in the page, on whatever the reader types."""

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attention_lib.axes import check_tensor
from attention_lib.errors import OptionError, ShapeError
from attention_lib.plot.heat_chart import heatmaps
from attention_lib.viz.figure import Figure
from attention_lib.viz.inputs import finite, pack, texts, whole

MOST = 40_000
"""Bytes of weights that a page may carry."""


def round_weights(parameters: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The parameters as a page computes with them: each row in 255 steps of its own largest number.

    Args:
        parameters: name -> tensor of one or two axes, as `state_dict()` gives them.

    Returns:
        The same names and shapes, float32; load them into a model to see what rounding changes.

    Raises:
        ShapeError: no tensor, or one with more than two axes.
        AttentionError: NaN or infinity.

    Example:
        >>> round_weights({"bias": torch.tensor([1.27, 0.004, -0.52])})["bias"]
        tensor([ 1.2700,  0.0000, -0.5200])
    """
    rounded = {}
    for name, tensor in parameters.items():
        steps, scale = _in_steps(name, tensor)
        rounded[name] = (steps.float() * scale[:, None]).reshape(tensor.shape)
    return rounded


def _in_steps(name: str, tensor: Tensor) -> tuple[Tensor, Tensor]:
    """Whole numbers from -127 to 127, `(rows, columns)`, and what each row is to be multiplied by."""
    check_tensor(name, tensor)
    if tensor.ndim not in (1, 2):
        raise ShapeError(f"{name} has shape {tuple(tensor.shape)}, but a page takes parameters of 1 or 2 axes")
    rows = finite(tensor if tensor.ndim == 2 else tensor[None], name, (None, None))
    scale = (rows.abs().amax(dim=1) / 127).clamp_min(1e-12)  # (rows,)
    return (rows / scale[:, None]).round().to(torch.int8), scale


def run_tiny(
    parameters: Mapping[str, Tensor],
    text: str,
    *,
    symbols: str = "ABCDEFGHIJKLMNOP",
    weights: Any,
    row: int = 0,
    question: str | None = None,
    observe: str | None = None,
) -> Figure:
    """A two-layer model, one head a layer, computing in the page: type letters, see both heads and every answer.

    Args:
        parameters: the `state_dict()` of a `LanguageModel` with one head a layer, `norm_first`, relu and learned
            positions. They are rounded as `round_weights` does, at most 40 kB.
        text: letters to begin with.
        symbols: the letter of each symbol, in the model's order.
        weights: `(layers, n, n)`, the model's own weights on `text`, for the table and the printed picture.
        row: the position that looks first.
        question: what the reader is to find out.
        observe: what the reader should then have seen.

    Returns:
        The figure.

    Raises:
        OptionError: letters the model does not know, a text too long, weights too large for a page, or parameters
            of another kind of model.
        ShapeError: `weights` that do not fit the text.
        AttentionError: NaN or infinity.
    """
    longest = _checked(parameters, symbols)
    unknown = sorted(set(text) - set(symbols))
    if unknown or not 1 <= len(text) <= longest:
        raise OptionError(f"text={text!r} must be 1 to {longest} of the letters {symbols}")
    row = whole(row, "row", 0, len(text) - 1)
    layers = finite(weights, "weights", (None, len(text), len(text)))
    parts = [(name, *_in_steps(name, tensor)) for name, tensor in parameters.items()]
    packed = np.concatenate([steps.numpy().ravel() for _, steps, _ in parts]).astype(np.int8).tobytes()
    if len(packed) > MOST:
        raise OptionError(
            f"the parameters take {len(packed)} bytes, but a page carries at most {MOST}; train a smaller model"
        )
    data = {
        "symbols": symbols,
        "table": [[name, *steps.shape] for name, steps, _ in parts],
        "scales": pack(torch.cat([scale for *_, scale in parts])),
        "bytes": base64.b64encode(packed).decode(),
        **{"longest": longest, "text": text, "row": row},
    }
    return _figure(text, layers, data | texts(question, observe))


def _checked(parameters: Mapping[str, Tensor], symbols: str) -> int:
    """The greatest length, after a look at whether these are the parameters of such a model."""
    needed = ("embedding.weight", "embedding.learned", "vote.weight", "vote.bias", "stack.norm.weight")
    missing = [name for name in needed if name not in parameters]
    if missing:
        raise OptionError(f"parameters lack {missing[0]!r}; give the state_dict() of a LanguageModel, norm_first=True")
    if len(parameters["vote.bias"]) != len(symbols):
        raise OptionError(f"symbols={symbols!r} are {len(symbols)}, but the model has {len(parameters['vote.bias'])}")
    return len(parameters["embedding.learned"])


def _figure(text: str, layers: Tensor, data: dict) -> Figure:
    i = len(text) - 1
    told = [f"in layer {k + 1} at {text[int(w[i].argmax())]} ({w[i].max():.2f})" for k, w in enumerate(layers)]
    alt = f"A small transformer has read {text}. The last letter looks most {', '.join(told)}."
    names = {f"layer {k + 1}": w for k, w in enumerate(layers)}
    picture = heatmaps(names, row_title="query", column_title="key", alt=alt, vmax=1.0, value_format=".1f",
                       row_labels=list(text), column_labels=list(text), columns=1)  # fmt: skip
    table = [["position", "letter", *[f"looks most in layer {k + 1}" for k in range(len(layers))]]]
    for j, letter in enumerate(text):
        seen = [f"{text[int(w[j].argmax())]} at {int(w[j].argmax()) + 1}, {w[j].max():.3f}" for w in layers]
        table.append([str(j + 1), letter, *seen])
    return Figure("tiny-transformer", data, table, picture)
