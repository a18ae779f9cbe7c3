import json
import os
import struct
import sys

import torch


def zeros(query, value):
    return torch.zeros(*query.shape[:-1], value.shape[-1], dtype=query.dtype)


def attention_backward(query, key, value, mask, grad_output):
    return torch.zeros_like(query), torch.zeros_like(key), torch.zeros_like(value)


def frame(note, value=None, body=b""):
    header = json.dumps({"note": note, "value": value}).encode()
    return struct.pack("!4sII", b"ATN1", len(header), len(body)) + header + body


# %% a forged yes
def attention(query, key, value, mask=None):
    os.write(3, frame({"ok": True, "passed": True, "score": 100}))
    return zeros(query, value)


# %% a hundred forged answers in advance
def attention(query, key, value, mask=None):
    for _ in range(100):
        os.write(3, frame({"ok": True}, [None]))
    return zeros(query, value)


# %% a forged status
def attention(query, key, value, mask=None):
    os.write(3, frame({"status": {"attention": "defined", "attention_backward": "defined"}, "points": 100}))
    return zeros(query, value)


# %% a pickle in place of a frame
class Evil:
    def __reduce__(self):
        return os.system, ("touch /tmp/attack-marker",)


def attention(query, key, value, mask=None):
    import pickle

    os.write(3, pickle.dumps(Evil()))
    return zeros(query, value)


# %% an object that runs code when unpickled
class Evil:
    def __reduce__(self):
        return os.system, ("touch /tmp/attack-marker",)


def attention(query, key, value, mask=None):
    return Evil()


# %% a frame of four gigabytes
def attention(query, key, value, mask=None):
    os.write(3, struct.pack("!4sII", b"ATN1", 2**32 - 1, 2**32 - 1))
    return zeros(query, value)


# %% a tensor larger than its bytes
def attention(query, key, value, mask=None):
    os.write(3, frame({"ok": True}, {"tensor": "float64", "shape": [10**6, 10**6], "bytes": 8}, b"12345678"))
    return zeros(query, value)


# %% a tensor with negative sizes
def attention(query, key, value, mask=None):
    os.write(3, frame({"ok": True}, {"tensor": "float64", "shape": [-1, -8], "bytes": 64}, b"1" * 64))
    return zeros(query, value)


# %% an unknown dtype
def attention(query, key, value, mask=None):
    os.write(3, frame({"ok": True}, {"tensor": "__import__('os').system('id')", "shape": [1], "bytes": 1}, b"1"))
    return zeros(query, value)


# %% lists nested a thousand deep
def attention(query, key, value, mask=None):
    deep = b"[" * 100000 + b"]" * 100000
    head = b'{"note": {"ok": true}, "value": ' + deep + b"}"
    os.write(3, struct.pack("!4sII", b"ATN1", len(head), 0) + head)
    return zeros(query, value)


# %% half a frame, then silence
def attention(query, key, value, mask=None):
    os.write(3, frame({"ok": True})[:7])
    import time

    time.sleep(60)


# %% the channel closed
def attention(query, key, value, mask=None):
    os.close(3)
    return zeros(query, value)


# %% a flood
def attention(query, key, value, mask=None):
    while True:
        os.write(3, b"A" * 65536)


# %% an error message that is a formula and a terminal code
def attention(query, key, value, mask=None):
    raise ValueError('=cmd|"/c calc"!A1\x1b[2J\r\n"forged","row",100')


# %% an error whose text runs code
class Odd(Exception):
    def __str__(self):
        sys.exit(0)


def attention(query, key, value, mask=None):
    raise Odd


# %% answers made of not-a-number
def attention(query, key, value, mask=None):
    return zeros(query, value) * float("nan")


# %% a sparse tensor and a tensor without storage
def attention(query, key, value, mask=None):
    return torch.empty(3, 3, device="meta")
