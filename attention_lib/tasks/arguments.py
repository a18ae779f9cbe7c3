"""The one check that all toy tasks share."""

from __future__ import annotations

from attention_lib.axes import is_whole
from attention_lib.errors import OptionError

__all__ = ["check_whole"]


def check_whole(least: int = 1, /, **counts: int) -> None:
    """Check that every named count is a whole number, ``least`` or more.

    Raises:
        OptionError: Names the first one that is not.

    Example:
        >>> check_whole(batch=3, length=5)
        >>> check_whole(2, symbols=1)
        Traceback (most recent call last):
        attention_lib.errors.OptionError: symbols=1 must be a whole number, 2 or more
    """
    for name, count in counts.items():
        if not is_whole(count) or count < least:
            raise OptionError(f"{name}={count!r} must be a whole number, {least} or more")
