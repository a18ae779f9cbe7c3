"""The readers of the recall experiment: symbols in, a vote for the first symbol out.

The recurrent ones use torch's layers, which run the same steps as ours (``layers.recurrent``, equal to 1e-6 in
float64) in compiled code.
"""

from __future__ import annotations

from torch import Tensor, nn

from attention_lib.attention import attention
from attention_lib.shapes import Float, Int

__all__ = ["READERS", "AttentionReader", "RecurrentReader", "build_reader"]

WIDTH = 32


class RecurrentReader(nn.Module):
    """Symbol vectors, a recurrent layer, and a vote from its last state."""

    def __init__(self, layer: type[nn.LSTM] | type[nn.GRU], symbols: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(symbols, WIDTH)
        self.layer = layer(WIDTH, WIDTH, batch_first=True)
        self.vote = nn.Linear(WIDTH, symbols)

    def forward(self, tokens: Int[Tensor, "B L"]) -> Float[Tensor, "B symbols"]:
        states, _ = self.layer(self.embedding(tokens))  # (B, L, WIDTH)
        return self.vote(states[:, -1])


class AttentionReader(nn.Module):
    """Symbol vectors plus position vectors, one attention whose only query is the last position, a vote."""

    def __init__(self, symbols: int, longest: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(symbols, WIDTH)
        self.positions = nn.Embedding(longest, WIDTH)
        self.w_q = nn.Linear(WIDTH, WIDTH)
        self.w_k = nn.Linear(WIDTH, WIDTH)
        self.w_v = nn.Linear(WIDTH, WIDTH)
        self.vote = nn.Linear(WIDTH, symbols)

    def forward(self, tokens: Int[Tensor, "B L"]) -> Float[Tensor, "B symbols"]:
        x = self.embedding(tokens) + self.positions.weight[: tokens.shape[1]]  # (B, L, WIDTH)
        output, _ = attention(self.w_q(x[:, -1:]), self.w_k(x), self.w_v(x))  # (B, 1, WIDTH)
        return self.vote(output[:, 0])


READERS = ("LSTM", "GRU", "attention")


def build_reader(name: str, *, symbols: int, longest: int) -> nn.Module:
    """A fresh reader: "LSTM", "GRU" or "attention", for sequences up to ``longest``.

    Example:
        >>> import torch
        >>> build_reader("GRU", symbols=8, longest=20)(torch.zeros(3, 20, dtype=torch.long)).shape
        torch.Size([3, 8])
    """
    if name == "attention":
        return AttentionReader(symbols, longest)
    return RecurrentReader({"LSTM": nn.LSTM, "GRU": nn.GRU}[name], symbols)
