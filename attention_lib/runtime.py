"""Where a chapter runs and from which seed."""

from __future__ import annotations

import os
import random

import numpy as np
import torch

from attention_lib.axes import check_seed
from attention_lib.errors import OptionError

__all__ = ["default_device", "seed_everything"]


def default_device() -> torch.device:
    """The device a chapter should use: CUDA, else Apple's MPS, else the CPU.

    The environment variable ``ATTENTION_DEVICE`` overrides the choice.

    Returns:
        A device on which a tensor can be created now.

    Raises:
        OptionError: ``ATTENTION_DEVICE`` names a device that torch does not know or that this machine lacks.

    Example:
        >>> torch.zeros(2, device=default_device()).shape
        torch.Size([2])
    """
    wanted = os.environ.get("ATTENTION_DEVICE")
    if wanted:
        return _usable(wanted)
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def _usable(name: str) -> torch.device:
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, ImportError) as error:
        reason = str(error).partition("\n")[0]
        raise OptionError(
            f"ATTENTION_DEVICE={name!r} cannot be used here ({reason}); "
            f"usable on this machine: {', '.join(_present())}; or unset the variable"
        ) from error
    return device


def _present() -> list[str]:
    found = [f"cuda:{index}" for index in range(torch.cuda.device_count())]
    return ["cpu", *found, *(["mps"] if torch.backends.mps.is_available() else [])]


def seed_everything(seed: int) -> torch.Generator:
    """Seed Python, NumPy and torch, and return a fresh CPU generator with the same seed.

    Draw data and weights from the CPU generator and move them afterwards: the numbers are then the same on
    every device.

    Args:
        seed: A whole number from 0 to 2**32 - 1 (the range NumPy takes).

    Returns:
        A ``torch.Generator`` on the CPU.

    Raises:
        OptionError: ``seed`` is not a whole number in that range.

    Example:
        >>> first = torch.rand(3, generator=seed_everything(7))
        >>> bool((first == torch.rand(3, generator=seed_everything(7))).all())
        True
    """
    seed = check_seed(seed)
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    return torch.Generator().manual_seed(seed)
