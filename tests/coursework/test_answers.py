"""Right answers get all points under every convention; wrong ones, and the book's own, do not."""

import types

import corpora
import pytest
from corpora import GRADED, HERE

from attention_lib.coursework import assignment, check
from attention_lib.coursework.marking import mark
from attention_lib.coursework.model import load_assignment
from attention_lib.coursework.session import Limits
from attention_lib.coursework.variants import SWITCHES, book_variant
from attention_lib.coursework.verify import answers_of, with_variant

WRONG = [*corpora.hand_written(), *corpora.from_the_doctor()]


def styles(name):
    return {
        path.stem: [path.read_text(encoding="utf-8")] for path in sorted((HERE / name / "correct").glob("*.py"))
    } | {"source": answers_of(HERE / name)}


def test_there_are_sixty_right_and_hundred_and_fifty_wrong():
    assert sum(len(styles(name)) for name in GRADED) * 3 >= 60  # each under at least three sets of conventions
    assert len(WRONG) >= 150
    assert len({wrong.name for wrong in WRONG}) == len(WRONG)


@pytest.mark.parametrize("name", GRADED)
def test_right_answers_get_all_points(name, worker):
    about = load_assignment(HERE / name)
    for number, (style, cells) in enumerate(styles(name).items()):
        if style in ("loops", "rows"):
            continue  # slow to run; the long run has them
        variant = about.variant(f"term {number}")
        result = mark(about, variant, with_variant(cells, variant), worker, seed=number)
        assert (style, result.score, result.reason) == (style, 100, "all checks passed")


@pytest.mark.parametrize("name", GRADED)
def test_the_books_own_code_gets_at_most_forty_of_a_hundred(name, worker):
    about = load_assignment(HERE / name)
    copied = with_variant(answers_of(HERE / name), book_variant(about.switches))
    assert mark(about, book_variant(about.switches), copied, worker, seed=0).score == 100
    for number in range(2):
        assert mark(about, about.variant(f"copy {number}"), copied, worker, seed=number).score <= 40


@pytest.mark.parametrize("wrong", WRONG[::8], ids=lambda wrong: wrong.name)
def test_a_wrong_answer_is_caught(wrong, worker):
    caught, result = corpora.caught(wrong, worker)
    assert caught, result.reason


@pytest.mark.slow
def test_every_wrong_answer_is_caught(worker):
    assert [wrong.name for wrong in WRONG if not corpora.caught(wrong, worker)[0]] == []


def open_for(wrong):
    assignment(wrong.assignment, **book_variant(load_assignment(HERE / wrong.assignment).switches))


def public_answer(wrong):
    open_for(wrong)
    module = types.ModuleType("submission")
    exec(compile(wrong.code, wrong.name, "exec"), vars(module))
    return check(wrong.function, getattr(module, wrong.function))


@pytest.fixture
def _no_shape_checks():
    """They would take three times as long; test_public_side.py calls the same functions with the checks on."""
    config = pytest.importorskip("jaxtyping").config
    before = config.jaxtyping_disable
    config.update("jaxtyping_disable", True)
    yield
    config.update("jaxtyping_disable", before)


def refused_and_named(wrongs):
    answers = [(wrong, public_answer(wrong)) for wrong in wrongs]
    assert [wrong.name for wrong, answer in answers if answer.ok] == []
    return sum(corpora.is_named(wrong, answer) for wrong, answer in answers)


@pytest.mark.usefixtures("_no_shape_checks")
def test_public_checks_refuse_wrong_answers_and_name_most():
    assert refused_and_named(WRONG[::9]) >= 0.8 * len(WRONG[::9])


@pytest.mark.slow
@pytest.mark.usefixtures("_no_shape_checks")
def test_public_checks_refuse_every_wrong_answer_and_name_nine_of_ten():
    assert refused_and_named(WRONG) >= 0.9 * len(WRONG)


@pytest.mark.parametrize("mutant", list(corpora.generated(12)), ids=lambda m: f"{m.assignment}-{m.style}-{m.change}")
def test_a_generated_mutant_is_caught_or_equivalent(mutant, worker):
    about = load_assignment(HERE / mutant.assignment)
    limits = Limits(cpu_seconds=20, call_seconds=1.5, wall_seconds=20, megabytes=1024)
    for variant in (book_variant(about.switches), about.variant("mutants 0"), about.variant("mutants 1")):
        if mark(about, variant, with_variant([mutant.code], variant), worker, seed=5, limits=limits).score < 100:
            return
        assert not corpora.differs(mutant, worker, limits, variant, range(2))


def test_variants_differ_from_the_book_in_three_switches():
    for name in GRADED:
        about = load_assignment(HERE / name)
        assert len(about.switches) >= 3
        drawn = [about.variant(f"key {number}") for number in range(50)]
        assert all(sum(v[s] != SWITCHES[s].book for s in about.switches) >= 3 for v in drawn)
        assert len({tuple(v.items()) for v in drawn}) >= 5
        assert about.variant("key 1") == about.variant("key 1")
