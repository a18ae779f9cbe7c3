"""Gradescope's zip in an imitation of its container that forbids namespaces, so that the account has to hold."""

import io
import json
import re
import zipfile

import attack_range
import container
import pytest
from corpora import HERE
from student_notebooks import answered, blank, solved

from attention_lib.coursework import export
from attention_lib.coursework.model import load_assignment

KEY = "gradescope"
ABOUT = load_assignment(HERE / "attention")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(container.missing()), reason=container.missing() or "runs"),
]


@pytest.fixture(scope="module")
def gradescope(tmp_path_factory):
    """A root with the unpacked zip in it, and the packages that setup.sh names."""
    packed = zipfile.ZipFile(io.BytesIO(export.assignment(HERE / "attention", ABOUT, KEY, "gradescope")))
    (packages,) = re.findall(r"/pip install --no-cache-dir (.*)", packed.read("setup.sh").decode())
    text = f'RUN pip install {packages}\nENTRYPOINT ["/bin/bash", "/autograder/source/run_autograder"]\n'
    made = container.Container(tmp_path_factory.mktemp("gradescope"), text, bubblewrap=True)
    packed.extractall(made.root / "autograder" / "source")
    (made.root / "autograder" / "submission").mkdir()
    return made


def grade(gradescope, notebook):
    """What Gradescope shows for one notebook; its container is writable, and fresh for each submission."""
    place = gradescope.root / "autograder"
    (place / "submission" / "work.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    answer = place / "results" / "results.json"
    answer.unlink(missing_ok=True)
    done = gradescope.run(read_only=False)
    assert done.returncode == 0, done.stderr
    assert not gradescope.left.exists(), gradescope.left.read_text()
    return json.loads(answer.read_text(encoding="utf-8"))


@pytest.mark.parametrize(("notebook", "score"), [(solved, 100), (blank, 0)])
def test_the_account_grades_where_namespaces_are_forbidden(gradescope, notebook, score):
    told = grade(gradescope, notebook("attention", KEY))
    assert told["score"] == score
    assert sum(test["score"] for test in told["tests"]) == score
    assert told["output"].endswith("isolation: account nobody+seccomp+limits")


@pytest.mark.parametrize(
    "name",
    [
        "reaching: the course and other submissions searched for where no system lies",
        "reaching: a marker left in /tmp",
    ],
)
def test_an_attack_gains_nothing(gradescope, name):
    code = dict(attack_range.attacks())[name]
    code = code.replace("@@COURSE@@", "/autograder/source/course").replace("@@PORT@@", "9")
    told = grade(gradescope, answered("attention", KEY, code))
    assert told["score"] == 0
    assert "FOUND" not in json.dumps(told)
    assert not list((gradescope.root / "tmp").iterdir())
    assert "account nobody+seccomp+limits" in told["output"]


def test_results_written_by_a_submission_are_not_the_results(gradescope):
    forged = "open('/autograder/results/results.json', 'w').write('{\"score\": 100}')\n"
    code = f"def attention(*given):\n    {forged}\ndef attention_backward(*given):\n    {forged}"
    told = grade(gradescope, answered("attention", KEY, code))
    assert told["score"] == 0
    assert "Permission denied" in told["output"]


def test_what_the_submission_brings_is_not_imported(gradescope):
    """A file with a module's name beside the notebook, and the harness starting there."""
    place = gradescope.root / "autograder" / "submission"
    (place / "torch.py").write_text("raise SystemExit('imported as root')")
    before, gradescope.work = gradescope.work, "/autograder/submission"
    try:
        assert grade(gradescope, solved("attention", KEY))["score"] == 100
    finally:
        gradescope.work = before
        (place / "torch.py").unlink()
