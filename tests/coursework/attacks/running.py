import os
import signal

import torch


def zeros(query, value):
    return torch.zeros(*query.shape[:-1], value.shape[-1], dtype=query.dtype)


def attention_backward(query, key, value, mask, grad_output):
    return torch.zeros_like(query), torch.zeros_like(key), torch.zeros_like(value)


# %% fork
def attention(query, key, value, mask=None):
    if os.fork() == 0:
        while True:
            signal.pause()
    return zeros(query, value)


# %% fork bomb
def attention(query, key, value, mask=None):
    while True:
        os.fork()


# %% daemon by double fork
def attention(query, key, value, mask=None):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.pause()
        os._exit(0)
    return zeros(query, value)


# %% a shell
def attention(query, key, value, mask=None):
    import subprocess

    subprocess.Popen(["/bin/sh", "-c", "sleep 1000"])
    return zeros(query, value)


# %% os.system
def attention(query, key, value, mask=None):
    os.system("sleep 1000 &")
    return zeros(query, value)


# %% multiprocessing
def attention(query, key, value, mask=None):
    import multiprocessing

    multiprocessing.Process(target=signal.pause).start()
    return zeros(query, value)


# %% clone by ctypes
def attention(query, key, value, mask=None):
    import ctypes

    libc = ctypes.CDLL(None)
    if libc.syscall(56, 17, 0, 0, 0, 0) == 0 or libc.syscall(57) == 0:
        signal.pause()
    return zeros(query, value)


# %% exec
def attention(query, key, value, mask=None):
    os.execv("/bin/sleep", ["sleep", "1000"])


# %% threads that go on
def attention(query, key, value, mask=None):
    import threading

    for _ in range(200):
        threading.Thread(target=signal.pause).start()
    return zeros(query, value)


# %% endless loop
def attention(query, key, value, mask=None):
    while True:
        pass


# %% endless loop that catches everything
def attention(query, key, value, mask=None):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        try:
            while True:
                pass
        except BaseException:
            continue


# %% sleep
def attention(query, key, value, mask=None):
    import time

    time.sleep(10000)


# %% a pattern that never ends
def attention(query, key, value, mask=None):
    import re

    re.match(r"(a+)+$", "a" * 64 + "b")
    return zeros(query, value)


# %% all memory at once
def attention(query, key, value, mask=None):
    return torch.ones(10**12)


# %% memory bit by bit
def attention(query, key, value, mask=None):
    kept = []
    while True:
        kept.append(bytearray(10**7))


# %% a result of 512 MB
def attention(query, key, value, mask=None):
    return torch.zeros(64 * 10**6, dtype=torch.float64)


# %% recursion
def attention(query, key, value, mask=None):
    import sys

    sys.setrecursionlimit(10**9)
    return attention(query, key, value, mask)


# %% the disk filled
def attention(query, key, value, mask=None):
    number = 0
    while True:
        with open(f"/tmp/{number}", "wb") as file:
            file.write(b"0" * 10**6)
        number += 1


# %% exit
def attention(query, key, value, mask=None):
    os._exit(0)


# %% sys.exit
def attention(query, key, value, mask=None):
    raise SystemExit(0)


# %% keyboard interrupt
def attention(query, key, value, mask=None):
    raise KeyboardInterrupt


# %% kill everything
def attention(query, key, value, mask=None):
    for number in (os.getppid(), -1, 1, 2, 3):
        try:
            os.kill(number, signal.SIGKILL)
        except OSError:
            pass
    return zeros(query, value)


# %% stop the parent
def attention(query, key, value, mask=None):
    os.kill(os.getppid(), signal.SIGSTOP)
    return zeros(query, value)


# %% a crash in C
def attention(query, key, value, mask=None):
    import ctypes

    return ctypes.string_at(0)


# %% an abort
def attention(query, key, value, mask=None):
    os.abort()


# %% exit while the definitions run
def attention(query, key, value, mask=os._exit(0)):
    return zeros(query, value)


# %% a loop while the definitions run
def forever():
    while True:
        pass


LIMIT = forever()


def attention(query, key, value, mask=LIMIT):
    return zeros(query, value)


# %% memory while the definitions run
HUGE = [bytearray(10**8) for _ in range(10**4)]


def attention(query, key, value, mask=None):
    return zeros(query, value) if HUGE else None


# %% code too deep for the parser
def attention(query, key, value, mask=None):
    return eval("(" * 5000 + ")" * 5000)


# %% a limit put on every other process
def attention(query, key, value, mask=None):
    import resource
    import time

    end = time.monotonic() + 1
    while time.monotonic() < end:
        for number in filter(str.isdigit, [*os.listdir("/proc"), *map(str, range(1, 100))]):
            try:
                if int(number) != os.getpid():
                    resource.prlimit(int(number), resource.RLIMIT_CPU, (0, 0))
            except OSError:
                pass
    return zeros(query, value)


# %% every other process ended, again and again
def attention(query, key, value, mask=None):
    import time

    end = time.monotonic() + 1
    while time.monotonic() < end:
        try:
            os.kill(-1, signal.SIGKILL)
        except OSError:
            pass
    return zeros(query, value)


# %% a wish to outlive the parent
def attention(query, key, value, mask=None):
    import ctypes

    ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)
    signal.pause()
