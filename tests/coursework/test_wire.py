"""The only thing that comes out of the sandbox: frames of raw values, and everything else refused."""

import json
import math
import socket
import time

import pytest
import torch

from attention_lib.coursework.wire import DTYPES, HEAD, MAGIC, WireError, pack, receive, send, unpack

VALUES = [None, True, 3, -2.5, "text", [1, [2.0, None]], torch.randn(2, 3), torch.zeros(0, 4), torch.tensor(5),
          torch.randn(4, 3).T, torch.tensor([True, False]), torch.float32]  # fmt: skip


def same(left, right):
    if isinstance(left, torch.Tensor):
        return left.dtype == right.dtype and torch.equal(left, right)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    return left == right


@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
def test_what_is_packed_comes_out_the_same(value):
    header, body = pack(value)
    assert same(unpack(json.loads(json.dumps(header)), body), value)


@pytest.mark.parametrize("name", DTYPES)
def test_every_dtype_travels(name):
    tensor = torch.arange(6).reshape(2, 3).to(DTYPES[name])
    assert same(unpack(*pack(tensor)), tensor)


def test_not_a_number_and_infinity_travel():
    got = unpack(*pack([float("inf"), torch.tensor([math.nan, -math.inf])]))
    assert got[0] == math.inf
    assert torch.isnan(got[1][0])
    assert got[1][1] == -math.inf


@pytest.mark.bad_input
@pytest.mark.parametrize("value", [object(), {1: 2}, {"a"}, b"bytes", torch.zeros(2).to_sparse(), lambda: 0, 1j])
def test_other_values_do_not_travel(value):
    with pytest.raises(WireError):
        pack(value)


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("told", "body"),
    [
        ({"tensor": "float64", "shape": [2], "bytes": 8}, b"1" * 8),
        ({"tensor": "float64", "shape": [-1], "bytes": 8}, b"1" * 8),
        ({"tensor": "float64", "shape": [2**40, 2**40], "bytes": 16}, b"1" * 16),
        ({"tensor": "object", "shape": [1], "bytes": 8}, b"1" * 8),
        ({"tensor": ["float64"], "shape": [1], "bytes": 8}, b"1" * 8),
        ({"tensor": "float64", "shape": [True], "bytes": 8}, b"1" * 8),
        ({"tensor": "float64", "shape": [1], "bytes": 8.0}, b"1" * 8),
        ({"tensor": "float64", "shape": [1] * 9, "bytes": 8}, b"1" * 8),
        ({"tensor": "bool", "shape": [1], "bytes": 1}, b"\x02"),
        ({"tensor": "float64", "shape": [1], "bytes": 8, "more": 1}, b"1" * 8),
        ({"pickle": "x"}, b""),
        (2**70, b""),
        ([[[[[[[[[1]]]]]]]]], b""),
        (["x"] * 5000, b""),
        ("x" * 5000, b""),
        (None, b"left over"),
    ],
)
def test_forged_values_are_refused(told, body):
    with pytest.raises(WireError):
        unpack(told, body)


@pytest.mark.bad_input
@pytest.mark.parametrize(
    "sent",
    [
        b"PASS" * 10,
        HEAD.pack(MAGIC, 2**31, 0),
        HEAD.pack(MAGIC, 10, 2**31),
        HEAD.pack(MAGIC, 4, 0) + b"nope",
        HEAD.pack(MAGIC, 2, 0) + b"[]",
        HEAD.pack(MAGIC, 14, 0) + b'{"note": true}',
    ],
)
def test_forged_frames_are_refused(sent):
    ours, theirs = socket.socketpair()
    theirs.sendall(sent)
    with ours, theirs, pytest.raises(WireError):
        receive(ours, time.monotonic() + 1)


def test_a_frame_that_stops_in_the_middle_runs_out_of_time():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(HEAD.pack(MAGIC, 100, 0) + b"{")
        with pytest.raises(TimeoutError):
            receive(ours, time.monotonic() + 0.05)
        theirs.close()
        with pytest.raises(EOFError):
            receive(ours, time.monotonic() + 1)


def test_a_note_and_a_value_arrive_together():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        send(ours, {"call": "f"}, [torch.ones(2), 1])
        note, value = receive(theirs, time.monotonic() + 1)
    assert note == {"call": "f"}
    assert same(value, [torch.ones(2), 1])
