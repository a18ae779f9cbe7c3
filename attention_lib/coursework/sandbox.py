"""The trusted side of the sandbox: starts workers, hands them jobs, and ends what does not end by itself."""

from __future__ import annotations

import atexit
import os
import select
import socket
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from attention_lib.coursework import room
from attention_lib.coursework.isolation import IsolationError
from attention_lib.coursework.session import Fault, Limits, Session

__all__ = ["Worker", "borrowed"]

_GRACE = 1.0  # seconds a killed child has to be gone


class Worker:
    """One sandbox with torch in it. It is used by one thread at a time.

    Args:
        isolation: One of ``ISOLATIONS``.
        hidden: Folders that must not be seen inside, such as the course folder.
    """

    def __init__(self, isolation: str, hidden: Sequence[str] = ()) -> None:
        self.isolation, self.hidden = isolation, tuple(hidden)
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self.nested = self.filtered = False

    @property
    def layers(self) -> str:
        """The layers of isolation that are active, for the row of grades."""
        if self.isolation == "bubblewrap":
            first = "bubblewrap+own namespaces" if self.nested else "bubblewrap"
        else:
            first = {"account": "account nobody", "none": "no isolation"}[self.isolation]
        return first + ("+seccomp" if self.filtered else "") + "+limits"

    def start(self) -> None:
        """Start the process, unless it runs.

        Raises:
            IsolationError: It does not come up.
        """
        if self._process is not None and self._process.poll() is None:
            return
        self.stop()
        if self.isolation == "account" and os.geteuid() != 0:
            raise IsolationError("isolation 'account' needs root, which then runs submissions as nobody")
        with room.stage() as folder:  # once the worker is ready, it has read all its files
            ready = self._launch(folder)
        self.nested, self.filtered = bool(ready[1]), bool(ready[2])
        if self.isolation == "account" and not self.filtered:
            self.stop()
            raise IsolationError(
                "isolation 'account' needs seccomp to keep submissions from the network; it is not there"
            )

    def _launch(self, folder: str) -> bytes:
        """Start the process and wait for its first word: R, and which layers it could close."""
        ours, theirs = socket.socketpair()
        command = room.python(folder, theirs.fileno(), self.isolation, self.hidden)
        if self.isolation == "bubblewrap":
            command = [*room.bubblewrap(folder, self.hidden), "--", *command]
        self._process = subprocess.Popen(
            command,
            pass_fds=(theirs.fileno(),),
            env=room.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        theirs.close()
        self._control = ours
        ours.settimeout(120)
        try:
            return _exactly(ours, 3)
        except (OSError, EOFError):
            raise IsolationError(f"the sandbox does not start: {self._last_words()}") from None

    def _last_words(self) -> str:
        if self._process is None or self._process.stderr is None:
            return "no reason given"
        self._process.kill()
        return self._process.stderr.read()[-600:].decode(errors="replace").strip() or "no reason given"

    def stop(self) -> None:
        """End the process and everything in it."""
        if self._control is not None:
            self._control.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            if self._process.stderr is not None:
                self._process.stderr.close()
        self._process = self._control = None

    def open(self, job: dict[str, Any], limits: Limits) -> Session:
        """Hand over a submission's code; the session answers calls.

        Args:
            job: ``cells``, ``names``, ``withheld`` and ``seed``.
            limits: What it may use.
        """
        self.start()
        assert self._control is not None
        ours, theirs = socket.socketpair()
        try:
            socket.send_fds(self._control, [b"J"], [theirs.fileno()])
        except OSError:
            self.stop()
            raise Fault("the sandbox went away") from None
        finally:
            theirs.close()
        return Session(self._finish, ours, job, limits)

    def _finish(self, *, by_itself: bool = False) -> int:
        """End the child; the worker itself goes too if the child is not gone in time or cannot be sealed again."""
        control = self._control
        if control is None:
            return 0
        status = 0
        try:
            if by_itself:  # it is ending already: how it ends is the reason that the student reads
                select.select([control], [], [], _GRACE)
            control.settimeout(_GRACE)
            control.sendall(b"K")
            status = _exactly(control, 2)[1]
        except (OSError, EOFError):
            self.stop()
        if self.isolation == "bubblewrap" and not self.nested:
            self.stop()
        return status


def _exactly(channel: socket.socket, count: int) -> bytes:
    pieces = b""
    while len(pieces) < count:
        piece = channel.recv(count - len(pieces))
        if not piece:
            raise EOFError
        pieces += piece
    return pieces


_IDLE: list[Worker] = []
_LOCK = threading.Lock()


@contextmanager
def borrowed(isolation: str, hidden: Sequence[str] = ()) -> Iterator[Worker]:
    """A started worker of this process that nobody uses now; it is kept for the next one."""
    wanted = (isolation, tuple(hidden))
    with _LOCK:
        found = next((one for one in _IDLE if (one.isolation, one.hidden) == wanted), None)
        if found is not None:
            _IDLE.remove(found)
    worker = found or Worker(isolation, hidden)
    try:
        worker.start()
        yield worker
    except BaseException:
        worker.stop()
        raise
    with _LOCK:
        _IDLE.append(worker)


@atexit.register
def _close_all() -> None:
    for worker in _IDLE:
        worker.stop()
