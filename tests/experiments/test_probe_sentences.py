"""The sentences with which chapter 9 asks trained heads: well formed, and fair to no rule that knows no grammar."""

from importlib.util import find_spec

import pytest

from attention_lib.experiments.probe_sentences import gender_probes, sense_probes, subject_probes
from attention_lib.models import minilm
from attention_lib.models.wordpiece import WordPiece, split_words

SETS = {"sense": sense_probes(), "gender": gender_probes(), "subject": subject_probes()}
every_set = pytest.mark.parametrize("probes", SETS.values(), ids=SETS)


@every_set
def test_96_different_sentences_each_with_its_three_words_once(probes):
    assert len({probe.text for probe in probes}) == len(probes) == 96
    for probe in probes:
        words = split_words(probe.text)
        assert [words.count(word) for word in probe[1:]] == [1, 1, 1], probe
        assert probe.text[0].isupper()
        assert probe.text.endswith(".")


@every_set
def test_the_first_noun_is_right_in_exactly_half(probes):
    assert sum(_place(probe, probe.right) < _place(probe, probe.wrong) for probe in probes) == 48


@every_set
def test_the_nearest_noun_is_right_in_exactly_half(probes):
    def distance(probe, word):
        return abs(_place(probe, probe.query) - _place(probe, word))

    assert sum(distance(probe, probe.right) < distance(probe, probe.wrong) for probe in probes) == 48


def _place(probe, word):
    return split_words(probe.text).index(word)


def test_pairs_of_senses_differ_in_the_last_word_alone():
    for first, second in zip(SETS["sense"][::2], SETS["sense"][1::2], strict=True):
        one, other = split_words(first.text), split_words(second.text)
        assert [a == b for a, b in zip(one, other, strict=True)] == [True] * (len(one) - 2) + [False, True]
        assert (first.right, first.wrong) == (second.wrong, second.right)


def test_gender_goes_with_the_pronoun():
    men = {probe.right for probe in SETS["gender"] if probe.query == "he"}
    women = {probe.right for probe in SETS["gender"] if probe.query == "she"}
    assert len(men) == len(women) == 8
    assert not men & women


def test_agreeing_with_the_verb_leaves_both_nouns_in_half_of_the_sentences():
    assert sum(_fits(probe) for probe in SETS["subject"]) == 48


def _fits(probe):
    """Whether the wrong noun agrees with the verb as well: it is plural exactly when the verb is."""
    return probe.wrong.endswith("s") == (probe.query == "are")


@pytest.mark.skipif(find_spec(minilm.PACKAGE) is None, reason=f"MiniLM is not installed; run: {minilm.INSTALL}")
@every_set
def test_every_word_is_one_piece(probes):
    tokenizer = WordPiece.from_file(minilm.minilm_folder() / "vocab.txt")
    for probe in probes:
        assert set(probe[1:]) <= set(tokenizer.pieces(probe.text)), probe
