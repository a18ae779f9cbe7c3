"""The other half of a transformer layer: the same small network at every position."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn
from torch.nn.functional import gelu, relu

from attention_lib.arguments import check_weights_fit, check_whole
from attention_lib.axes import check_dropout, check_tensor
from attention_lib.errors import OptionError, ShapeError
from attention_lib.shapes import Float

__all__ = ["ACTIVATIONS", "FeedForward"]

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": relu, "gelu": gelu}


class FeedForward(nn.Module):
    """Widen, bend, narrow, at each position alone.

    ``output = activation(x W_1 + b_1) W_2 + b_2``, dropout after the activation as in torch.

    Args:
        d_model: Width of input and output.
        d_ff: Width in between.
        activation: "relu" (the paper) or "gelu" (BERT; the exact one, not its tanh approximation).
        dropout_p: Probability, in [0, 1), of dropping an entry while training.

    Raises:
        OptionError: A width that is not a whole number, 1 or more, another activation, or ``dropout_p`` out of range.

    Example:
        With both matrices 1 and no biases: relu(3) = 3, relu(-2) = 0.

        >>> import torch
        >>> layer = FeedForward(1, 1)
        >>> for name, parameter in layer.named_parameters():
        ...     _ = nn.init.constant_(parameter, 0.0 if "bias" in name else 1.0)
        >>> layer(torch.tensor([[[3.0], [-2.0]]])).flatten().tolist()
        [3.0, 0.0]

    Source:
        Vaswani et al. (2017), Attention Is All You Need, section 3.3, equation 2.
    """

    def __init__(self, d_model: int, d_ff: int, *, activation: str = "relu", dropout_p: float = 0.0) -> None:
        super().__init__()
        check_whole(d_model=d_model, d_ff=d_ff)
        if not isinstance(activation, str) or activation not in ACTIVATIONS:
            raise OptionError(f"activation={activation!r} is not known; choose one of: {', '.join(ACTIVATIONS)}")
        check_dropout(dropout_p, what="an entry")
        self.activation = activation
        self.w_1 = nn.Linear(d_model, d_ff)
        self.w_2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout_p)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        """Transform each position by itself.

        Args:
            x: ``(..., d_model)``.

        Returns:
            ``(..., d_model)``.

        Raises:
            ShapeError: The last axis of ``x`` is not ``d_model``, or its dtype or device is not the layer's.
        """
        check_tensor("x", x)
        if x.ndim == 0 or x.shape[-1] != self.w_1.in_features:
            raise ShapeError(
                f"axis d_model is {x.shape[-1] if x.ndim else 'not'} in x but {self.w_1.in_features} in this layer; "
                f"shape {tuple(x.shape)}; build the layer with d_model={x.shape[-1] if x.ndim else '...'}"
            )
        check_weights_fit("x", x, self.w_1.weight)
        hidden = ACTIVATIONS[self.activation](self.w_1(x))  # (..., d_ff)
        return self.w_2(self.dropout(hidden))  # (..., d_model)

    def extra_repr(self) -> str:
        return f"activation={self.activation!r}"
