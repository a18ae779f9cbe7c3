"""Runs the attacks and says what they gained, reached or left behind."""

import os
import socket
import threading
import time
from pathlib import Path

from attention_lib.coursework.marking import mark
from attention_lib.coursework.model import load_assignment
from attention_lib.coursework.session import Limits
from attention_lib.coursework.variants import book_variant
from attention_lib.coursework.verify import specimens_in

HERE = Path(__file__).parent
LIMITS = Limits(cpu_seconds=3, call_seconds=1.5, wall_seconds=6, megabytes=512)
ASSIGNMENT = load_assignment(HERE / "attention")
VARIANT = book_variant(ASSIGNMENT.switches)
MARKERS = [
    Path("/tmp/attack-marker"),
    Path("/tmp/attack-left"),
    Path("/dev/shm/attack-left"),
    Path.home() / "attack-left",
]
SECRET = "a-secret-of-the-grader"


class Listener:
    """A server on this machine that nobody must reach; counts what arrives."""

    def __init__(self):
        self.reached = 0
        self._sockets = [socket.socket(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)]
        self._sockets[0].bind(("127.0.0.1", 0))
        self.port = self._sockets[0].getsockname()[1]
        self._sockets[1].bind(("127.0.0.1", self.port))
        self._sockets[0].listen()
        for receive in (self._sockets[0].accept, lambda: self._sockets[1].recvfrom(100)):
            threading.Thread(target=self._count, args=(receive,), daemon=True).start()

    def _count(self, receive):
        while True:
            try:
                receive()
            except OSError:
                return
            self.reached += 1

    def close(self):
        for one in self._sockets:
            one.close()


def attacks():
    """(name, code) of every attack."""
    for path in sorted((HERE / "attacks").glob("*.py")):
        for specimen in specimens_in(path):
            yield f"{path.stem}: {specimen.name}", specimen.code


def children_of(process):
    """Numbers of all processes below a process."""
    below, parents = set(), {process}
    table = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                fields = Path(f"/proc/{entry}/stat").read_text().rsplit(")", 1)[1].split()
            except (OSError, IndexError):
                continue
            if fields[0] != "Z":
                table[int(entry)] = int(fields[1])
    while parents:
        parents = {number for number, parent in table.items() if parent in parents} - below
        below |= parents
    return below


def run_attack(worker, code, port):
    """The faults of the defence against one attack: points gained, things reached, processes left; and the mark."""
    code = code.replace("@@COURSE@@", str(HERE)).replace("@@PORT@@", str(port))
    worker.start()
    before = children_of(worker._process.pid)
    result = mark(ASSIGNMENT, VARIANT, [code], worker, seed=1, limits=LIMITS)
    faults = []
    if result.score > 0:
        faults.append(f"{result.score:g} points gained")
    if SECRET in str(result) or "FOUND" in result.reason or "course-secret" in str(result):
        faults.append(f"reached something: {result.reason[:200]}")
    if not result.reason.isprintable():
        faults.append("characters in the reason that do not print")
    faults += [f"left {path}" for path in MARKERS if path.exists()]
    faults += _left(worker, before)
    return faults, result


def _left(worker, before):
    """Processes that are still there one second later."""
    deadline = time.monotonic() + 1.0
    while True:
        alive = worker._process is not None and worker._process.poll() is None
        left = children_of(worker._process.pid) - before if alive else set()
        if not left or time.monotonic() > deadline:
            return [f"{len(left)} processes left"] if left else []
        time.sleep(0.05)


def honest(worker):
    """What a right answer gets from the same worker, which must not have suffered."""
    code = (HERE / "attention" / "correct" / "book.py").read_text(encoding="utf-8")
    return mark(ASSIGNMENT, VARIANT, [f"VARIANT = {VARIANT!r}", code], worker, seed=1)
