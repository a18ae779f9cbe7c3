"""Plain digits: the ten glyphs, moved, turned, stretched and made noisy. Rendered here, nothing downloaded."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import affine_grid, grid_sample, pad

from attention_lib.errors import OptionError
from attention_lib.shapes import Float, Int
from attention_lib.tasks.arguments import check_generator, check_number, check_whole
from attention_lib.tasks.glyphs import digit_glyphs

__all__ = ["ImageBatch", "digit_batch"]


class ImageBatch(NamedTuple):
    """``images`` (B, 1, side, side), ink near 1 on a ground near 0; ``label`` (B,)."""

    images: Float[Tensor, "B 1 side side"]
    label: Int[Tensor, "B"]


def digit_batch(
    batch: int, *, side: int = 16, jitter: float = 1.0, noise: float = 0.2, generator: torch.Generator
) -> ImageBatch:
    """Draw digits 0 to 9, each distorted in its own way.

    Args:
        batch: Number of images B.
        side: Height and width in pixels, 8 or more.
        jitter: How far each is distorted: 1 moves by up to a tenth of the side, turns by up to 17 degrees, shears by
            up to 0.3 and scales each direction between 0.75 and 1.25; 0 draws all alike.
        noise: Standard deviation of what is added to each pixel.
        generator: Where the randomness comes from, on the CPU.

    Returns:
        An :class:`ImageBatch`; guessing is right in one of ten cases.

    Raises:
        OptionError: A count is too small or no whole number, or ``jitter`` or ``noise`` is negative.

    Example:
        >>> images, label = digit_batch(3, generator=torch.Generator().manual_seed(0))
        >>> tuple(images.shape), tuple(label.shape)
        ((3, 1, 16, 16), (3,))
    """
    check_generator(generator)
    check_whole(batch=batch)
    check_whole(8, side=side)
    check_number(jitter=jitter, noise=noise)
    for name, number in (("jitter", jitter), ("noise", noise)):
        if not number >= 0:
            raise OptionError(f"{name}={number!r} must be 0 or more")
    label = torch.randint(10, (batch,), generator=generator)
    glyphs = pad(digit_glyphs(), (3, 2, 2, 1))[label][:, None]  # (B, 1, 10, 10)
    grid = affine_grid(_distortions(batch, jitter, generator), [batch, 1, side, side], align_corners=False)
    images = grid_sample(glyphs, grid, align_corners=False)  # (B, 1, side, side)
    return ImageBatch(images + noise * torch.randn(images.shape, generator=generator), label)


def _distortions(batch: int, jitter: float, generator: torch.Generator) -> Float[Tensor, "B 2 3"]:
    """One affine map an image: turn, shear, scale, move."""
    angle, shear, wide, high, right, down = jitter * (2 * torch.rand(6, batch, generator=generator) - 1)
    angle, shear, wide, high = 0.3 * angle, 0.3 * shear, 1 + 0.25 * wide, 1 + 0.25 * high
    cos, sin = angle.cos(), angle.sin()
    rows = (cos * wide, (cos * shear - sin) * high, 0.2 * right), (sin * wide, (sin * shear + cos) * high, 0.2 * down)
    return torch.stack([torch.stack(row, dim=-1) for row in rows], dim=1)  # (B, 2, 3)
