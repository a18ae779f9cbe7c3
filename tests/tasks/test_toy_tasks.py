"""Recall and sorting batches: right answers, from the generator alone, and clear refusals."""

import pytest
import torch

from attention_lib.errors import OptionError
from attention_lib.tasks.recall import recall_batch
from attention_lib.tasks.sorting import sort_batch


def generator(seed=3):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("draw", [recall_batch, sort_batch])
def test_same_generator_same_batch_whatever_torch_drew_before(draw):
    first = draw(5, 7, symbols=11, generator=generator())
    torch.rand(13)
    again = draw(5, 7, symbols=11, generator=generator())
    assert torch.equal(first.tokens, again.tokens)
    assert not torch.equal(first.tokens, draw(5, 7, symbols=11, generator=generator(4)).tokens)


@pytest.mark.parametrize("draw", [recall_batch, sort_batch])
def test_every_symbol_is_equally_likely(draw):
    tokens = draw(400, 20, symbols=5, generator=generator()).tokens
    assert tokens.shape == (400, 20)
    share = torch.bincount(tokens.flatten(), minlength=5) / tokens.numel()
    torch.testing.assert_close(share, torch.full((5,), 0.2), rtol=0, atol=0.02)


def test_recall_asks_for_the_first_symbol():
    tokens, answer = recall_batch(13, 7, generator=generator())
    assert answer.tolist() == [row[0] for row in tokens.tolist()]


def test_sorting_asks_for_the_same_symbols_in_order():
    tokens, answer = sort_batch(13, 7, generator=generator())
    assert answer.tolist() == [sorted(row) for row in tokens.tolist()]


@pytest.mark.parametrize("draw", [recall_batch, sort_batch])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"batch": 0, "length": 7}, "batch=0 must be a whole number, 1 or more"),
        ({"batch": 5, "length": 2.5}, "length=2.5 must be a whole number, 1 or more"),
        ({"batch": 5, "length": 7, "symbols": 1}, "symbols=1 must be a whole number, 2 or more"),
        ({"batch": True, "length": 7}, "batch=True must be a whole number, 1 or more"),
    ],
)
@pytest.mark.bad_input
def test_refusals_name_the_argument_and_what_came(draw, arguments, message):
    with pytest.raises(OptionError, match=message):
        draw(**arguments, generator=generator())
