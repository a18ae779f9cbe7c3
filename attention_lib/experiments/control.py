"""What keeps a measurement repeatable: its seed, one thread, rounded numbers; and its progress bar."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
from torch import Tensor

from attention_lib.axes import check_seed
from attention_lib.errors import OptionError

__all__ = ["chosen", "digits", "progress_bar", "seeded"]

DATA_STREAM = 0x5DEECE66  # torch's CPU generator looks at 32 bits of a seed

Item = TypeVar("Item")
Budget = TypeVar("Budget")


@contextmanager
def seeded(seed: int) -> Iterator[torch.Generator]:
    """One thread and torch's seed inside the block; both as they were after it.

    Weights come from torch's own stream, data from the generator that the block receives: another stream, or
    the first data would repeat the first weights. Sums over several threads add up in another order, which is
    why a measurement that prints digits keeps to one.

    Args:
        seed: A whole number from 0 to 2**32 - 1.

    Returns:
        A context manager that gives a fresh CPU generator, the same for the same seed.

    Raises:
        OptionError: ``seed`` is not a whole number in that range.

    Example:
        >>> with seeded(7) as first, seeded(7) as second:
        ...     torch.equal(torch.rand(3, generator=first), torch.rand(3, generator=second))
        True
    """
    seed = check_seed(seed)
    threads = torch.get_num_threads()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        torch.set_num_threads(1)
        try:
            yield torch.Generator().manual_seed(seed ^ DATA_STREAM)
        finally:
            torch.set_num_threads(threads)


def digits(numbers: Tensor | list | float, significant: int = 6) -> Any:
    """Plain numbers, or nested lists of them, with so many significant digits: what a record holds.

    Example:
        >>> digits(torch.tensor([1 / 3, 2e-20], dtype=torch.float64))
        [0.333333, 2e-20]
    """
    if isinstance(numbers, Tensor):
        numbers = numbers.tolist()
    if isinstance(numbers, list):
        return [digits(number, significant) for number in numbers]
    return float(f"{numbers:.{significant}g}")


def chosen(budgets: dict[str, Budget], budget: str) -> Budget:
    """The budget of that name.

    Raises:
        OptionError: No such budget; the message names the known ones.

    Example:
        >>> chosen({"smoke": 3, "full": 100}, "full")
        100
    """
    if budget not in budgets:
        raise OptionError(f"budget={budget!r} is not known; choose one of: {', '.join(budgets)}")
    return budgets[budget]


def progress_bar(items: Sequence[Item], what: str, *, show: bool) -> Iterable[Item]:
    """The items, counted on a bar when wanted and when tqdm is installed.

    Example:
        >>> list(progress_bar([1, 2, 3], "seeds", show=False))
        [1, 2, 3]
    """
    if not show:
        return items
    try:
        from tqdm import tqdm  # type: ignore[import-untyped]
    except ModuleNotFoundError:
        return items
    return tqdm(items, desc=what)
