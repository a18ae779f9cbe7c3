"""The conversation with one submission: calls go in, raw values or a sentence fit for a student come out."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from attention_lib.coursework.isolation import IsolationError
from attention_lib.coursework.wire import WireError, receive, send

__all__ = ["Fault", "Limits", "Session"]

_STATUS = {97: "the sandbox could not be closed", 96: "the process in the sandbox failed"}


class Fault(Exception):
    """The submission's process gave no proper answer; the message is fit for a student."""


@dataclass(frozen=True)
class Limits:
    """What one submission may use.

    Args:
        cpu_seconds: Processor time in all.
        call_seconds: Wall time of one call, and of running the definitions.
        wall_seconds: Wall time in all.
        megabytes: Memory beyond what torch itself takes.
    """

    cpu_seconds: int = 20
    call_seconds: float = 5.0
    wall_seconds: float = 40.0
    megabytes: int = 1024


@dataclass
class Session:
    """The conversation with one submission's process.

    Args:
        finish: Ends the process and says how it ended.
        channel: The socket to it.
        job: ``cells``, ``names``, ``withheld`` and ``seed``.
        limits: What it may use.

    Attributes:
        status: For each wanted name "defined" or what stands in its way.
        troubles: Cells that could not be read, helpers that failed.
        ended: Why the process is no longer there.
        too_large: Whether the submission is more than can be handed over.

    Raises:
        IsolationError: The process failed before anything of the submission ran: that is no grade.
    """

    finish: Callable[..., int]
    channel: socket.socket
    job: dict[str, Any]
    limits: Limits
    status: dict[str, str] = field(default_factory=dict)
    troubles: list[str] = field(default_factory=list)
    ended: str = ""
    too_large: bool = False

    def __post_init__(self) -> None:
        self._deadline = time.monotonic() + self.limits.wall_seconds
        order = {"cpu_seconds": self.limits.cpu_seconds, "megabytes": self.limits.megabytes, **self.job}
        try:
            self._exchange(order, None)  # it says that it is ready
        except Fault as fault:
            if not self.too_large:
                raise IsolationError(f"the sandbox failed before anything of the submission ran: {fault}") from None
            self.status = dict.fromkeys(self.job["names"], str(fault))
            return
        try:
            note, _ = self._exchange(None, None)
        except Fault as fault:
            self.status = dict.fromkeys(self.job["names"], str(fault))
            return
        status = note.get("status")
        told = status if isinstance(status, dict) else {}
        self.status = {name: _line(told.get(name, "no answer")) for name in self.job["names"]}
        troubles = note.get("troubles")
        self.troubles = [_line(text) for text in troubles[:8]] if isinstance(troubles, list) else []

    def call(self, name: str, arguments: Sequence[Any], **order: Any) -> Any:
        """Call a function of the submission.

        Raises:
            Fault: It raised, took too long, ended its process, or answered something that is not a value.
        """
        if self.ended:
            raise Fault(self.ended)
        note, value = self._exchange({"call": name, **order}, list(arguments))
        if note.get("ok") is not True:
            raise Fault(f"raised {_line(note.get('error', 'an error'))}")
        changed = note.get("changed")
        if type(changed) is int and changed > 0:
            raise Fault(f"changes its argument {changed} in place; work on a copy")
        return value

    def _exchange(self, order: dict[str, Any] | None, arguments: Any) -> tuple[dict[str, Any], Any]:
        """Send an order, if there is one, and wait for what comes."""
        deadline = min(self._deadline, time.monotonic() + self.limits.call_seconds)
        try:
            self.channel.settimeout(max(deadline - time.monotonic(), 0.01))
            if order is not None:
                self._send(order, arguments)
            return receive(self.channel, deadline)
        except TimeoutError:
            self._over(f"took longer than {self.limits.call_seconds:g} s")
        except WireError as error:
            self._over(f"sent something that is not an answer ({error})")
        except (EOFError, OSError):
            self._over("")
        raise Fault(self.ended)

    def _send(self, order: dict[str, Any], arguments: Any) -> None:
        try:
            send(self.channel, order, arguments)
        except WireError:
            self.too_large = True
            raise

    def _over(self, reason: str) -> None:
        status = self.close(by_itself=not reason)
        self.ended = reason or _STATUS.get(status, _death(status))

    def close(self, *, by_itself: bool = False) -> int:
        """End the submission's process; the status with which it ended."""
        if self.channel.fileno() < 0:
            return 0
        self.channel.close()
        return self.finish(by_itself=by_itself)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _death(status: int) -> str:
    if status == 128 + 24:
        return "used more processor time than allowed"
    if status == 128 + 9:
        return "was ended (it ran out of memory or time)"
    if status > 128:
        return f"ended by signal {status - 128}"
    return "ended its own process"


def _line(text: Any) -> str:
    """One printable line of at most 300 characters, whatever came."""
    return "".join(c if c.isprintable() else " " for c in str(text)[:300]).strip() if isinstance(text, str) else "?"
