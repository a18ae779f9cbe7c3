"""Step 4: the output of a query is the weighted sum of the values."""

from __future__ import annotations

from torch import Tensor

from attention_lib.axes import check_tensor
from attention_lib.errors import ShapeError
from attention_lib.shapes import Float
from attention_lib.steps.precision import widen

__all__ = ["weighted_sum"]


def weighted_sum(weights: Float[Tensor, "... L S"], value: Float[Tensor, "... S d_v"]) -> Float[Tensor, "... L d_v"]:
    """Mix the values by the weights.

    ``output[i] = sum over j of weights[i, j] * value[j]``

    Args:
        weights: ``(..., L, S)``, as ``masked_softmax`` returns them.
        value: ``(..., S, d_v)``, leading axes equal to those of the weights or 1.

    Returns:
        ``(..., L, d_v)`` in the value's dtype. Where the weights of a row sum to 1, the output lies in the
        convex hull of the values.

    Raises:
        ShapeError: S, the leading axes, the dtypes or the devices of weights and value differ.

    Example:
        >>> import torch
        >>> weighted_sum(torch.tensor([[0.25, 0.75]]), torch.tensor([[4.0], [8.0]]))
        tensor([[7.]])

    Source:
        Vaswani et al. (2017), Attention Is All You Need, equation 1.
    """
    check_tensor("weights", weights)
    check_tensor("value", value)
    shapes = f"shapes {tuple(weights.shape)} and {tuple(value.shape)}"
    if weights.ndim < 2 or weights.ndim != value.ndim:
        raise ShapeError(
            f"weights has {weights.ndim} axes but value has {value.ndim}; both need (..., length, width); {shapes}"
        )
    if weights.shape[-1] != value.shape[-2]:
        raise ShapeError(f"axis S is {weights.shape[-1]} in weights but {value.shape[-2]} in value; {shapes}")
    for axis in range(-weights.ndim, -2):
        size, other = weights.shape[axis], value.shape[axis]
        if size != other and 1 not in (size, other):
            letter = "H" if axis == -3 and weights.ndim >= 4 else "B"
            raise ShapeError(f"axis {letter} is {size} in weights but {other} in value; {shapes}")
    if weights.dtype != value.dtype:
        raise ShapeError(
            f"dtype is {weights.dtype} in weights but {value.dtype} in value; convert one: value.to(weights.dtype)"
        )
    if weights.device != value.device:
        raise ShapeError(
            f"device is {weights.device} for weights but {value.device} for value; move one: value.to(weights.device)"
        )
    return (widen(weights) @ widen(value)).to(value.dtype)  # (..., L, d_v)
