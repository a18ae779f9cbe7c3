"""RNN, GRU and LSTM as layers: the loop that runs a cell over a sequence, one position after another.

Letters: B batch, L length, d_in input width, d_state state width.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from attention_lib.arguments import check_weights_fit
from attention_lib.axes import check_tensor
from attention_lib.errors import OptionError, ShapeError
from attention_lib.layers.recurrent_cells import Cell, GRUCell, LSTMCell, RNNCell
from attention_lib.shapes import Float

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNCell"]


class _Recurrent(nn.Module):
    """The loop: step t needs the state of step t - 1, so the L steps run one after another."""

    torch_class: type[nn.RNNBase]

    def __init__(self, cell: Cell) -> None:
        super().__init__()
        self.cell = cell

    def forward(
        self, x: Float[Tensor, "B L d_in"], state: Tensor | tuple[Tensor, Tensor] | None = None
    ) -> tuple[Float[Tensor, "B L d_state"], Tensor | tuple[Tensor, Tensor]]:
        """Read a batch of sequences from left to right.

        Args:
            x: Inputs (B, L, d_in), L at least 1.
            state: State before the first input, (B, d_state), a pair (h, c) for the LSTM; None is all zeros.

        Returns:
            The state h after every position (B, L, d_state), and the last state in the form of ``state``.

        Raises:
            ShapeError: ``x`` has another number of axes, another width, or no position.
        """
        _check_sequence(x, self.cell.d_in)
        check_weights_fit("x", x, self.cell.weight_ih)
        state = self.cell.first_state(x) if state is None else state
        outputs = []
        for position in range(x.shape[1]):
            state = self.cell(x[:, position], state)  # (B, d_state)
            outputs.append(state[0] if isinstance(state, tuple) else state)
        return torch.stack(outputs, dim=1), state  # (B, L, d_state)

    @classmethod
    def from_torch(cls, module: nn.RNNBase) -> _Recurrent:
        """A copy of torch's layer: same weights, same outputs, always batch-first here.

        Raises:
            OptionError: ``module`` is of another class, or has an option that one plain layer lacks.
        """
        if not isinstance(module, cls.torch_class):
            raise OptionError(
                f"{cls.__name__}.from_torch needs an nn.{cls.torch_class.__name__}, got {type(module).__name__}"
            )
        _check_plain(module)
        ours = cls(module.input_size, module.hidden_size)  # type: ignore[call-arg,arg-type]
        weights = {name.removesuffix("_l0"): tensor for name, tensor in module.state_dict().items()}
        if not module.bias:
            weights |= {name: torch.zeros(len(weights["weight_ih"])) for name in ("bias_ih", "bias_hh")}
        ours.cell.load_state_dict(weights)
        return ours.to(weights["weight_ih"])


class RNN(_Recurrent):
    """A plain recurrent layer, nn.RNN's equal; the step is in :class:`RNNCell`.

    Example:
        >>> outputs, last = RNN(3, 5)(torch.zeros(2, 7, 3))
        >>> tuple(outputs.shape), torch.equal(outputs[:, -1], last)
        ((2, 7, 5), True)
    """

    torch_class = nn.RNN

    def __init__(self, d_in: int, d_state: int) -> None:
        super().__init__(RNNCell(d_in, d_state))


class GRU(_Recurrent):
    """A layer of gated recurrent units, nn.GRU's equal; the step is in :class:`GRUCell`.

    Example:
        >>> outputs, last = GRU(3, 5)(torch.zeros(2, 7, 3))
        >>> tuple(outputs.shape), torch.equal(outputs[:, -1], last)
        ((2, 7, 5), True)
    """

    torch_class = nn.GRU

    def __init__(self, d_in: int, d_state: int) -> None:
        super().__init__(GRUCell(d_in, d_state))


class LSTM(_Recurrent):
    """A layer of long short-term memory, nn.LSTM's equal; the step is in :class:`LSTMCell`.

    Example:
        >>> outputs, (h, c) = LSTM(3, 5, forget_bias=1.0)(torch.zeros(2, 7, 3))
        >>> tuple(outputs.shape), torch.equal(outputs[:, -1], h), tuple(c.shape)
        ((2, 7, 5), True, (2, 5))
    """

    torch_class = nn.LSTM

    def __init__(self, d_in: int, d_state: int, *, forget_bias: float | None = None) -> None:
        super().__init__(LSTMCell(d_in, d_state, forget_bias=forget_bias))


def _check_sequence(x: Tensor, d_in: int) -> None:
    check_tensor("x", x)
    if x.ndim != 3:
        raise ShapeError(f"x has {x.ndim} axes, shape {tuple(x.shape)}; a recurrent layer reads (B, L, d_in={d_in})")
    if x.shape[2] != d_in:
        raise ShapeError(f"axis d_in is {x.shape[2]} in x but {d_in} in the layer; shape {tuple(x.shape)}")
    if x.shape[1] == 0:
        raise ShapeError(f"axis L is 0 in x, shape {tuple(x.shape)}; a last state needs at least 1 position")


def _check_plain(module: nn.RNNBase) -> None:
    plain: dict[str, Any] = {"num_layers": 1, "bidirectional": False, "proj_size": 0}
    if isinstance(module, nn.RNN):
        plain["nonlinearity"] = "tanh"
    for option, only in plain.items():
        if (came := getattr(module, option)) != only:
            raise OptionError(f"{option}={came!r} cannot be converted; one plain layer has {option}={only!r}")
