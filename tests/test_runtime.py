"""Device and seed."""

import random

import numpy as np
import pytest
import torch

from attention_lib import OptionError, default_device, seed_everything


@pytest.fixture(autouse=True)
def _no_override(monkeypatch):
    monkeypatch.delenv("ATTENTION_DEVICE", raising=False)


@pytest.mark.parametrize(
    ("cuda", "mps", "expected"),
    [(True, True, "cuda"), (True, False, "cuda"), (False, True, "mps"), (False, False, "cpu")],
)
def test_cuda_then_mps_then_cpu(monkeypatch, cuda, mps, expected):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    assert default_device() == torch.device(expected)


def test_the_environment_overrides(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setenv("ATTENTION_DEVICE", "cpu")
    assert default_device() == torch.device("cpu")
    monkeypatch.setenv("ATTENTION_DEVICE", "")
    assert default_device() == torch.device("cuda")


@pytest.mark.parametrize("name", ["gpu", "cuda:99", "cpu:x", "privateuseone"])
def test_names_that_cannot_be_used(monkeypatch, name):
    monkeypatch.setenv("ATTENTION_DEVICE", name)
    with pytest.raises(
        OptionError, match=rf"ATTENTION_DEVICE='{name}' cannot be used here \(.+\); usable .*: cpu.*unset"
    ):
        default_device()


def test_the_usable_devices_are_listed(monkeypatch):
    monkeypatch.setenv("ATTENTION_DEVICE", "nonsense")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    with pytest.raises(OptionError, match="usable on this machine: cpu, cuda:0, cuda:1, mps;"):
        default_device()


def test_one_seed_for_all_generators():
    def draw(seed):
        generator = seed_everything(seed)
        return random.random(), np.random.rand(), torch.rand(()).item(), torch.rand((), generator=generator).item()

    first = draw(7)
    assert draw(7) == first
    assert all(one != other for one, other in zip(first, draw(8), strict=True))
    assert first[2] == first[3]  # the generator starts where torch does


def test_the_generator_is_fresh_and_on_the_cpu():
    generator = seed_everything(0)
    assert generator.device.type == "cpu"
    assert generator is not torch.default_generator
    state = torch.get_rng_state()
    torch.rand(3, generator=generator)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("seed", [0, 2**32 - 1])
def test_the_ends_of_the_range(seed):
    seed_everything(seed)
    assert torch.initial_seed() == seed


@pytest.mark.bad_input
@pytest.mark.parametrize("seed", [-1, 2**32, 1.5, True, "7", None])
def test_bad_seeds(seed):
    with pytest.raises(OptionError, match=f"seed={seed!r} must be a whole number from 0 to 4294967295"):
        seed_everything(seed)
