"""Every exercise: the right answer passes, at least three wrong ones fail, each with a message of its own."""

from __future__ import annotations

import numpy
import pytest
import torch

from attention_lib.errors import OptionError
from attention_lib.exercises import check
from attention_lib.exercises.exercise import Predict
from attention_lib.exercises.registry import all_exercises

EXERCISES = all_exercises()
NAMES = sorted(EXERCISES)


def wrong_answers(exercise):
    """Message -> an answer that should get it."""
    if isinstance(exercise, Predict):
        return {message: number for number, message in exercise.mistakes.items()}
    return exercise.mistakes


@pytest.mark.parametrize("name", NAMES)
def test_the_right_answer_passes(name):
    verdict = check(name, EXERCISES[name].truth)
    assert verdict
    assert verdict.message.startswith("Right")
    assert EXERCISES[name].praise in verdict.message


@pytest.mark.parametrize("name", NAMES)
def test_known_mistakes_fail_each_with_its_own_message(name):
    answers = wrong_answers(EXERCISES[name])
    assert len(answers) >= 3
    for message, answer in answers.items():
        verdict = check(name, answer)
        assert not verdict
        assert message in verdict.message


@pytest.mark.parametrize("name", NAMES)
def test_an_unknown_mistake_fails_with_the_hint(name):
    exercise = EXERCISES[name]
    answer = 123.456 if isinstance(exercise, Predict) else lambda *arguments: torch.full((2, 3), 123.456)
    verdict = check(name, answer)
    assert not verdict
    assert exercise.hint in verdict.message


@pytest.mark.parametrize("name", NAMES)
def test_an_open_exercise_is_not_called_wrong(name):
    stubs = [None, ...]
    if not isinstance(EXERCISES[name], Predict):
        stubs += [lambda *arguments: None, lambda *arguments: ...]
    for stub in stubs:
        assert "Not answered yet" in check(name, stub).message


def test_code_that_raises_is_reported_not_raised():
    def broken(query, key):
        raise IndexError("out of reach")

    assert "IndexError: out of reach" in check("4.2", broken).message


def test_a_wrong_shape_names_both_shapes():
    message = check("4.2", lambda query, key: query[..., :1]).message
    assert "shape (5, 1)" in message
    assert "(5, 7)" in message


def test_an_answer_cannot_pass_by_changing_its_arguments():
    def cheat(query, key):
        query.zero_()
        return query @ key.transpose(-2, -1)

    assert not check("4.2", cheat)


def test_a_function_where_a_number_is_asked_and_the_other_way_round():
    assert check("4.1", lambda: 8).message.startswith("The answer is a number; yours is a function. Call it")
    assert "The answer is a function" in check("4.2", 8.0).message


@pytest.mark.bad_input
def test_unknown_exercise_names_the_known_ones():
    with pytest.raises(OptionError, match=r"no exercise '9\.9'; known are .*4\.1"):
        check("9.9", 1)
    with pytest.raises(OptionError, match=r'no exercise 5\.1; write its number in quotes: "5\.1"; known are'):
        check(5.1, 1)
    with pytest.raises(OptionError, match=r"no exercise \['5\.1'\]; known are"):
        check(["5.1"], 1)


def test_a_float_mask_is_not_a_boolean_one():
    right = EXERCISES["7.3"].truth
    assert check("7.3", right)
    message = check("7.3", lambda *arguments: right(*arguments).float()).message
    assert message.startswith("Not yet")
    assert "bool" in message


def test_a_number_passed_off_as_a_matrix_is_refused():
    assert not check("3.4", lambda: 2)
    assert "(6, 3)" in check("3.4", lambda: torch.zeros(6, 3)).message


def test_code_that_exits_does_not_end_the_notebook():
    def leaves(query, key):
        raise SystemExit(3)

    assert "SystemExit: 3" in check("4.2", leaves).message


@pytest.mark.parametrize("answer", [numpy.int64(8), numpy.float32(8), torch.tensor(8)])
def test_a_number_of_any_kind_is_a_number(answer):
    assert check("4.1", answer)


def test_numbers_beyond_floats_and_odd_results_get_a_verdict():
    assert not check("4.1", 10**400)
    assert not check("3.2", lambda *arguments: ([1], [2], [3]))
    assert "Not answered yet" in check("3.2", lambda *arguments: (..., ..., ...)).message


WITH_DOCTOR = [name for name in NAMES if getattr(EXERCISES[name], "examine", None)]


def test_every_chapter_has_an_exercise_for_the_doctor():
    chapters = {name.split(".")[0] for name in NAMES}
    assert {name.split(".")[0] for name in WITH_DOCTOR} == chapters


@pytest.mark.parametrize("name", WITH_DOCTOR)
def test_the_doctor_finds_the_right_answer_healthy(name):
    diagnosis = EXERCISES[name].examine(EXERCISES[name].truth)
    assert diagnosis.examined
    assert diagnosis.ok, str(diagnosis)


@pytest.mark.parametrize("name", WITH_DOCTOR)
def test_the_doctor_sees_what_is_wrong_with_most_known_mistakes(name):
    exercise = EXERCISES[name]
    seen = [exercise.examine(answer).codes for answer in exercise.mistakes.values()]
    assert sum(map(bool, seen)) >= 2, seen


def test_two_mistakes_at_once_are_both_named():
    def mine(query, key, value):
        return (query @ key.mT).softmax(-2) @ value

    message = check("6.2", mine).message
    assert "not divided by sqrt(d_k)" in message
    assert "over the queries" in message


def test_an_answer_with_the_right_numbers_is_still_examined():
    def mine(query, key, value):
        weights = (query @ key.mT / key.shape[-1] ** 0.5).softmax(-1)
        return weights.detach() @ value

    verdict = check("6.2", mine)
    assert not verdict
    assert "The numbers asked for here are right, but" in verdict.message
    assert "gradient" in verdict.message
