"""Seeds, threads, rounding, budgets."""

import pytest
import torch

from attention_lib.errors import OptionError
from attention_lib.experiments.control import chosen, digits, progress_bar, seeded


def test_seeded_leaves_the_callers_stream_and_threads_alone():
    threads = torch.get_num_threads()
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    with seeded(11):
        torch.rand(7)
        assert torch.get_num_threads() == 1
    assert torch.equal(torch.rand(3), expected)
    assert torch.get_num_threads() == threads


def test_seeded_restores_after_an_error():
    threads = torch.get_num_threads()

    def fail():
        with seeded(11):
            raise KeyError("stop")

    with pytest.raises(KeyError, match="stop"):
        fail()
    assert torch.get_num_threads() == threads


def test_data_and_weights_are_two_streams():
    with seeded(3) as generator:
        assert not torch.equal(torch.randn(17), torch.randn(17, generator=generator))


@pytest.mark.parametrize("seed", [-1, 2**32, 1.5, True])
@pytest.mark.bad_input
def test_seeded_refuses(seed):
    with pytest.raises(OptionError, match=f"seed={seed} must be a whole number from 0 to 4294967295"), seeded(seed):
        pass


def test_digits_keep_the_small():
    assert digits(torch.tensor([[1.23456789e-19, 2.0]], dtype=torch.float64), 3) == [[1.23e-19, 2.0]]


def test_chosen_names_the_known_budgets():
    with pytest.raises(OptionError, match="budget='huge' is not known; choose one of: smoke, full"):
        chosen({"smoke": 1, "full": 2}, "huge")


def test_progress_bar_changes_nothing(capsys):
    assert list(progress_bar([2, 3, 5], "primes", show=True)) == [2, 3, 5]
    assert capsys.readouterr().out == ""
