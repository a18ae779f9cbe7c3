"""The two instruments, held against what is known: bytes that were allocated, work that was done."""

import subprocess
import sys
import time

import pytest
import torch

from attention_lib import OptionError, attention
from attention_lib.experiments import length_growth, stopwatch
from attention_lib.experiments.peak_memory import peak_memory

MEGABYTE = 2**20


def allocate(*megabytes):
    """Tensors of these sizes, one after the other; the last one is returned."""
    for size in megabytes:
        tensor = torch.empty(size * MEGABYTE // 4)
        tensor.fill_(1.0)
        kept = tensor
        del tensor
        if size != megabytes[-1]:
            del kept
    return kept


@pytest.mark.parametrize(("sizes", "peak"), [((64,), 64), ((64, 32), 64), ((8, 24), 24)])
def test_the_peak_of_known_allocations(sizes, peak):
    assert peak_memory(lambda: allocate(*sizes)).bytes == peak * MEGABYTE


def test_what_lives_at_the_same_time_adds_up():
    assert peak_memory(lambda: torch.ones(MEGABYTE) + torch.ones(MEGABYTE)).bytes == 3 * 4 * MEGABYTE


def test_memory_from_before_the_call_does_not_count():
    before = torch.ones(MEGABYTE)
    assert peak_memory(lambda: before.add_(before)).bytes < 100


def test_buffers_inside_a_kernel_and_the_backward_pass_count():
    query = torch.randn(1, 2, 256, 16, requires_grad=True)
    forward = peak_memory(lambda: attention(query, query, query, need_weights=True)).bytes
    both = peak_memory(lambda: attention(query, query, query, need_weights=True).output.sum().backward()).bytes
    weights = 4 * 2 * 256 * 256
    assert weights < forward < both
    assert both >= 2 * weights  # the weights and their gradient


def test_the_peak_is_the_same_each_time():
    query = torch.randn(1, 2, 256, 16)
    assert len({peak_memory(lambda: attention(query, query, query)).bytes for _ in range(3)}) == 1


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells a process its own peak")
def test_the_system_saw_the_same_peak():
    """A fresh process: what torch counts, the system counts too, to a few MiB for its own buffers."""
    program = (
        "import torch\n"
        "from attention_lib.experiments.peak_memory import peak_memory\n"
        "def high(): return int(open('/proc/self/status').read().split('VmHWM:')[1].split()[0]) * 1024\n"
        "peak_memory(lambda: torch.ones(1)); before = high()\n"
        "counted = peak_memory(lambda: torch.ones(2**24) + torch.ones(2**24)).bytes\n"
        "print(counted, high() - before)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    counted, seen = map(int, done.stdout.split())
    assert counted == 3 * 2**26
    assert abs(seen - counted) < 0.1 * counted


def test_the_profiler_stays_silent(capfd):
    peak_memory(lambda: torch.ones(3))
    assert capfd.readouterr() == ("", "")


def test_a_call_that_raises_leaves_the_error_channel_as_it_was(capfd):
    with pytest.raises(ZeroDivisionError):
        peak_memory(lambda: 1 / 0)
    print("still here", file=sys.stderr, flush=True)
    assert capfd.readouterr().err == "still here\n"


def test_sleeping_costs_no_processor_time():
    assert stopwatch.seconds_of(lambda: time.sleep(0.05)) < 0.02


def test_twice_the_work_takes_longer():
    small, large = torch.randn(2, 200, 200), torch.randn(20, 200, 200)
    taken = stopwatch.interleaved({"small": lambda: small @ small, "large": lambda: large @ large}, 5)
    assert min(taken["large"]) > 3 * min(taken["small"])


def test_every_variant_has_its_turn_first():
    order = []
    calls = {name: lambda name=name: order.append(name) for name in "abc"}
    taken = stopwatch.interleaved(calls, 3, repeats=dict.fromkeys(calls, 1))
    assert "".join(order) == "abcbcacab"
    assert [len(each) for each in taken.values()] == [3, 3, 3]


@pytest.mark.parametrize(("taken", "calls"), [(3e-6, 334), (4e-4, 3), (1.0, 1), (0.0, 10_000)])
def test_short_calls_are_repeated(monkeypatch, taken: float, calls: int):
    monkeypatch.setattr(stopwatch, "seconds_of", lambda call, times, device: taken)
    assert stopwatch.calls_for(lambda: None, 0.001) == calls


def test_long_calls_end_the_rounds():
    spin = lambda: [None for _ in range(300_000)]  # noqa: E731
    assert len(stopwatch.interleaved({"spin": spin}, 50, most=0.0)["spin"]) == 1


def test_threads_are_put_back():
    before = torch.get_num_threads()
    with pytest.raises(ZeroDivisionError), stopwatch.threads(before + 1):
        1 / (torch.get_num_threads() == before)
    assert torch.get_num_threads() == before


@pytest.mark.parametrize(("power", "factor"), [(1, 3.0), (2, 0.25)])
def test_slope_of_a_known_power(power, factor):
    lengths = [2**k for k in range(5, 12)]
    assert length_growth.slope(lengths, [factor * n**power for n in lengths]) == pytest.approx(power)


def test_growth_in_small():
    grown = length_growth.run("smoke", ways=["weights stored", "window"], rounds=1)
    assert grown.lengths == {"weights stored": [512, 1024, 2048], "window": [2048, 4096, 8192]}
    assert grown.memory_slope("weights stored") == pytest.approx(2, abs=0.1)
    assert grown.memory_slope("window") == pytest.approx(1, abs=0.1)
    assert grown.time_slope("window") < 1.5  # twice the length, less than 2.8 times the work
    assert all(time > 0 for times in grown.milliseconds.values() for time in times)
    assert set(grown.summary()) == {f"{way}, slope of {what}" for way in grown.lengths for what in ("time", "memory")}


def test_growth_refuses_another_budget():
    with pytest.raises(OptionError, match="budget='big' is not known; choose one of: smoke, full"):
        length_growth.run("big")
