"""Far corners: two digits in opposite corners of an image. Are they the same?"""

from __future__ import annotations

import torch

from attention_lib.errors import OptionError
from attention_lib.tasks.arguments import check_generator, check_number, check_whole
from attention_lib.tasks.digits import ImageBatch
from attention_lib.tasks.glyphs import digit_glyphs

__all__ = ["far_corner_batch"]


def far_corner_batch(
    batch: int, *, side: int = 16, kinds: int = 2, noise: float = 0.1, generator: torch.Generator
) -> ImageBatch:
    """Draw one digit in the upper left corner and one in the lower right; half of the pairs are equal.

    Each digit alone says nothing about the answer: whoever solves this has brought both corners together.

    Args:
        batch: Number of images B.
        side: Height and width in pixels, 14 or more, so that the two digits do not touch.
        kinds: How many of the digits 0 1 2 ... are used, 2 to 10.
        noise: Standard deviation of what is added to each pixel.
        generator: Where the randomness comes from, on the CPU.

    Returns:
        An ``ImageBatch``; label 1 means equal. Guessing is right in half of the cases.

    Raises:
        OptionError: A count is out of range or no whole number, or ``noise`` is negative.

    Example:
        >>> images, label = far_corner_batch(3, noise=0.0, generator=torch.Generator().manual_seed(0))
        >>> tuple(images.shape), bool(images[:, :, 9:, :9].any())  # the other two corners are empty
        ((3, 1, 16, 16), False)
    """
    check_generator(generator)
    check_whole(batch=batch)
    check_whole(14, side=side)
    check_whole(2, kinds=kinds)
    check_number(noise=noise)
    if kinds > 10 or not noise >= 0:
        raise OptionError(f"kinds={kinds!r} must be at most 10 and noise={noise!r} 0 or more")
    label = torch.randint(2, (batch,), generator=generator)
    first = torch.randint(kinds, (batch,), generator=generator)
    other = (first + torch.randint(1, kinds, (batch,), generator=generator)) % kinds  # never the first
    images, glyphs = torch.zeros(batch, 1, side, side), digit_glyphs()
    images[:, 0, :7, :5] = glyphs[first]
    images[:, 0, -7:, -5:] = glyphs[torch.where(label == 1, first, other)]
    return ImageBatch(images + noise * torch.randn(images.shape, generator=generator), label)
