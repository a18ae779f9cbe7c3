"""Chapter 8's claims: several heads answer several questions, two layers make one lookup, bugs still train."""

import math

import pytest
import torch

from attention_lib.errors import OptionError
from attention_lib.experiments import (
    head_bugs,
    head_convergence,
    induction_layers,
    load_result,
    two_relation_heads,
)


@pytest.mark.parametrize("seed", [0, 11])
def test_one_head_answers_one_question_and_two_answer_both(seed):
    measured = two_relation_heads.run("smoke", seeds=[seed])
    assert measured.worse("1")[0] < 0.45
    assert measured.better("1")[0] > 0.85
    assert measured.worse("2")[0] > 0.98
    assert measured.loss["1"][0][-1] > 0.5 > 0.1 > measured.loss["2"][0][-1]
    own = [max(range(2), key=looks.__getitem__) for looks in measured.looks["2"][0]]
    assert sorted(own) == [0, 1]
    for head, kept in enumerate(measured.ablated["2"][0]):
        lost = own[head]
        assert kept[lost] < 0.3
        assert kept[1 - lost] > 0.95


def test_taking_a_head_out_leaves_the_reader_as_it_was():
    reader, _ = two_relation_heads.train_reader(2, steps=1)
    before = {name: tensor.clone() for name, tensor in reader.state_dict().items()}
    changed = two_relation_heads.without(reader, 1)
    assert not torch.equal(changed.attention.w_o.weight, reader.attention.w_o.weight)
    assert all(torch.equal(before[name], tensor) for name, tensor in reader.state_dict().items())


def test_looks_are_shares_of_the_weight():
    reader, _ = two_relation_heads.train_reader(4, steps=1)
    shares = two_relation_heads.looks(reader)
    assert shares.shape == (4, 2)
    assert (shares > 0).all()
    assert (shares.sum(dim=1) < 1).all()


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [[0], [11]])
def test_more_heads_take_more_batches_for_one_relation(seeds):
    arrived = head_convergence.run("smoke", seeds=seeds).arrived(1, 0.003)
    assert list(arrived) == [1, 2, 4, 8, 16]
    assert arrived[1][0] < arrived[8][0] < arrived[16][0]


def test_who_does_not_arrive_is_written_down():
    assert head_convergence.batches_needed(2, 1, 0.003, seed=0, most=3) is None


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [[0], [11]])
def test_two_layers_foretell_what_one_cannot(seeds):
    measured = induction_layers.run("smoke", seeds=seeds)
    assert min(measured.at(7, "many lengths", 2)) > 0.9
    assert max(measured.at(7, "many lengths", 1)) < 0.6
    first, second = measured.looks["many lengths"]["2"][0]
    assert first[0] > 0.5
    assert second[1] > 0.8


def test_test_data_are_the_same_every_time():
    assert torch.equal(induction_layers.repeated(5).tokens, induction_layers.repeated(5).tokens)
    assert torch.equal(two_relation_heads.seats(3).tokens, two_relation_heads.seats(3).tokens)


@pytest.mark.parametrize("fault", head_bugs.FAULTS)
def test_what_each_test_finds(fault):
    assert head_bugs.equals_torch(fault) == (fault == "none")
    leaking = ("merge without transpose", "split without transpose", "softmax over queries")
    assert head_bugs.leaks(fault) == (fault in leaking)
    assert head_bugs.reaches(fault) == (fault != "both without transpose")


def test_the_merge_without_transpose_still_trains():
    for task in ("copy", "reverse"):
        assert head_bugs.train_task("merge without transpose", task, seed=11) > 0.9


@pytest.mark.bad_input
@pytest.mark.parametrize("experiment", [head_bugs, head_convergence, induction_layers, two_relation_heads])
def test_refusals(experiment):
    with pytest.raises(OptionError, match="budget='huge' is not known; choose one of: smoke, full"):
        experiment.run("huge")


def test_training_is_deterministic_whatever_the_threads():
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        losses = two_relation_heads.train_reader(2, steps=5, seed=3).losses
        more = induction_layers.train_model(2, steps=3, seed=3).losses
        torch.set_num_threads(1)
        assert losses == two_relation_heads.train_reader(2, steps=5, seed=3).losses
        assert more == induction_layers.train_model(2, steps=3, seed=3).losses
    finally:
        torch.set_num_threads(threads)


def test_recorded_heads():
    recorded = load_result("two_relation_heads").result
    assert len(recorded.seeds) >= 5
    assert max(recorded.worse("1")) < 0.5
    assert all(min(recorded.worse(case)) > 0.98 for case in ("2", "4", "8", "16"))
    assert all(0.5 < run[-1] < math.log(8) / 2 + 0.02 for run in recorded.loss["1"])
    assert set(load_result("head_bugs").result.right) == set(head_bugs.FAULTS)
