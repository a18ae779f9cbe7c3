"""What passes between the grader and the sandbox: frames of a checked length that hold raw values, nothing else.

A frame is a magic word, two lengths, a json header and raw bytes. Values are None, booleans, numbers, short strings,
lists and tensors of a few dtypes. Whatever else arrives is a ``WireError``; nothing is ever unpickled.
"""

from __future__ import annotations

import json
import math
import socket
import struct
import time
from typing import Any

import torch
from torch import Tensor

__all__ = ["DTYPES", "WireError", "pack", "receive", "send", "unpack"]

MAGIC = b"ATN1"
HEAD = struct.Struct("!4sII")
MAX_HEADER, MAX_BODY = 1 << 22, 1 << 26  # 4 MiB of json, 64 MiB of numbers
MAX_DEPTH, MAX_ITEMS, MAX_TEXT = 6, 4096, 4000
DTYPES = {
    "float64": torch.float64, "float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16,
    "int64": torch.int64, "int32": torch.int32, "uint8": torch.uint8, "bool": torch.bool,
}  # fmt: skip
_NAMES = {dtype: name for name, dtype in DTYPES.items()}


class WireError(Exception):
    """What came is not a frame, or holds something that is not a plain value."""


def pack(value: Any) -> tuple[Any, bytes]:
    """A value as json and raw bytes.

    Raises:
        WireError: The value is of a kind that does not travel.
    """
    pieces: list[bytes] = []
    return _packed(value, pieces, 0), b"".join(pieces)


def _packed(value: Any, pieces: list[bytes], depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise WireError("values nested too deeply")
    if value is None or type(value) in (bool, str):
        return value[:MAX_TEXT] if isinstance(value, str) else value
    if type(value) in (int, float):
        return value if abs(value) < 2**63 or not math.isfinite(value) else float(value)
    if isinstance(value, (tuple, list)):
        return [_packed(item, pieces, depth + 1) for item in value[:MAX_ITEMS]]
    if isinstance(value, Tensor):
        return _packed_tensor(value, pieces)
    if isinstance(value, torch.dtype) and value in _NAMES:
        return {"dtype": _NAMES[value]}
    raise WireError(f"a {type(value).__name__} is neither a tensor nor a number nor a list of them")


def _packed_tensor(tensor: Tensor, pieces: list[bytes]) -> dict[str, Any]:
    tensor = tensor.detach().cpu()
    if tensor.layout != torch.strided or tensor.dtype not in _NAMES:
        raise WireError(f"a tensor of dtype {tensor.dtype} and layout {tensor.layout} does not travel")
    if tensor.numel() * tensor.element_size() > MAX_BODY:
        raise WireError(f"a tensor of shape {tuple(tensor.shape)} is too large")
    plain = tensor.resolve_conj().resolve_neg().contiguous()
    raw = bytes(plain.reshape(-1).view(torch.uint8).numpy()) if plain.numel() else b""
    pieces.append(raw)
    return {"tensor": _NAMES[tensor.dtype], "shape": list(tensor.shape), "bytes": len(raw)}


def unpack(header: Any, body: bytes) -> Any:
    """The value that ``pack`` took apart.

    Raises:
        WireError: Lengths, shapes or dtypes do not fit, or something is left over.
    """
    value, used = _unpacked(header, body, 0, 0)
    if used != len(body):
        raise WireError(f"{len(body) - used} bytes more than the values need")
    return value


def _unpacked(told: Any, body: bytes, at: int, depth: int) -> tuple[Any, int]:
    if depth > MAX_DEPTH:
        raise WireError("values nested too deeply")
    if told is None or type(told) in (bool, float) or (type(told) is int and abs(told) < 2**63):
        return told, at
    if type(told) is str and len(told) <= MAX_TEXT:
        return told, at
    if type(told) is list and len(told) <= MAX_ITEMS:
        values = []
        for item in told:
            value, at = _unpacked(item, body, at, depth + 1)
            values.append(value)
        return values, at
    if type(told) is dict:
        return _unpacked_tensor(told, body, at)
    raise WireError(f"a {type(told).__name__} is not a value")


def _unpacked_tensor(told: dict[str, Any], body: bytes, at: int) -> tuple[Any, int]:
    if set(told) == {"dtype"} and told["dtype"] in DTYPES:
        return DTYPES[told["dtype"]], at
    if set(told) != {"tensor", "shape", "bytes"}:
        raise WireError("an object that is not a tensor")
    name, shape, length = told["tensor"], told["shape"], told["bytes"]
    if type(name) is not str or name not in DTYPES:
        raise WireError("a tensor of a dtype that does not travel")
    if type(shape) is not list or len(shape) > 8 or not all(type(n) is int and 0 <= n < 2**31 for n in shape):
        raise WireError("a tensor without a proper shape")
    wanted = math.prod(shape) * torch.empty(0, dtype=DTYPES[name]).element_size()
    if type(length) is not int or length != wanted or at + length > len(body):
        raise WireError("a tensor whose length is not that of its shape")
    raw = bytearray(body[at : at + length])
    if name == "bool" and any(byte > 1 for byte in raw):
        raise WireError("a boolean that is neither 0 nor 1")
    if not raw:
        return torch.empty(shape, dtype=DTYPES[name]), at
    return torch.frombuffer(raw, dtype=DTYPES[name]).reshape(shape), at + length


def send(channel: socket.socket, value: dict[str, Any], payload: Any = None) -> None:
    """Write one frame: a small dictionary of plain json, and a value."""
    told, body = pack(payload)
    header = json.dumps({"note": value, "value": told}).encode()
    if len(header) > MAX_HEADER or len(body) > MAX_BODY:
        raise WireError("too large to be sent")
    channel.sendall(HEAD.pack(MAGIC, len(header), len(body)) + header + body)


def receive(channel: socket.socket, deadline: float | None = None) -> tuple[dict[str, Any], Any]:
    """Read one frame.

    Args:
        channel: A stream socket.
        deadline: Moment of ``time.monotonic`` by which the whole frame must be there.

    Returns:
        The dictionary and the value.

    Raises:
        WireError: What came is not a frame.
        TimeoutError: The deadline passed.
        EOFError: The other side has gone.
    """
    magic, header_length, body_length = HEAD.unpack(_exactly(channel, HEAD.size, deadline))
    if magic != MAGIC or header_length > MAX_HEADER or body_length > MAX_BODY:
        raise WireError("what came is not a frame")
    header = _exactly(channel, header_length, deadline)
    body = _exactly(channel, body_length, deadline)
    try:
        told = json.loads(header.decode("utf-8"))
    except (ValueError, RecursionError):
        raise WireError("the frame's header is not json") from None
    if type(told) is not dict or set(told) != {"note", "value"} or type(told["note"]) is not dict:
        raise WireError("the frame's header has another form")
    return told["note"], unpack(told["value"], body)


def _exactly(channel: socket.socket, count: int, deadline: float | None) -> bytes:
    pieces = bytearray()
    while len(pieces) < count:
        if deadline is not None:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            channel.settimeout(left)
        piece = channel.recv(min(1 << 20, count - len(pieces)))
        if not piece:
            raise EOFError("the other side has gone")
        pieces += piece
    return bytes(pieces)
