"""The cells of RNN, GRU and LSTM: one step each, the formula right above its lines.

The parameters carry torch's own names, so weights move both ways, and the gates lie in torch's order: one
block of d_state rows a gate, stacked. Letters: B batch, d_in input width, d_state state width.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from attention_lib.arguments import check_number
from attention_lib.axes import is_whole
from attention_lib.errors import OptionError
from attention_lib.shapes import Float

__all__ = ["Cell", "GRUCell", "LSTMCell", "RNNCell"]


class Cell(nn.Module):
    """The four parameters that all three cells have; ``gates`` says how many blocks of d_state rows."""

    gates = 1

    def __init__(self, d_in: int, d_state: int) -> None:
        super().__init__()
        for name, width in (("d_in", d_in), ("d_state", d_state)):
            if not is_whole(width) or width < 1:
                raise OptionError(f"{name}={width!r} must be a whole number, 1 or more")
        self.d_in, self.d_state = d_in, d_state
        rows = self.gates * d_state
        self.weight_ih = nn.Parameter(torch.empty(rows, d_in))
        self.weight_hh = nn.Parameter(torch.empty(rows, d_state))
        self.bias_ih = nn.Parameter(torch.empty(rows))
        self.bias_hh = nn.Parameter(torch.empty(rows))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw as torch does, in the same order: uniform within 1/sqrt(d_state)."""
        bound = 1 / math.sqrt(self.d_state)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -bound, bound)

    def from_input(self, x: Tensor) -> Tensor:
        return x @ self.weight_ih.T + self.bias_ih  # (B, gates * d_state)

    def from_state(self, h: Tensor) -> Tensor:
        return h @ self.weight_hh.T + self.bias_hh  # (B, gates * d_state)

    def first_state(self, x: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        """All zeros, in the dtype and on the device of ``x`` (B, ...)."""
        return x.new_zeros(x.shape[0], self.d_state)


class RNNCell(Cell):
    r"""One step of the plain recurrent network (Elman).

    .. math:: h_t = \tanh(W_{ih} x_t + b_{ih} + W_{hh} h_{t-1} + b_{hh})

    Args:
        d_in: Width of one input.
        d_state: Width of the state.

    Raises:
        OptionError: A width that is not a whole number, 1 or more.

    Example:
        With all weights 1 and no bias, from state 0.5 and input 1: tanh(1 + 0.5).

        >>> cell = RNNCell(1, 1)
        >>> for name, parameter in cell.named_parameters():
        ...     _ = nn.init.constant_(parameter, 0.0 if "bias" in name else 1.0)
        >>> f"{cell(torch.tensor([[1.0]]), torch.tensor([[0.5]])).item():.3f}"
        '0.905'

    Source: Elman, "Finding structure in time" (1990); torch's nn.RNNCell.
    """

    def forward(self, x: Float[Tensor, "B d_in"], h: Float[Tensor, "B d_state"]) -> Float[Tensor, "B d_state"]:
        return torch.tanh(self.from_input(x) + self.from_state(h))


class GRUCell(Cell):
    r"""One step of the gated recurrent unit: a reset gate r, an update gate z, a candidate n.

    .. math::
        r &= \sigma(W_{ir} x_t + b_{ir} + W_{hr} h_{t-1} + b_{hr}) \\
        z &= \sigma(W_{iz} x_t + b_{iz} + W_{hz} h_{t-1} + b_{hz}) \\
        n &= \tanh(W_{in} x_t + b_{in} + r \odot (W_{hn} h_{t-1} + b_{hn})) \\
        h_t &= (1 - z) \odot n + z \odot h_{t-1}

    Args:
        d_in: Width of one input.
        d_state: Width of the state.

    Raises:
        OptionError: A width that is not a whole number, 1 or more.

    Example:
        With every parameter 0, both gates are one half and the candidate is 0: the state is halved.

        >>> cell = GRUCell(1, 1)
        >>> for parameter in cell.parameters():
        ...     _ = nn.init.zeros_(parameter)
        >>> cell(torch.tensor([[1.0]]), torch.tensor([[0.5]])).item()
        0.25

    Source: Cho et al. (2014), section 2.3; the order of reset and product is torch's nn.GRUCell.
    """

    gates = 3

    def forward(self, x: Float[Tensor, "B d_in"], h: Float[Tensor, "B d_state"]) -> Float[Tensor, "B d_state"]:
        input_r, input_z, input_n = self.from_input(x).chunk(3, dim=-1)  # (B, d_state) each
        state_r, state_z, state_n = self.from_state(h).chunk(3, dim=-1)  # (B, d_state) each
        r = torch.sigmoid(input_r + state_r)
        z = torch.sigmoid(input_z + state_z)
        n = torch.tanh(input_n + r * state_n)
        return (1 - z) * n + z * h


class LSTMCell(Cell):
    r"""One step of long short-term memory: gates i, f, o, a candidate g, and a second state, the cell c.

    .. math::
        i, f, o &= \sigma(W x_t + b + U h_{t-1} + b') \quad \text{(one block of rows each)} \\
        g &= \tanh(W_g x_t + b_g + U_g h_{t-1} + b_g') \\
        c_t &= f \odot c_{t-1} + i \odot g \\
        h_t &= o \odot \tanh(c_t)

    Args:
        d_in: Width of one input.
        d_state: Width of h and of c.
        forget_bias: Start the forget gate's bias here (the two biases together); None starts as torch does,
            near 0, where the gate is about one half.

    Raises:
        OptionError: A width that is not a whole number, 1 or more, or ``forget_bias`` is no number.

    Example:
        With every parameter 0 all gates are one half and the candidate is 0: c is halved.

        >>> cell = LSTMCell(1, 1)
        >>> for parameter in cell.parameters():
        ...     _ = nn.init.zeros_(parameter)
        >>> h, c = cell(torch.tensor([[1.0]]), (torch.tensor([[0.0]]), torch.tensor([[0.5]])))
        >>> f"{h.item():.3f} {c.item():.3f}"
        '0.122 0.250'

    Source: Hochreiter and Schmidhuber (1997); forget gate and its bias: Gers et al. (2000); nn.LSTMCell.
    """

    gates = 4

    def __init__(self, d_in: int, d_state: int, *, forget_bias: float | None = None) -> None:
        super().__init__(d_in, d_state)
        if forget_bias is not None:
            check_number(forget_bias=forget_bias)
            forget = slice(d_state, 2 * d_state)  # torch's order of the blocks: i, f, g, o
            with torch.no_grad():
                self.bias_ih[forget] = forget_bias
                self.bias_hh[forget] = 0.0

    def first_state(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Zeros for h and for c."""
        zeros = x.new_zeros(x.shape[0], self.d_state)
        return zeros, zeros

    def forward(
        self, x: Float[Tensor, "B d_in"], state: tuple[Float[Tensor, "B d_state"], Float[Tensor, "B d_state"]]
    ) -> tuple[Float[Tensor, "B d_state"], Float[Tensor, "B d_state"]]:
        h, c = state
        i, f, g, o = (self.from_input(x) + self.from_state(h)).chunk(4, dim=-1)  # (B, d_state) each
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c
