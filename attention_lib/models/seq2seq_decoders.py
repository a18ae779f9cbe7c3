"""Three ways for a recurrent decoder to use what the encoder read.

All read embedded tokens (B, T, d) after a state (B, d), and return one feature vector a token, the new state, and
the weights (B, T, S) over the encoder's states, or None.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from attention_lib.attention import attention
from attention_lib.layers.additive import AdditiveScores
from attention_lib.shapes import Float
from attention_lib.steps.softmax import masked_softmax
from attention_lib.steps.values import weighted_sum

__all__ = ["AdditiveDecoder", "DecoderStep", "DotDecoder", "FixedVectorDecoder", "Memory"]


class Memory(NamedTuple):
    """What the encoder left: ``states`` (B, S, d), ``mask`` (B, 1, S) or None, ``last`` (B, d)."""

    states: Tensor
    mask: Tensor | None
    last: Tensor


class DecoderStep(NamedTuple):
    """``features`` (B, T, d), ``state`` (B, d), ``weights`` (B, T, S) or None."""

    features: Tensor
    state: Tensor
    weights: Tensor | None


class FixedVectorDecoder(nn.Module):
    """Sees the source through one vector alone: the encoder's last state, where its own states begin.

    Source: Sutskever, Vinyals, Le (2014), Sequence to Sequence Learning with Neural Networks.
    """

    def __init__(self, d_state: int) -> None:
        super().__init__()
        self.cell = nn.GRU(d_state, d_state, batch_first=True)

    def forward(self, x: Float[Tensor, "B T d"], state: Float[Tensor, "B d"], memory: Memory) -> DecoderStep:
        features, state = self.cell(x, state[None])  # (B, T, d), (1, B, d)
        return DecoderStep(features, state[0], None)


class DotDecoder(nn.Module):
    r"""Luong: the new state asks, by dot product; what it finds is mixed in *after* the recurrence.

    .. math:: c_t = \mathrm{attend}(s_t, H), \quad \tilde s_t = \tanh(W [c_t; s_t])

    The state never sees what was found, so all T states come first and one attention serves them together.

    Source: Luong, Pham, Manning (2015), Effective Approaches to Attention-based NMT, section 3.1, score "dot".
    """

    def __init__(self, d_state: int) -> None:
        super().__init__()
        self.cell = nn.GRU(d_state, d_state, batch_first=True)
        self.combine = nn.Linear(2 * d_state, d_state)

    def forward(self, x: Float[Tensor, "B T d"], state: Float[Tensor, "B d"], memory: Memory) -> DecoderStep:
        states, state = self.cell(x, state[None])  # (B, T, d)
        found, weights = attention(states, memory.states, memory.states, memory.mask, scale=1.0, need_weights=True)
        features = torch.tanh(self.combine(torch.cat((found, states), dim=-1)))  # (B, T, d)
        return DecoderStep(features, state[0], weights)


class AdditiveDecoder(nn.Module):
    r"""Bahdanau: the old state asks, through a small network; what it finds goes *into* the recurrence.

    .. math:: c_t = \mathrm{attend}(s_{t-1}, H), \quad s_t = \mathrm{GRU}([x_t; c_t], s_{t-1})

    Each question needs the state before it, so the T steps run one after another.

    Source: Bahdanau, Cho, Bengio (2014), A.2.2 (without its maxout layer).
    """

    def __init__(self, d_state: int) -> None:
        super().__init__()
        self.scores = AdditiveScores(d_state, d_state, d_state)
        self.cell = nn.GRUCell(2 * d_state, d_state)
        self.combine = nn.Linear(2 * d_state, d_state)

    def forward(self, x: Float[Tensor, "B T d"], state: Float[Tensor, "B d"], memory: Memory) -> DecoderStep:
        projected = self.scores.project_keys(memory.states)  # (B, S, d)
        features, every = [], []
        for token in x.unbind(dim=1):  # (B, d)
            scores = self.scores.from_projected(state[:, None], projected)  # (B, 1, S)
            weights = masked_softmax(scores, memory.mask)
            found = weighted_sum(weights, memory.states)  # (B, 1, d)
            state = self.cell(torch.cat((token, found[:, 0]), dim=-1), state)  # (B, d)
            features.append(torch.tanh(self.combine(torch.cat((found[:, 0], state), dim=-1))))
            every.append(weights)
        return DecoderStep(torch.stack(features, dim=1), state, torch.cat(every, dim=1))
