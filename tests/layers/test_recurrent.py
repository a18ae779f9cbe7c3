"""RNN, GRU, LSTM: one step by hand, then equality with torch's layers, gradients included."""

import math

import pytest
import torch
from torch import nn

from attention_lib.errors import OptionError, ShapeError
from attention_lib.layers.recurrent import GRU, LSTM, RNN, GRUCell, LSTMCell, RNNCell

PAIRS = [(RNN, nn.RNN), (GRU, nn.GRU), (LSTM, nn.LSTM)]
B, L, D_IN, D_STATE = 3, 11, 5, 7


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def filled(cell, weight_ih, weight_hh, bias_ih, bias_hh):
    """The cell in float64, each parameter a column of the given numbers (one a gate)."""
    cell = cell.double()
    for name, numbers in (("weight_ih", weight_ih), ("weight_hh", weight_hh)):
        getattr(cell, name).data = torch.tensor(numbers, dtype=torch.float64)[:, None]
    cell.bias_ih.data = torch.tensor(bias_ih, dtype=torch.float64)
    cell.bias_hh.data = torch.tensor(bias_hh, dtype=torch.float64)
    return cell


def column(number):
    return torch.tensor([[number]], dtype=torch.float64)


def test_rnn_step_by_hand():
    cell = filled(RNNCell(1, 1), [2.0], [-3.0], [0.1], [0.2])
    assert cell(column(0.5), column(0.25)).item() == pytest.approx(math.tanh(1.0 + 0.1 - 0.75 + 0.2), abs=1e-15)


def test_gru_step_by_hand():
    cell = filled(GRUCell(1, 1), [0.5, -1.0, 2.0], [1.0, 0.3, -2.0], [0.1, 0.2, 0.3], [0.4, -0.1, 0.7])
    x, h = 0.6, 0.25
    r = sigmoid(0.5 * x + 0.1 + 1.0 * h + 0.4)
    z = sigmoid(-1.0 * x + 0.2 + 0.3 * h - 0.1)
    n = math.tanh(2.0 * x + 0.3 + r * (-2.0 * h + 0.7))
    assert cell(column(x), column(h)).item() == pytest.approx((1 - z) * n + z * h, abs=1e-15)


def test_lstm_step_by_hand():
    cell = filled(
        LSTMCell(1, 1),
        [0.5, -1.0, 2.0, 0.7],
        [1.0, 0.3, -2.0, 0.2],
        [0.1, 0.2, 0.3, 0.4],
        [0.0, 0.5, 0.0, 0.1],
    )
    x, h, c = 0.6, 0.25, -0.8
    i = sigmoid(0.5 * x + 1.0 * h + 0.1)
    f = sigmoid(-1.0 * x + 0.3 * h + 0.2 + 0.5)
    g = math.tanh(2.0 * x - 2.0 * h + 0.3)
    o = sigmoid(0.7 * x + 0.2 * h + 0.4 + 0.1)
    new_c = f * c + i * g
    new_h, got_c = cell(column(x), (column(h), column(c)))
    assert got_c.item() == pytest.approx(new_c, abs=1e-15)
    assert new_h.item() == pytest.approx(o * math.tanh(new_c), abs=1e-15)


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("bias", [True, False])
def test_equal_to_torch_with_gradients(ours, theirs, batch_first, bias):
    torch.manual_seed(2)
    module = theirs(D_IN, D_STATE, batch_first=batch_first, bias=bias).double()
    copy = ours.from_torch(module)
    x = torch.randn(B, L, D_IN, dtype=torch.float64, requires_grad=True)
    expected, last = module(x if batch_first else x.transpose(0, 1))
    expected = expected if batch_first else expected.transpose(0, 1)
    outputs, state = copy(x)
    torch.testing.assert_close(outputs, expected, rtol=1e-6, atol=1e-9)
    for got, want in zip(_parts(state), _parts(last), strict=True):
        torch.testing.assert_close(got, want[0], rtol=1e-6, atol=1e-9)
    signal = torch.randn_like(outputs)
    ours_grads = torch.autograd.grad((outputs * signal).sum(), [x, copy.cell.weight_ih, copy.cell.weight_hh])
    torch_grads = torch.autograd.grad((expected * signal).sum(), [x, module.weight_ih_l0, module.weight_hh_l0])
    for got, want in zip(ours_grads, torch_grads, strict=True):
        torch.testing.assert_close(got, want, rtol=1e-6, atol=1e-9)


def _parts(state):
    return state if isinstance(state, tuple) else (state,)


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_same_seed_draws_the_weights_of_torch(ours, theirs):
    torch.manual_seed(3)
    mine = ours(D_IN, D_STATE)
    torch.manual_seed(3)
    assert torch.equal(mine.cell.weight_hh, theirs(D_IN, D_STATE).weight_hh_l0)


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_two_halves_equal_the_whole(ours, theirs):
    layer = ours(D_IN, D_STATE).double()
    x = torch.randn(B, L, D_IN, dtype=torch.float64)
    whole, _ = layer(x)
    first, state = layer(x[:, :4])
    second, _ = layer(x[:, 4:], state)
    torch.testing.assert_close(torch.cat([first, second], dim=1), whole)


@pytest.mark.parametrize("ours", [RNN, GRU, LSTM])
def test_the_past_ignores_the_future(ours):
    layer = ours(D_IN, D_STATE)
    x = torch.randn(B, L, D_IN)
    changed = x.clone()
    changed[:, 6:] = 9.0
    assert torch.equal(layer(x)[0][:, :6], layer(changed)[0][:, :6])
    assert not torch.equal(layer(x)[0][:, 6:], layer(changed)[0][:, 6:])


def test_forget_bias_sets_the_forget_gate_alone():
    cell = LSTMCell(D_IN, D_STATE, forget_bias=1.0)
    both = cell.bias_ih + cell.bias_hh
    assert torch.equal(both[D_STATE : 2 * D_STATE], torch.ones(D_STATE))
    assert not (both[:D_STATE] == 1).any()
    assert not (both[2 * D_STATE :] == 1).any()


@pytest.mark.parametrize("ours", [RNN, GRU, LSTM])
@pytest.mark.bad_input
def test_shape_errors_name_both_values(ours):
    layer = ours(5, 7)
    with pytest.raises(ShapeError, match=r"d_in is 4 in x but 5 in the layer; shape \(3, 11, 4\)"):
        layer(torch.zeros(3, 11, 4))
    with pytest.raises(ShapeError, match=r"x has 2 axes, shape \(11, 5\); .* \(B, L, d_in=5\)"):
        layer(torch.zeros(11, 5))
    with pytest.raises(ShapeError, match=r"axis L is 0 in x, shape \(3, 0, 5\)"):
        layer(torch.zeros(3, 0, 5))


@pytest.mark.parametrize(
    ("d_in", "d_state", "message"), [(0, 7, "d_in=0"), (5, -2, "d_state=-2"), (True, 7, "d_in=True")]
)
@pytest.mark.bad_input
def test_width_errors(d_in, d_state, message):
    with pytest.raises(OptionError, match=f"{message} must be a whole number, 1 or more"):
        GRU(d_in, d_state)


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (nn.LSTM(5, 7, num_layers=2), "num_layers=2 .* num_layers=1"),
        (nn.LSTM(5, 7, bidirectional=True), "bidirectional=True .* bidirectional=False"),
        (nn.LSTM(5, 7, proj_size=3), "proj_size=3 .* proj_size=0"),
        (nn.GRU(5, 7), "LSTM.from_torch needs an nn.LSTM, got GRU"),
    ],
)
def test_from_torch_refuses_what_it_cannot_copy(module, message):
    with pytest.raises(OptionError, match=message):
        LSTM.from_torch(module)


def test_from_torch_refuses_relu():
    with pytest.raises(OptionError, match=r"nonlinearity='relu' .* nonlinearity='tanh'"):
        RNN.from_torch(nn.RNN(5, 7, nonlinearity="relu"))
