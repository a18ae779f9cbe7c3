"""Tables of scores that cannot fit are refused in words, before anything is taken."""

import pytest
import torch

from attention_lib import AttentionError, AttentionMemoryError, attention, attention_weights, averaged_weights, memory
from attention_lib.memory import available_bytes, room_for


def long(n, heads=1, width=1):
    """A sequence of n tokens that takes no memory: every token is the same one."""
    return torch.zeros(1, heads, 1, width).expand(1, heads, n, width)


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("call", "needed"),
    [
        (lambda x: attention(x, x, x, need_weights=True), 2 * 10**14 * 4),
        (lambda x: attention_weights(x, x), 2 * 10**14 * 4),
        (lambda x: averaged_weights(x, x), 10**14 * 4),
        (lambda x: attention(x[:, :, 1:], x, x, causal=True), (10**7 - 1) * 10**7 * 4),
        (lambda x: attention(x, x, x, causal=True, window=9 * 10**6), 10**14 * 4),
        (lambda x: attention(x, x, x, dropout_p=0.1, need_weights=True), 2 * 10**14 * 4),
    ],
)
def test_sizes_that_never_fit(call, needed):
    with pytest.raises(
        AttentionMemoryError, match=rf"needs {needed:,d} bytes \([\d,.]+ GiB\), [\d.]+ GiB are left on cpu"
    ):
        call(long(10**7, heads=2))


@pytest.mark.bad_input
def test_the_message_names_shape_and_way_out_and_is_a_memory_error():
    x = long(10**7, heads=2)
    with pytest.raises(MemoryError, match=r"table of scores \(1, 2, 10000000, 10000000\) .*window=w.*rows="):
        attention(x, x, x, need_weights=True)
    with pytest.raises(MemoryError, match=r"\(1, 2, 10000000, 10000000\) .*ask for fewer rows: rows=\[\.\.\.\]"):
        attention_weights(x, x)
    assert issubclass(AttentionMemoryError, AttentionError)


def test_the_ways_out_work():
    x = long(10**5, width=2)
    assert attention(x, x, x, causal=True, window=4).output.shape == x.shape
    assert attention_weights(x, x, causal=True, window=2, rows=[-1])[0, 0, 0, -3:].tolist() == [0.0, 0.5, 0.5]


@pytest.mark.bad_input
def test_an_allocator_that_gives_up_is_translated(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda device: None)  # nobody says
    x = long(10**9, heads=8)
    with pytest.raises(AttentionMemoryError, match=r"needs 32,000,000,000,000,000,000 bytes .*more than cpu has left"):
        attention_weights(x, x)
    options = {"dtype": torch.float32, "device": torch.device("cpu"), "way_out": "go"}
    with pytest.raises(AttentionMemoryError, match="has left; go"), room_for((2, 3), **options):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")
    with pytest.raises(RuntimeError, match="something else"), room_for((2, 3), **options):
        raise RuntimeError("something else")


def test_what_fits_is_let_through(monkeypatch):
    monkeypatch.setattr(memory, "WORTH_ASKING", 0)
    monkeypatch.setattr(memory, "available_bytes", lambda device: 4 * 6)
    with room_for((2, 3), torch.float16, torch.device("cpu"), way_out="go"):
        pass
    with pytest.raises(AttentionMemoryError), room_for((2, 4), torch.float16, torch.device("cpu"), way_out="go"):
        pass


def test_available_bytes_follow_system_and_container(monkeypatch, tmp_path):
    system = available_bytes("cpu")
    assert system is None or 2**20 < system < 2**50
    assert available_bytes("meta") is None
    for name, text in (("max", "1000000"), ("current", "700000"), ("stat", "anon 5\ninactive_file 100000\n")):
        (tmp_path / f"memory.{name}").write_text(text)
    monkeypatch.setattr(memory, "_CGROUP", tmp_path)
    monkeypatch.setattr(memory, "_left_in_system", lambda: 2**40)
    assert available_bytes("cpu") == 400_000
    (tmp_path / "memory.max").write_text("max\n")
    assert available_bytes("cpu") == 2**40
    monkeypatch.setattr(memory, "_left_in_system", lambda: None)
    assert available_bytes("cpu") is None
