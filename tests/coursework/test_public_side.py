"""What a student sees: a check that names the mistake in a moment, and a submission from a clean state."""

import json
import time

import pytest
import torch
from corpora import HERE
from student_notebooks import solved

from attention_lib.coursework import assignment, check, submission
from attention_lib.coursework.checking import current
from attention_lib.coursework.model import load_assignment
from attention_lib.coursework.submissions import read_cells
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


def test_right_is_right():
    def right(query, key, value, mask=None):
        return unscaled(query / query.shape[-1] ** 0.5, key, value, mask)

    assert check("attention", right).ok


@pytest.mark.slow
def test_an_answer_takes_less_than_300_milliseconds():
    check("attention", unscaled)
    seconds = []
    for _ in range(5):
        start = time.process_time()
        check("attention", unscaled)
        seconds.append(time.process_time() - start)
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
    broken = [cell.replace("def weights_of", "def weights_of_something") for cell in cells]
    submission(tmp_path, cells=broken)
    assert "public checks 0/2" in capsys.readouterr().out
    assert current()[0] == "attention"
