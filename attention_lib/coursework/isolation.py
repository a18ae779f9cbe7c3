"""How strangers' code is kept apart: what there is on this machine, and the refusal where there is nothing."""

from __future__ import annotations

import os
import shutil
import sys

from attention_lib.errors import AttentionError

__all__ = ["ISOLATIONS", "IsolationError", "choose_isolation"]

ISOLATIONS = ("bubblewrap", "account", "none")


class IsolationError(AttentionError):
    """Untrusted code cannot be run safely on this machine."""


def choose_isolation(wanted: str | None = None, *, unsafe: bool = False) -> str:
    """The isolation to use.

    Args:
        wanted: One of ``ISOLATIONS``; None takes the best there is.
        unsafe: Run without isolation where there is none.

    Raises:
        IsolationError: There is none, and ``unsafe`` was not given.
    """
    if wanted == "none" and not unsafe:
        raise IsolationError("isolation 'none' runs strangers' code with your own rights; add --unsafe if you mean it")
    if wanted:
        return wanted
    if sys.platform == "linux" and shutil.which("bwrap"):
        return "bubblewrap"
    if os.environ.get("ATTENTION_COURSEWORK_ISOLATION") == "account" and os.geteuid() == 0:
        return "account"
    if unsafe:
        return "none"
    raise IsolationError(
        "no isolation for strangers' code: install bubblewrap (apt-get install bubblewrap), or run the container of "
        "book/tools/coursework.Containerfile on other systems; --unsafe runs it with your own rights"
    )
