"""The feed-forward network: by hand, against torch, position by position."""

import math

import pytest
import torch
from torch import nn

from attention_lib.errors import OptionError, ShapeError
from attention_lib.layers.feed_forward import FeedForward

B, L, D, D_FF = 2, 7, 5, 11


def test_gelu_by_hand():
    layer = FeedForward(1, 1, activation="gelu").double()
    for name, parameter in layer.named_parameters():
        nn.init.constant_(parameter, 0.5 if "bias" in name else 2.0)
    inside = 2.0 * 0.3 + 0.5
    expected = 2.0 * inside * 0.5 * (1 + math.erf(inside / math.sqrt(2))) + 0.5
    assert layer(torch.tensor([[0.3]], dtype=torch.float64)).item() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("activation", "module"), [("relu", nn.ReLU()), ("gelu", nn.GELU())])
def test_equal_to_torch_with_gradients(activation, module):
    layer = FeedForward(D, D_FF, activation=activation).double()
    theirs = nn.Sequential(nn.Linear(D, D_FF), module, nn.Linear(D_FF, D)).double()
    theirs[0].load_state_dict(layer.w_1.state_dict())
    theirs[2].load_state_dict(layer.w_2.state_dict())
    x = torch.randn(B, L, D, dtype=torch.float64, requires_grad=True)
    signal = torch.randn(B, L, D, dtype=torch.float64)
    torch.testing.assert_close(layer(x), theirs(x))
    ours = torch.autograd.grad((layer(x) * signal).sum(), [x, layer.w_1.weight, layer.w_2.bias])
    want = torch.autograd.grad((theirs(x) * signal).sum(), [x, theirs[0].weight, theirs[2].bias])
    for mine, other in zip(ours, want, strict=True):
        torch.testing.assert_close(mine, other)


def test_positions_do_not_mix():
    layer, x = FeedForward(D, D_FF), torch.randn(B, L, D)
    changed = x.clone()
    changed[:, 3] = 9.0
    different = (layer(changed) != layer(x)).any(dim=-1)[0]
    assert different.nonzero().flatten().tolist() == [3]


def test_dropout_acts_in_training_alone():
    layer, x = FeedForward(D, 61, dropout_p=0.5), torch.randn(B, L, D)
    assert not torch.equal(layer(x), layer(x))
    layer.eval()
    assert torch.equal(layer(x), layer(x))


@pytest.mark.bad_input
def test_errors():
    with pytest.raises(OptionError, match="activation='swish' is not known; choose one of: relu, gelu"):
        FeedForward(D, D_FF, activation="swish")
    with pytest.raises(OptionError, match=r"dropout_p=1.0 must be in \[0, 1\)"):
        FeedForward(D, D_FF, dropout_p=1.0)
    with pytest.raises(ShapeError, match=r"d_model is 4 in x but 5 in this layer; shape \(2, 7, 4\)"):
        FeedForward(D, D_FF)(torch.zeros(B, L, 4))
