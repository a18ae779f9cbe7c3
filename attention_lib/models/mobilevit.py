"""MobileViT: convolutions see what is near, a transformer over patches sees what is far."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from attention_lib.axes import check_tensor
from attention_lib.errors import OptionError, ShapeError
from attention_lib.layers.stacks import EncoderStack, LayerSpec, check_spec
from attention_lib.models.arguments import check_count
from attention_lib.models.convolution import ConvLayer
from attention_lib.models.language_model import ModelOutput
from attention_lib.shapes import Bool, Float

__all__ = ["MobileViTBlock", "MobileViTClassifier", "fold_patches", "unfold_patches"]


def unfold_patches(x: Float[Tensor, "B C height width"], patch: int) -> Float[Tensor, "B P N C"]:
    """Cut an image into square patches and sort its pixels by their place *inside* the patch.

    Sequence p holds the p-th pixel of every patch, from left to right and top to bottom.

    Args:
        x: ``(B, C, height, width)``, both sizes multiples of ``patch``.
        patch: Side of a patch.

    Returns:
        ``(B, P, N, C)``: P = patch * patch places, N patches.

    Raises:
        ShapeError: Not four axes, or a size is not divisible by ``patch``.

    Example:
        >>> image = torch.arange(8.0).reshape(1, 1, 2, 4)  # rows 0 1 2 3 and 4 5 6 7
        >>> unfold_patches(image, 2)[0, :, :, 0]  # two patches; the upper left pixels are 0 and 2
        tensor([[0., 2.],
                [1., 3.],
                [4., 6.],
                [5., 7.]])

    Source: Mehta and Rastegari (2021), MobileViT, section 3.1.
    """
    check_count(patch=patch)
    check_tensor("x", x)
    if x.ndim != 4:
        raise ShapeError(f"x has shape {tuple(x.shape)}; unfold_patches takes four axes, (B, C, height, width)")
    for name, size in (("height", x.shape[2]), ("width", x.shape[3])):
        _check_divisible(name, size, patch)
    x = x.unflatten(3, (-1, patch)).unflatten(2, (-1, patch))  # (B, C, rows, patch, columns, patch)
    return x.permute(0, 3, 5, 2, 4, 1).flatten(3, 4).flatten(1, 2)  # (B, P, N, C)


def fold_patches(x: Float[Tensor, "B P N C"], patch: int, height: int) -> Float[Tensor, "B C height width"]:
    """Put the pixels back: the exact inverse of :func:`unfold_patches`.

    Args:
        x: ``(B, P, N, C)``.
        patch: Side of a patch, ``P = patch * patch``.
        height: Height of the image, a multiple of ``patch``; the width follows.

    Returns:
        ``(B, C, height, width)``.

    Raises:
        ShapeError: P is not ``patch * patch``, or no width fits ``height`` and N.

    Example:
        >>> image = torch.arange(8.0).reshape(1, 1, 2, 4)
        >>> torch.equal(fold_patches(unfold_patches(image, 2), 2, height=2), image)
        True
    """
    check_count(patch=patch, height=height)
    _check_divisible("height", height, patch)
    check_tensor("x", x)
    rows = height // patch
    if x.ndim != 4 or x.shape[1] != patch * patch or x.shape[2] % rows:
        raise ShapeError(
            f"x has shape {tuple(x.shape)}; for patch={patch} and height={height} it needs (B, P, N, C) with "
            f"P = {patch * patch} and N a multiple of {rows}"
        )
    x = x.unflatten(2, (rows, -1)).unflatten(1, (patch, patch))  # (B, patch, patch, rows, columns, C)
    return x.permute(0, 5, 3, 1, 4, 2).flatten(4, 5).flatten(2, 3)  # (B, C, height, width)


class MobileViTBlock(nn.Module):
    """Look near with a convolution, look far with a transformer over patches, mix both with the input.

    After the 3x3 convolution each pixel knows its patch; the transformer joins pixels at the same place of
    different patches; so each pixel of the output depends on the whole image, at ``1 / P`` of the scores that
    attention over all pixels would take.

    Args:
        channels: Channels of input and output.
        spec: What each transformer layer is like.
        num_layers: How many.
        patch: Side of a patch.

    Raises:
        OptionError: An option is out of range.

    Example:
        >>> MobileViTBlock(3, LayerSpec(8, 2))(torch.zeros(2, 3, 4, 6)).shape
        torch.Size([2, 3, 4, 6])

    Source: Mehta and Rastegari (2021), MobileViT, figure 1b; a layer norm over the channels of each pixel replaces
    the paper's batch norm, so that no result depends on the batch.
    """

    def __init__(self, channels: int, spec: LayerSpec, num_layers: int = 2, *, patch: int = 2) -> None:
        super().__init__()
        check_spec(spec)
        check_count(channels=channels, patch=patch)
        self.patch = patch
        self.near = nn.Sequential(ConvLayer(channels, channels, 3), nn.Conv2d(channels, spec.d_model, 1, bias=False))
        self.stack = EncoderStack(num_layers, spec)
        self.narrow = ConvLayer(spec.d_model, channels, 1)
        self.mix = ConvLayer(2 * channels, channels, 3)

    def forward(
        self, x: Float[Tensor, "B C height width"], mask: Bool[Tensor, "N N"] | None = None
    ) -> Float[Tensor, "B C height width"]:
        """Run the block.

        Args:
            x: ``(B, channels, height, width)``, both sizes multiples of ``patch``.
            mask: Which patch may look at which; ``torch.eye(N).bool()`` takes all attention away.

        Returns:
            Of the same shape.

        Raises:
            ShapeError: A size is not divisible by ``patch``.
        """
        patches = unfold_patches(self.near(x), self.patch)  # (B, P, N, d_model)
        far = self.stack(patches.flatten(0, 1), mask).output.unflatten(0, patches.shape[:2])  # (B, P, N, d_model)
        folded = self.narrow(fold_patches(far, self.patch, x.shape[2]))  # (B, C, height, width)
        return self.mix(torch.cat((x, folded), dim=1))

    def weights(self, x: Float[Tensor, "B C height width"]) -> list[Float[Tensor, "B P H N N"]]:
        """Every layer's weights: for each place inside the patch, which patch looks at which."""
        patches = unfold_patches(self.near(x), self.patch)  # (B, P, N, d_model)
        every = self.stack(patches.flatten(0, 1), need_weights=True).weights or []
        return [weights.unflatten(0, patches.shape[:2]) for weights in every]


class MobileViTClassifier(nn.Module):
    """A convolution, one MobileViT block, the mean over the image, a vote.

    Args:
        classes: Number of different answers.
        channels: Width of the convolutions.
        spec: What each transformer layer is like.
        num_layers: How many.
        patch: Side of a patch, in pixels of the image halved by ``stride`` 2.

    Example:
        >>> MobileViTClassifier(5, 8, LayerSpec(8, 2))(torch.zeros(2, 1, 16, 16)).logits.shape
        torch.Size([2, 5])
    """

    def __init__(self, classes: int, channels: int, spec: LayerSpec, num_layers: int = 2, *, patch: int = 2) -> None:
        super().__init__()
        check_spec(spec)
        check_count(classes=classes)
        self.stem = ConvLayer(1, channels, 3, stride=2)
        self.block = MobileViTBlock(channels, spec, num_layers, patch=patch)
        self.vote = nn.Linear(channels, classes)

    def forward(
        self, images: Float[Tensor, "B 1 height width"], *, attend: bool = True, need_weights: bool = False
    ) -> ModelOutput:
        """Vote once an image.

        Args:
            images: ``(B, 1, height, width)``, both sizes multiples of ``2 * patch``.
            attend: False lets each patch see itself alone: same parameters, no attention.
            need_weights: Also return every layer's weights ``(B, P, H, N, N)``.

        Returns:
            ``ModelOutput``: logits ``(B, classes)``, weights or None.

        Raises:
            ShapeError: A size does not fit the patches.
        """
        if need_weights and not attend:
            raise OptionError(
                "need_weights=True asks for weights that attend=False does not make; leave one of them out"
            )
        x = self.stem(images)  # (B, channels, height / 2, width / 2)
        patches = x.shape[2] * x.shape[3] // self.block.patch**2
        mask = None if attend else torch.eye(patches, dtype=torch.bool, device=x.device)
        logits = self.vote(self.block(x, mask).mean(dim=(2, 3)))  # (B, classes)
        return ModelOutput(logits, self.block.weights(x) if need_weights else None)


def _check_divisible(name: str, size: int, patch: int) -> None:
    if size % patch or size == 0:
        below = size - size % patch
        choices = f"{below} or {below + patch}" if below else f"{patch}"
        raise ShapeError(
            f"{name}={size} is not divisible by patch={patch}; choose {name}={choices}, or pad the image: "
            "torch.nn.functional.pad"
        )
