"""The trusted side of the sandbox: starts workers, hands them jobs, and ends what does not end by itself."""

from __future__ import annotations

import atexit
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy
import torch

from attention_lib.coursework.wire import WireError, receive, send
from attention_lib.errors import AttentionError

__all__ = ["ISOLATIONS", "Fault", "IsolationError", "Limits", "Session", "Worker", "borrowed", "choose_isolation"]

ISOLATIONS = ("bubblewrap", "account", "none")
_HERE = Path(__file__).parent
_STAGED = ("wire.py", "extract.py", "seal.py", "worker.py")
_START = (
    "import sys; sys.path[:0] = [{stage!r}]; sys.path += {sites!r}; "
    "from attention_lib.coursework.worker import main; main({fd}, {mode!r})"
)
_GRACE = 1.0  # seconds a killed child has to be gone
_STATUS = {97: "the sandbox could not be closed", 96: "the process in the sandbox failed"}


class IsolationError(AttentionError):
    """Untrusted code cannot be run safely on this machine."""


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


def _sites() -> list[str]:
    """Where torch and numpy are installed."""
    return sorted({str(Path(module.__file__).parents[1]) for module in (torch, numpy) if module.__file__})


def _places() -> list[str]:
    """Folders that a worker must be able to read: the system's libraries, Python, torch and numpy."""
    wanted = [sys.base_prefix, sys.prefix, *_sites()]
    kept: list[str] = ["/usr"]
    for place in map(os.path.realpath, wanted):
        if not any(Path(place).is_relative_to(other) for other in kept):
            kept.append(place)
    if sys.prefix != os.path.realpath(sys.prefix):
        kept.append(sys.prefix)
    return kept


def _bubblewrap(stage: str, hidden: Sequence[str]) -> list[str]:
    command = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--tmpfs", "/tmp"]
    for place in _places():
        command += ["--ro-bind", place, place]
    for place in ("/bin", "/sbin", "/lib", "/lib32", "/lib64"):
        if os.path.islink(place):
            command += ["--symlink", os.readlink(place), place]
        elif os.path.isdir(place):
            command += ["--ro-bind", place, place]
    command += ["--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache", "--proc", "/proc", "--dev", "/dev"]
    command += ["--ro-bind", stage, stage, "--chdir", "/tmp"]
    for place in hidden:
        if os.path.isdir(place) and any(Path(place).is_relative_to(p) for p in _places()):
            command += ["--tmpfs", place]
    return command


def _own_copies() -> list[str]:
    """Where the real library lies inside the folders that a worker reads."""
    sites = [Path(place) for place in _sites()]
    sites += [Path(place) for place in sys.path if place.endswith("-packages")]
    return sorted({str(site / "attention_lib") for site in sites if (site / "attention_lib").is_dir()})


def _stage() -> tempfile.TemporaryDirectory[str]:
    """A folder with the few files that the worker runs, and stand-ins for the rest of the library."""
    folder = tempfile.TemporaryDirectory(prefix="attention-sandbox-")
    room = Path(folder.name) / "attention_lib" / "coursework"
    room.mkdir(parents=True)
    (room.parent / "__init__.py").write_text("", encoding="utf-8")
    shutil.copyfile(_HERE / "stand_in.py", room / "__init__.py")
    for name in _STAGED:
        shutil.copyfile(_HERE / name, room / name)
    for path in (Path(folder.name), room.parent, room):
        path.chmod(0o755)
    return folder


def _environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": "/tmp",
        "LANG": "C.UTF-8",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "PYTHONHASHSEED": "0",
        "CUDA_VISIBLE_DEVICES": "",
        "PYTHONDONTWRITEBYTECODE": "1",
        **kept,
    }


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
        self._stage = _stage()
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
        if self.isolation == "account":
            self._refuse_open_folders()
        ours, theirs = socket.socketpair()
        start = _START.format(stage=self._stage.name, sites=_sites(), fd=theirs.fileno(), mode=self.isolation)
        command = [sys.executable, "-I", "-B", "-c", start]
        if self.isolation == "bubblewrap":
            command = [*_bubblewrap(self._stage.name, [*self.hidden, *_own_copies()]), "--", *command]
        self._process = subprocess.Popen(
            command,
            pass_fds=(theirs.fileno(),),
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        theirs.close()
        self._control = ours
        ours.settimeout(120)
        try:
            ready = _exactly(ours, 3)
        except (OSError, EOFError):
            raise IsolationError(f"the sandbox does not start: {self._last_words()}") from None
        self.nested, self.filtered = bool(ready[1]), bool(ready[2])
        if self.isolation == "account" and not self.filtered:
            self.stop()
            raise IsolationError(
                "isolation 'account' needs seccomp to keep submissions from the network; it is not there"
            )

    def _refuse_open_folders(self) -> None:
        """An account is no wall: what nobody may read is for the folders' own rights to say."""
        if os.geteuid() != 0:
            raise IsolationError("isolation 'account' needs root, which then runs submissions as nobody")
        for place in self.hidden:
            if os.path.isdir(place) and os.stat(place).st_mode & 0o005:
                raise IsolationError(f"{place} can be read by every account, also by submissions; chmod 700 it first")

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

    def close(self) -> None:
        """Stop, and remove what lies on the disk."""
        self.stop()
        self._stage.cleanup()

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
        return Session(self, ours, job, limits)

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


@dataclass
class Session:
    """The conversation with one submission's process.

    Attributes:
        status: For each wanted name "defined" or what stands in its way.
        troubles: Cells that could not be read, helpers that failed.
    """

    worker: Worker
    channel: socket.socket
    job: dict[str, Any]
    limits: Limits
    status: dict[str, str] = field(default_factory=dict)
    troubles: list[str] = field(default_factory=list)
    ended: str = ""

    def __post_init__(self) -> None:
        self._deadline = time.monotonic() + self.limits.wall_seconds
        order = {"cpu_seconds": self.limits.cpu_seconds, "megabytes": self.limits.megabytes, **self.job}
        try:
            note, _ = self._exchange(order, None)
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
        return value

    def _exchange(self, order: dict[str, Any], arguments: Any) -> tuple[dict[str, Any], Any]:
        deadline = min(self._deadline, time.monotonic() + self.limits.call_seconds)
        try:
            self.channel.settimeout(max(deadline - time.monotonic(), 0.01))
            send(self.channel, order, arguments)
            return receive(self.channel, deadline)
        except TimeoutError:
            self._over(f"took longer than {self.limits.call_seconds:g} s")
        except WireError as error:
            self._over(f"sent something that is not an answer ({error})")
        except (EOFError, OSError):
            self._over("")
        raise Fault(self.ended)

    def _over(self, reason: str) -> None:
        status = self.close(by_itself=not reason)
        self.ended = reason or _STATUS.get(status, _death(status))

    def close(self, *, by_itself: bool = False) -> int:
        """End the submission's process; the status with which it ended."""
        if self.channel.fileno() < 0:
            return 0
        self.channel.close()
        return self.worker._finish(by_itself=by_itself)

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
        worker.close()
        raise
    with _LOCK:
        _IDLE.append(worker)


@atexit.register
def _close_all() -> None:
    for worker in _IDLE:
        worker.close()
