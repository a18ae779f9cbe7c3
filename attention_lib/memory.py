"""Will a table of scores fit? Asked before it is made: on Linux a process that takes too much is killed, not told."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch

from attention_lib.errors import AttentionMemoryError

__all__ = ["available_bytes", "room_for"]

WORTH_ASKING = 2**28  # a quarter of a GiB; below that, asking costs more than it saves
_CGROUP = Path("/sys/fs/cgroup")
_OUT_OF_MEMORY = ("out of memory", "not enough memory", "can't allocate memory", "invalid buffer size")


def available_bytes(device: torch.device | str = "cpu") -> int | None:
    """Bytes that can still be taken on a device, or None where nobody says.

    Args:
        device: "cpu", a CUDA device, or any other, of which nothing is known.

    Returns:
        Bytes. On a CPU the smaller of what Linux calls available and what is left of a container's limit.

    Example:
        >>> left = available_bytes("cpu")
        >>> left is None or left > 0
        True
    """
    device = torch.device(device)
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    if device.type != "cpu":
        return None
    known = [left for left in (_left_in_system(), _left_in_container()) if left is not None]
    return min(known) if known else None


@contextmanager
def room_for(shape: Sequence[int], dtype: torch.dtype, device: torch.device, *, way_out: str) -> Iterator[None]:
    """Refuse a table that cannot fit, and say the same where the allocator finds out first.

    Args:
        shape: Of the table, ``(..., L, S)``.
        dtype: Of its entries.
        device: Where it will be.
        way_out: What to do instead, the end of the message.

    Raises:
        AttentionMemoryError: The table is larger than what is available, or the allocator gave up inside the block.
    """
    needed = math.prod(shape) * max(4, dtype.itemsize)  # made in float32 at least
    if needed >= WORTH_ASKING:
        left = available_bytes(device)
        if left is not None and needed > left:
            raise AttentionMemoryError(f"{_table(shape, needed)}, {_sized(left)} are left on {device}; {way_out}")
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not any(words in str(error).lower() for words in _OUT_OF_MEMORY):
            raise
        raise AttentionMemoryError(f"{_table(shape, needed)}, more than {device} has left; {way_out}") from error


def _table(shape: Sequence[int], needed: int) -> str:
    return f"the table of scores {tuple(shape)} needs {needed:,d} bytes ({_sized(needed)})"


def _sized(count: int) -> str:
    return f"{count / 2**30:,.1f} GiB"


def _left_in_system() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):  # another system
        return None


def _left_in_container() -> int | None:
    """Of a control group of version 2, the limit less what is in use; pages of files count as in use."""
    try:
        limit, used, stat = (
            (_CGROUP / f"memory.{name}").read_text(encoding="ascii").strip() for name in ("max", "current", "stat")
        )
        reclaimable = dict(line.split() for line in stat.splitlines())
        return None if limit == "max" else int(limit) - int(used) + int(reclaimable.get("inactive_file", 0))
    except (OSError, ValueError):
        return None
