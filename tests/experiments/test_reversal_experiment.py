"""Chapter 2's claims: a fixed vector fails where attention does not, and the largest weight may lie next door."""

import pytest
import torch

from attention_lib.errors import OptionError
from attention_lib.experiments import load_result, sequence_reversal
from attention_lib.models.seq2seq import Seq2Seq
from attention_lib.tasks.pairs import END, FIRST


class Perfect(Seq2Seq):
    """Writes every source backwards, without a mistake."""

    def __init__(self):
        super().__init__(FIRST + 8, FIRST + 8, 2)

    def greedy(self, source, *, start, end, longest, pad):
        assert longest == source.shape[1] + 1
        return torch.cat((source.flip(1), torch.full_like(source[:, :1], end)), dim=1), None


class Parrot(Perfect):
    """Writes the word one place behind the one it should write, from the second symbol on."""

    def greedy(self, source, **options):
        written, _ = super().greedy(source, **options)
        return torch.cat((written[:, :1], written[:, :-1]), dim=1), None


def test_fresh_sequences_are_repeatable_and_of_one_length():
    first, again, other = (sequence_reversal.fresh(5, 7, seed=seed) for seed in (3, 3, 4))
    assert torch.equal(first.source, again.source)
    assert not torch.equal(first.source, other.source)
    assert first.source.shape == (5, 7)
    assert torch.equal(first.target[:, :-1], first.source.flip(1))
    assert (first.target[:, -1] == END).all()


def test_exact_counts_whole_sequences():
    assert sequence_reversal.exact_at(Perfect(), 5, seed=3) == 1.0
    assert sequence_reversal.exact_at(Parrot(), 5, seed=3) < 0.1


def test_share_at_by_hand():
    anti_diagonal = torch.eye(5).flip(1)  # row t, column 4 - t
    later = torch.cat((anti_diagonal[:1], anti_diagonal[:-1]))  # row t, column 5 - t
    weights = torch.stack((anti_diagonal, later))
    assert sequence_reversal.share_at(weights[:1], 0) == 1.0
    assert sequence_reversal.share_at(weights[1:], 1) == 1.0
    assert sequence_reversal.share_at(weights, 0) == 0.5
    with_end = torch.cat((weights, torch.zeros(2, 1, 5)), dim=1)  # the row that writes the end does not count
    assert sequence_reversal.share_at(with_end, 0) == 0.5


@pytest.mark.parametrize(("network", "at_the_word", "one_later"), [(Perfect(), 1.0, 0.0), (Parrot(), 0.0, 1.0)])
def test_replaced_words_move_their_own_symbol(network, at_the_word, one_later):
    source = sequence_reversal.fresh(3, 7, seed=5).source
    kept = source.clone()
    assert sequence_reversal.moved_by(network, source, 0) == at_the_word
    assert sequence_reversal.moved_by(network, source, 1) == one_later
    assert torch.equal(source, kept)


def test_write_leaves_room_for_the_end():
    symbols = FIRST + 8
    for attention, shape in ((None, None), ("dot", (2, 6, 5))):
        written, weights = sequence_reversal.write(
            Seq2Seq(symbols, symbols, 7, attention=attention), torch.full((2, 5), FIRST)
        )
        assert written.shape == (2, 6)
        assert (None if weights is None else tuple(weights.shape)) == shape


def test_teaching_is_deterministic_whatever_the_threads():
    threads = torch.get_num_threads()
    taught = []
    try:
        for count in (2, 1):
            torch.set_num_threads(count)
            taught.append(sequence_reversal.teach("Bahdanau", steps=5, longest=5, seed=3))
    finally:
        torch.set_num_threads(threads)
    for first, second in zip(*(model.parameters() for model in taught), strict=True):
        assert torch.equal(first, second)


def test_patience_multiplies_the_batches(monkeypatch):
    counted = []
    monkeypatch.setattr(
        sequence_reversal, "train", lambda model, batches, *rest: counted.append(sum(1 for _ in batches))
    )
    for name in ("fixed vector", "fixed vector, 3 x as long"):
        sequence_reversal.teach(name, steps=4, longest=3, seed=0)
    assert counted == [4, 12]


@pytest.mark.bad_input
def test_refusals():
    with pytest.raises(OptionError, match="budget='huge' is not known; choose one of: smoke, full"):
        sequence_reversal.run("huge")


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_sequence_reversal(seed):
    measured = sequence_reversal.run("smoke", seeds=[seed])
    fixed, attending = measured.exact["fixed vector"], measured.exact["Bahdanau"]
    assert fixed["2"][0] > 0.9
    assert fixed["8"][0] < 0.2
    assert attending["8"][0] > fixed["8"][0] + 0.3
    assert measured.looks["Bahdanau"]["one later"][0] > 0.7
    assert measured.moved["Bahdanau"]["at the word"][0] > 0.8
    assert measured.moved["Bahdanau"]["one later"][0] < 0.3
    assert "fixed vector" not in measured.looks
    assert measured.summary()["Bahdanau: looks"].startswith("at the word 0.")


def test_recorded_reversal():
    recorded = load_result("sequence_reversal").result
    assert set(recorded.exact) == set(sequence_reversal.NETWORKS)
    assert len(recorded.seeds) >= 5
    for name in ("Luong", "Bahdanau"):
        assert min(recorded.exact[name]["12"]) > max(recorded.exact["fixed vector"]["12"]) + 0.2
        assert min(recorded.looks[name]["one later"]) > 0.5
    assert min(recorded.looks["Luong, taught to 8"]["at the word"]) > 0.5
    assert min(recorded.looks["Luong, both ways"]["at the word"]) > 0.5
