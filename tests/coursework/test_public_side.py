"""What a student sees: a check that names the mistake in a moment, and a submission from a clean state."""

import inspect
import json
import subprocess
import sys

import pytest
import torch
from corpora import HERE
from student_notebooks import solved

from attention_lib.coursework import assignment, check, submission
from attention_lib.coursework.checking import current
from attention_lib.coursework.conventions import TASKS
from attention_lib.coursework.model import load_assignment
from attention_lib.coursework.reading import read_cells
from attention_lib.errors import OptionError


def unscaled(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(mask, -torch.inf)
    return torch.softmax(scores, dim=-1).nan_to_num() @ value


@pytest.fixture(autouse=True)
def _open():
    assignment("attention", mask="blocked", layout="BHLd", gives="output", temperature=1.0)


def test_the_mistake_is_named_under_the_variants_own_conventions():
    answer = check("attention", unscaled)
    assert not answer
    assert answer.codes == ("missing-scale",)
    assert "not divided by sqrt(d_k)" in repr(answer)


def test_another_convention_is_named_as_such():
    def allowed(query, key, value, mask=None):
        return unscaled(query / query.shape[-1] ** 0.5, key, value, None if mask is None else ~mask)

    answer = check("attention", allowed)
    assert answer.codes == ("convention-mask",)
    assert "wanted:  In a mask, True means *blocked*" in answer.message


def test_plain_weights_where_logarithms_are_asked_for_are_named():
    assignment("attention", mask="blocked", layout="BHLd", gives="output_log_weights", temperature=1.0)

    def plain(query, key, value, mask=None):
        scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
        scores = scores if mask is None else scores.masked_fill(mask, -torch.inf)
        weights = torch.softmax(scores, dim=-1).nan_to_num()
        return weights @ value, weights

    assert "the convention asks for their logarithm" in check("attention", plain).message


def test_right_is_right():
    def right(query, key, value, mask=None):
        return unscaled(query / query.shape[-1] ** 0.5, key, value, mask)

    assert check("attention", right).ok


@pytest.mark.slow
def test_an_answer_takes_less_than_300_milliseconds():
    """In a process of its own: there nothing checks the shapes of every call, which these tests switch on."""
    lines = [
        "import time, torch",
        "from attention_lib.coursework import assignment, check",
        inspect.getsource(unscaled),
        "assignment('attention', mask='blocked', layout='BHLd', gives='output', temperature=1.0)",
        "for _ in range(5):",
        "    start = time.process_time()",
        "    check('attention', unscaled)",
        "    print(time.process_time() - start)",
    ]
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True)
    seconds = [float(line) for line in done.stdout.splitlines()]
    assert len(seconds) == 5
    assert min(seconds) < 0.3


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("candidate", "sentence"),
    [
        (..., "Not answered yet"),
        (None, "Not answered yet"),
        (3, "pass the function itself"),
        (lambda *a: (_ for _ in ()).throw(NotImplementedError("your code here")), "Not answered yet"),
        (lambda *a: 1 / 0, "raised ZeroDivisionError"),
        (lambda *a: None, "is a `return` missing?"),
        (lambda *a: a[2].numpy(), "It returns a ndarray, not a tensor"),
        (lambda q, *a: q.mul_(2), "changes its argument 1 in place"),
        (lambda q, k, v, m=None: torch.nn.functional.scaled_dot_product_attention(q, k, v), "withholds it"),
        (lambda *a: (_ for _ in ()).throw(SystemExit), "raised SystemExit"),
        (lambda q, k, v, m=None: v[..., :1], "wrong shape"),
    ],
)
def test_what_is_no_answer_gets_a_sentence(candidate, sentence):
    answer = check("attention", candidate)
    assert not answer.ok
    assert sentence in answer.message


@pytest.mark.bad_input
def test_unknown_names_are_refused():
    with pytest.raises(OptionError, match="it asks for attention, attention_backward"):
        check("attentoin", unscaled)
    with pytest.raises(OptionError, match="there is no convention 'maks'"):
        assignment("attention", maks="blocked")
    with pytest.raises(OptionError, match="cannot be 'no'; choose one of 'allowed'"):
        assignment("attention", mask="no")
    with pytest.raises(OptionError, match="runs in a notebook"):
        submission()


def test_submission_runs_from_a_clean_state_and_writes_one_file(tmp_path, capsys):
    variant = load_assignment(HERE / "attention").variant("submit")
    assignment("attention", **variant)
    cells, _ = read_cells(json.dumps(solved("attention", "submit")).encode())
    path = submission(tmp_path, cells=cells)
    told = capsys.readouterr().out
    assert "public checks 2/2; hidden checks decide" in told
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
    assert read_cells(path.read_bytes())[0] == cells
    submission(tmp_path, cells=[*cells, "def attention(query, key, value, mask=None):\n    return query"])
    assert (
        "  attention: not yet. It returns 1 value; it should return " in capsys.readouterr().out
    )  # its name once, not twice
    broken = [cell.replace("def weights_of", "def weights_of_something") for cell in cells]
    submission(tmp_path, cells=broken)
    assert "public checks 0/2" in capsys.readouterr().out
    assert current()[0] == "attention"


def test_a_submission_in_another_convention_reads_both_sides(tmp_path, capsys):
    variant = load_assignment(HERE / "scores").variant("submit") | {"keys": "columns"}
    other = solved("scores", "submit")
    cells = [cell.replace("'keys': 'columns'", "'keys': 'rows'") for cell in read_cells(json.dumps(other).encode())[0]]
    assignment("scores", **variant)
    submission(tmp_path, cells=cells)
    told = capsys.readouterr().out
    assert "yours: Keys come as rows" in told
    assert "wanted: Keys come as columns" in told


@pytest.mark.bad_input
@pytest.mark.parametrize("key", ["a", "b", "c"])
@pytest.mark.parametrize("value", [None, 3, (), [None], "text", torch.zeros(3)], ids=lambda value: str(value)[:9])
def test_an_answer_of_the_wrong_form_never_reads_as_if_the_students_code_had_raised(key, value):
    for name, function in TASKS:
        assignment(name, **load_assignment(HERE / name).variant(key))
        answer = check(function, lambda *a, **b: value)
        assert not answer.ok
        assert f"{function} raised" not in answer.message, (name, function)


@pytest.mark.parametrize(
    ("sign", "by_root", "by_temperature", "sentence"),
    [
        (-1, False, False, "the wrong sign"),
        (1, False, True, "divided by the temperature too"),
        (1, True, False, "divided by sqrt(d_k) too"),
        (1, True, True, "divided by sqrt(d_k) and the temperature;"),
    ],
)
@pytest.mark.parametrize("result", ["keys_first", "queries_first"])
def test_a_distance_bias_in_the_wrong_place_is_named(result, sign, by_root, by_temperature, sentence):
    assignment("scores", keys="rows", temperature=0.5, distance=0.5, result=result)

    def misplaced(query, key):
        root = query.shape[-1] ** 0.5
        gaps = (torch.arange(query.shape[-2])[:, None] - torch.arange(key.shape[-2])).abs()
        bias = sign * 0.5 * gaps / (root if by_root else 1) / (0.5 if by_temperature else 1)
        scores = query @ key.transpose(-2, -1) / (root * 0.5) - bias
        return scores.transpose(-2, -1) if result == "keys_first" else scores

    assert sentence in check("attention_scores", misplaced).message
