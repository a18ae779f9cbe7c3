"""Convolutions: a layer, and a small classifier that sees only what is near."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from attention_lib.arguments import check_weights_fit
from attention_lib.errors import ShapeError
from attention_lib.models.arguments import check_count
from attention_lib.models.language_model import ModelOutput
from attention_lib.shapes import Float

__all__ = ["ConvClassifier", "ConvLayer"]


class ConvLayer(nn.Module):
    """Convolution, layer norm over the channels of each pixel, SiLU. A pixel depends on its neighbours alone.

    Args:
        channels_in: Channels of the input.
        channels_out: Channels of the output.
        side: Side of the square kernel, odd; the image keeps its size at stride 1.
        stride: 2 halves the image.

    Raises:
        ShapeError: The images have another number of channels, another dtype or device.

    Example:
        >>> ConvLayer(1, 3, 3, stride=2)(torch.zeros(2, 1, 8, 6)).shape
        torch.Size([2, 3, 4, 3])
    """

    def __init__(self, channels_in: int, channels_out: int, side: int, *, stride: int = 1) -> None:
        super().__init__()
        check_count(channels_in=channels_in, channels_out=channels_out, side=side, stride=stride)
        self.convolution = nn.Conv2d(channels_in, channels_out, side, stride=stride, padding=side // 2)
        self.norm = nn.LayerNorm(channels_out)

    def forward(self, x: Float[Tensor, "B C_in height width"]) -> Float[Tensor, "B C_out height_out width_out"]:
        check_weights_fit("x", x, self.convolution.weight)
        channels = self.convolution.in_channels
        if x.ndim != 4 or x.shape[1] != channels:
            raise ShapeError(f"x has shape {tuple(x.shape)}; this layer reads images (B, {channels}, height, width)")
        x = self.convolution(x)  # (B, C_out, height, width)
        return nn.functional.silu(self.norm(x.movedim(1, -1)).movedim(-1, 1))


class ConvClassifier(nn.Module):
    """Convolutions, the mean over the image, a vote.

    Args:
        classes: Number of different answers.
        channels: Width of the convolutions.
        depth: How many; the first halves the image, as in ``MobileViTClassifier``.
        pooling: Halve the image after each further convolution, so that later ones see farther.

    Without pooling a unit sees ``4 * depth - 1`` pixels of each side.

    Example:
        >>> ConvClassifier(5, 8)(torch.zeros(2, 1, 16, 16)).logits.shape
        torch.Size([2, 5])
    """

    def __init__(self, classes: int, channels: int, depth: int = 3, *, pooling: bool = False) -> None:
        super().__init__()
        check_count(classes=classes, depth=depth)
        layers: list[nn.Module] = [ConvLayer(1, channels, 3, stride=2)]
        for _ in range(depth - 1):
            layers.append(ConvLayer(channels, channels, 3))
            if pooling:
                layers.append(nn.MaxPool2d(2, ceil_mode=True))
        self.layers = nn.Sequential(*layers)
        self.vote = nn.Linear(channels, classes)

    def forward(self, images: Float[Tensor, "B 1 height width"]) -> ModelOutput:
        """Vote once an image.

        Args:
            images: ``(B, 1, height, width)``.

        Returns:
            ``ModelOutput``: logits ``(B, classes)``.
        """
        return ModelOutput(self.vote(torch.mean(self.layers(images), dim=(2, 3))))
