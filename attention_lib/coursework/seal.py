"""Closes the room around one submission: own namespaces, resource limits, forbidden system calls. Linux only.

Every step answers whether it held, and the names of those that did are the layers that a row of grades reports.
Runs inside the sandbox, so it imports nothing of the library.
"""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import signal
import struct
import sys

__all__ = ["MEGABYTE", "forbid_calls", "hide_memory", "limit", "private_rooms", "unshare"]

MEGABYTE = 1 << 20
_NEWNS, _NEWUTS, _NEWIPC, _NEWUSER, _NEWPID, _NEWNET = 0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
_READ_ONLY, _NOSUID, _NODEV, _REMOUNT, _BIND = 1, 2, 4, 32, 4096
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _PR_CAPBSET_DROP = 1, 4, 38, 22, 24


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def hide_memory() -> None:
    """Nobody with the same account may look into this process, nor see its environment or its files."""
    _libc().prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def die_with_parent() -> None:
    """The kernel ends this process when its parent ends."""
    _libc().prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def unshare() -> bool:
    """Leave for new user, process, mount and message namespaces; processes started from now on live in them."""
    return _libc().unshare(_NEWUSER | _NEWPID | _NEWNS | _NEWIPC | _NEWUTS) == 0


def private_rooms(megabytes: int = 16) -> bool:
    """Mount an own empty /tmp and hide /proc, then give up every capability.

    Where Python itself lies in /tmp, that stays as it is, and nobody may write there.
    """
    libc = _libc()
    options = f"size={megabytes}m,mode=1777".encode()
    if any(place.startswith("/tmp/") for place in (sys.prefix, sys.base_prefix, *sys.modules["torch"].__path__)):
        held = libc.mount(None, b"/tmp", None, _REMOUNT | _BIND | _READ_ONLY | _NOSUID | _NODEV, None) == 0
    else:
        held = libc.mount(b"tmpfs", b"/tmp", b"tmpfs", _NOSUID | _NODEV, options) == 0
    held &= libc.mount(b"tmpfs", b"/proc", b"tmpfs", _NOSUID | _NODEV, b"size=4k") == 0
    if os.path.isdir("/dev/shm"):
        held &= libc.mount(b"tmpfs", b"/dev/shm", b"tmpfs", _NOSUID | _NODEV, options) == 0
    return held and drop_capabilities()


def drop_capabilities() -> bool:
    """No capability is left, not even in the own user namespace."""
    libc = _libc()
    for number in range(64):
        libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0)
    head = (ctypes.c_uint32 * 2)(0x20080522, 0)
    none = (ctypes.c_uint32 * 6)()
    return libc.capset(ctypes.byref(head), ctypes.byref(none)) == 0


def limit(seconds: int, megabytes: int, file_megabytes: int = 8) -> None:
    """CPU time, address space beyond what is used already, file size, open files, no core dumps."""
    used = _address_space()
    _cap(resource.RLIMIT_CPU, seconds, seconds + 1)
    _cap(resource.RLIMIT_AS, used + megabytes * MEGABYTE)
    _cap(resource.RLIMIT_FSIZE, file_megabytes * MEGABYTE)
    _cap(resource.RLIMIT_NOFILE, 64)
    _cap(resource.RLIMIT_CORE, 0)
    _cap(resource.RLIMIT_MSGQUEUE, 0)


def _cap(what: int, soft: int, hard: int | None = None) -> None:
    wanted = hard if hard is not None else soft
    ceiling = resource.getrlimit(what)[1]
    if ceiling != resource.RLIM_INFINITY:
        wanted = min(wanted, ceiling)
    resource.setrlimit(what, (min(soft, wanted), wanted))


def _address_space() -> int:
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return 1024 * MEGABYTE


# Numbers of system calls: (x86-64, aarch64). The clone call is allowed for threads only, and prctl for everything but
# the wish to outlive the parent.
_FORBIDDEN = {
    "fork": (57, None), "vfork": (58, None), "execve": (59, 221), "execveat": (322, 281),
    "socket": (41, 198), "socketpair": (53, 199), "connect": (42, 203), "bind": (49, 200),
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "kcmp": (312, 272), "pidfd_open": (434, 434), "pidfd_getfd": (438, 438), "pidfd_send_signal": (424, 424),
    "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41),
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282), "io_uring_setup": (425, 425),
    "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218), "memfd_create": (319, 279),
    "open_by_handle_at": (304, 265), "kexec_load": (246, 104), "init_module": (175, 105), "sendmsg": (46, 211),
    "shmget": (29, 194), "semget": (64, 190), "msgget": (68, 186), "mq_open": (240, 180),  # they outlive a process
}  # fmt: skip
_ARCHITECTURES = {"x86_64": (0, 0xC000003E, 56, 435, 157), "aarch64": (1, 0xC00000B7, 220, 435, 167)}
_ALLOW, _KILL, _EPERM, _ENOSYS = 0x7FFF0000, 0x80000000, 0x00050000 | 1, 0x00050000 | 38
_CLONE_THREAD = 0x10000


def forbid_calls() -> bool:
    """Forbid new processes, programs, sockets and everything that reaches another process (a seccomp filter)."""
    if platform.machine() not in _ARCHITECTURES:
        return False
    libc = _libc()
    code = _program(*_ARCHITECTURES[platform.machine()])
    filters = ctypes.create_string_buffer(code)

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("filters", ctypes.c_void_p))

    program = Program(len(code) // 8, ctypes.addressof(filters))
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        return False
    return libc.prctl(_PR_SET_SECCOMP, 2, ctypes.byref(program), 0, 0) == 0


def _program(column: int, audit: int, clone: int, clone3: int, prctl: int) -> bytes:
    """The filter: wrong architecture is killed, clone needs CLONE_THREAD, clone3 does not exist, the rest is EPERM."""
    load, equal, at_least, any_bit, answer = 0x20, 0x15, 0x35, 0x45, 0x06
    lines: list[tuple[int, ...]] = [(load, 0, 0, 4), (equal, 1, 0, audit), (answer, 0, 0, _KILL), (load, 0, 0, 0)]
    if column == 0:
        lines += [(at_least, 0, 1, 0x40000000), (answer, 0, 0, _KILL)]  # x32 calls would bypass the numbers
    lines += [(equal, 0, 1, clone3), (answer, 0, 0, _ENOSYS)]
    for numbers in _FORBIDDEN.values():
        number = numbers[column]
        if number is not None:
            lines += [(equal, 0, 1, number), (answer, 0, 0, _EPERM)]
    lines += [(equal, 0, 4, prctl), (load, 0, 0, 16), (equal, 0, 1, _PR_SET_PDEATHSIG), (answer, 0, 0, _EPERM)]
    lines += [(answer, 0, 0, _ALLOW)]
    lines += [(equal, 0, 3, clone), (load, 0, 0, 16), (any_bit, 1, 0, _CLONE_THREAD), (answer, 0, 0, _EPERM)]
    lines += [(answer, 0, 0, _ALLOW)]
    return b"".join(struct.pack("=HBBI", *line) for line in lines)
