"""The account that a submission runs under where there are no namespaces: nobody's, and another one for each.

What such an account can reach is for the rights of files to say, so it is tried before any submission runs. This file
runs inside the sandbox and imports nothing of the library.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy
import torch

__all__ = ["become", "trouble"]

# Numbers that no person and no service has: systemd hands them out for a while only. A process of another submission
# has another number, so neither can end, slow or watch the other.
_FIRST, _COUNT = 61184, 4336
SHARED = ("/tmp", "/var/tmp", "/dev/shm")


def become() -> None:
    """Give up root for an account that nothing belongs to.

    Raises:
        OSError: The process is not root, or its namespace has too few accounts.
    """
    number = _FIRST + os.getpid() % _COUNT
    os.setgroups([])
    os.setresgid(number, number, number)
    os.setresuid(number, number, number)


def trouble(hidden: Sequence[str]) -> str:
    """Why submissions cannot run under such an account here, tried in a child that is one; "" if they can."""
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        text = "the trial of the account failed"
        try:
            text = _tried(hidden)
        finally:
            os.write(tell, text.encode(errors="replace")[:2000])
            os._exit(0)
    os.close(tell)
    with open(told, "rb") as channel:
        text = channel.read().decode(errors="replace")
    os.waitpid(child, 0)
    return text


def _tried(hidden: Sequence[str]) -> str:
    try:
        become()
    except OSError as error:
        return (
            f"root cannot become another account ({error.strerror}): isolation 'account' needs the capabilities SETUID "
            "and SETGID, and in a user namespace the numbers up to 65535"
        )
    return _too_open(hidden) or _too_closed(needed())


def _too_open(hidden: Sequence[str]) -> str:
    """What a submission would reach although it must not."""
    for place in hidden:
        if any(os.access(place, right) for right in (os.R_OK, os.W_OK, os.X_OK)):
            return f"{place} can be read by every account, also by submissions; chmod 700 it first"
    for place in SHARED:
        if os.access(place, os.W_OK):
            return (
                f"every account may leave files in {place}, also a submission for the next one; use bubblewrap or the "
                f"container of book/tools/coursework.Containerfile (in a container of your own: chmod 755 {place})"
            )
    return ""


def needed() -> list[str]:
    """What Python and torch may still load once a submission runs."""
    library = str(Path(os.__file__).parent)
    loaded = [place for place in sys.path if place.startswith(library) and os.path.isdir(place)]
    return [os.__file__, *loaded, *(module.__file__ for module in (torch, numpy) if module.__file__)]


def _too_closed(places: Sequence[str]) -> str:
    """What a submission would need and cannot read."""
    for place in places:
        if not os.access(place, os.R_OK):
            return (
                f"submissions run under an account that cannot read {place}: {_barrier(place)} is closed to it. Use "
                "bubblewrap, or a Python and torch that every account may read, such as those of the container of "
                "book/tools/coursework.Containerfile"
            )
    return ""


def _barrier(place: str) -> str:
    """The first folder on the way that cannot be entered, or the place itself."""
    return next((str(step) for step in reversed(Path(place).parents) if not os.access(step, os.X_OK)), place)
