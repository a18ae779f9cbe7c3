"""MobileViT: the round trip by hand and exact, what a pixel depends on, weights, errors."""

import pytest
import torch
from torch import nn

from attention_lib.errors import OptionError, ShapeError
from attention_lib.layers.stacks import LayerSpec
from attention_lib.models.convolution import ConvClassifier, ConvLayer
from attention_lib.models.mobilevit import MobileViTBlock, MobileViTClassifier, fold_patches, unfold_patches

B, C, HEIGHT, WIDTH, D = 2, 3, 4, 6, 10
SPEC = LayerSpec(D, 2, 13)


def image(*shape):
    return torch.randn(*(shape or (B, C, HEIGHT, WIDTH)), dtype=torch.float64)


@pytest.mark.parametrize(("height", "width", "patch"), [(4, 6, 2), (3, 15, 3), (5, 7, 1), (10, 5, 5), (2, 2, 2)])
def test_round_trip_is_exact(height, width, patch):
    x = image(B, C, height, width)
    unfolded = unfold_patches(x, patch)
    assert unfolded.shape == (B, patch * patch, height * width // patch**2, C)
    assert torch.equal(fold_patches(unfolded, patch, height), x)


def test_unfolding_by_hand():
    x = image()
    unfolded = unfold_patches(x, 2)
    for row, column in ((0, 0), (1, 4), (2, 3), (3, 5)):
        place = row % 2 * 2 + column % 2
        which = row // 2 * (WIDTH // 2) + column // 2
        assert torch.equal(unfolded[:, place, which], x[:, :, row, column])


def test_agrees_with_torchs_unfold():
    x = image()
    want = nn.functional.unfold(x, 2, stride=2).unflatten(1, (C, 4)).permute(0, 2, 3, 1)  # (B, P, N, C)
    assert torch.equal(unfold_patches(x, 2), want)


def test_round_trip_of_gradients():
    x = image().requires_grad_()
    signal = torch.randn(B, C, HEIGHT, WIDTH, dtype=torch.float64)
    (grad,) = torch.autograd.grad((fold_patches(unfold_patches(x, 2), 2, HEIGHT) * signal).sum(), x)
    assert torch.equal(grad, signal)


def test_a_pixel_depends_on_the_whole_image_through_attention_alone():
    block = MobileViTBlock(C, SPEC, 1).double()
    x = image(1, C, 10, 14).requires_grad_()
    every = torch.eye(35, dtype=torch.bool)
    for mask, far in ((None, True), (every, False)):
        (grad,) = torch.autograd.grad(block(x, mask)[0, :, 0, 0] @ torch.randn(C, dtype=torch.float64), x)
        assert bool((grad[0, :, -2:, -2:].abs() > 0).any()) == far
        assert (grad[0, :, :2, :2].abs() > 0).any()


def test_no_image_depends_on_the_batch():
    model, x = MobileViTClassifier(5, 7, SPEC).double(), image(B, 1, 8, 12)
    torch.testing.assert_close(model(x[1:]).logits, model(x).logits[1:])


def test_weights_are_those_of_each_place_inside_the_patch():
    model, x = MobileViTClassifier(5, 7, SPEC, 3).double(), image(B, 1, 8, 12)
    logits, weights = model(x, need_weights=True)
    assert logits.shape == (B, 5)
    assert [tuple(w.shape) for w in weights] == [(B, 4, 2, 6, 6)] * 3
    torch.testing.assert_close(weights[0].sum(-1), torch.ones(B, 4, 2, 6, dtype=torch.float64))
    assert model(x).weights is None
    assert (model(x, attend=False).logits - logits).abs().max() > 1e-6


def test_conv_layer_by_hand():
    layer = ConvLayer(1, 2, 1).double()
    layer.convolution.weight.data = torch.tensor([1.0, 3.0], dtype=torch.float64).reshape(2, 1, 1, 1)
    nn.init.zeros_(layer.convolution.bias)
    x = torch.full((1, 1, 1, 1), 2.0, dtype=torch.float64)
    normed = 2.0 / (4.0 + 1e-5) ** 0.5  # 2 and 6: mean 4, variance 4
    want = [-normed / (1 + torch.e**normed), normed / (1 + torch.e**-normed)]
    assert layer(x).flatten().tolist() == pytest.approx(want, abs=1e-12)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_without_pooling_a_unit_sees_so_many_pixels(depth):
    model = ConvClassifier(5, 7, depth).double()
    x = image(1, 1, 32, 32).requires_grad_()
    signal = torch.randn(7, dtype=torch.float64)
    (grad,) = torch.autograd.grad(model.layers(x)[0, :, 8, 8] @ signal, x)
    seen = (grad[0, 0].abs() > 0).any(dim=0).nonzero().flatten()
    assert seen[-1] - seen[0] + 1 == 4 * depth - 1


def test_pooling_adds_no_parameter():
    count = {sum(p.numel() for p in ConvClassifier(5, 7, 3, pooling=pooling).parameters()) for pooling in (False, True)}
    assert len(count) == 1
    assert ConvClassifier(5, 7, 3, pooling=True)(torch.zeros(2, 1, 17, 19)).logits.shape == (2, 5)


@pytest.mark.bad_input
def test_errors_name_both_values():
    with pytest.raises(ShapeError, match="width=7 is not divisible by patch=2; choose width=6 or 8"):
        unfold_patches(torch.zeros(2, 3, 4, 7), 2)
    with pytest.raises(ShapeError, match="height=2 is not divisible by patch=3; choose height=3"):
        MobileViTBlock(3, SPEC, patch=3)(torch.zeros(2, 3, 2, 6))
    with pytest.raises(ShapeError, match=r"x has shape \(3, 4, 6\); unfold_patches takes four axes"):
        unfold_patches(torch.zeros(3, 4, 6), 2)
    with pytest.raises(
        ShapeError, match=r"shape \(2, 4, 5, 3\); for patch=2 and height=4 .* P = 4 and N a multiple of 2"
    ):
        fold_patches(torch.zeros(2, 4, 5, 3), 2, 4)
    with pytest.raises(OptionError, match="patch=0 must be a whole number, 1 or more"):
        MobileViTBlock(3, SPEC, patch=0)
    with pytest.raises(OptionError, match="attend=False"):
        MobileViTClassifier(5, 7, SPEC)(torch.zeros(2, 1, 8, 8), attend=False, need_weights=True)
