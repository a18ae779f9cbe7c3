"""The Containerfile, built and run by an imitation of a container: right grades, and a hostile class gains nothing."""

import csv
import json
import re

import attack_range
import container
import pytest
from corpora import HERE
from student_notebooks import answered, blank, solved

from attention_lib.coursework.commands import _parser
from attention_lib.coursework.verify import specimens_in

TEXT = container.FILE.read_text(encoding="utf-8")
KEY = "container"
LAYERS = "account nobody+seccomp+limits"
HOSTILE = (
    "reaching: the checks read",
    "reaching: the course and other submissions searched for where no system lies",
    "reaching: a connection out",
    "reaching: the grader's environment read through /proc",
    "reaching: modules planted for the grader",
    "running: fork bomb",
    "running: daemon by double fork",
    "running: a shell",
    "running: memory bit by bit",
    "running: endless loop",
    "running: a wish to outlive the parent",
    "running: threads that go on",
    "running: the disk filled",
    "running: stop the parent",
    "running: kill everything",
    "running: a limit put on every other process",
    "running: every other process ended, again and again",
    "protocol: a forged yes",
)
TWICE = ("reaching: a marker left for the next submission", "reaching: shared memory left for the next submission")
needs_root = pytest.mark.skipif(bool(container.missing()), reason=container.missing() or "runs")


def hand_in(folder):
    """Write the class; student -> the score that the row must have, None where any below 100 will do."""
    codes = dict(attack_range.attacks())
    expected = {}
    for number, what in enumerate([*HOSTILE, *TWICE, *TWICE]):
        code = codes[what].replace("@@COURSE@@", "/desk/course").replace("@@PORT@@", "9")
        student = f"{number:02} {re.sub('[^a-z]+', ' ', what)}"
        _write(folder, student, answered("attention", KEY, f"# {number}\n{code}"))
        expected[student] = 0
    for number in range(0, len(expected), 4):
        _write(folder, f"{number:02} right", solved("attention", KEY) | {"metadata": {"number": number}})
        expected[f"{number:02} right"] = 100
    wrong = next(specimens_in(HERE / "attention" / "mutants" / "hand.py"))
    _write(folder, "90 wrong", answered("attention", KEY, "", wrong.code))
    _write(folder, "91 blank", blank("attention", KEY))
    return expected | {"90 wrong": None, "91 blank": 0}


def _write(folder, student, notebook):
    (folder / f"{student}.ipynb").write_text(json.dumps(notebook), encoding="utf-8")


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    return container.Container(tmp_path_factory.mktemp("image"), TEXT)


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """Folders as a teacher has them, where the file's comment says: everyone may read them."""
    desk = tmp_path_factory.mktemp("desk")
    for name in ("submissions", "grades"):
        (desk / name).mkdir()
    volumes, _ = container.told(TEXT)
    return {
        there: HERE if here == "$PWD/tests/coursework" else desk / here.removeprefix("$PWD/") for here, there in volumes
    }


def test_what_the_file_copies_is_there():
    copied = [rest.split()[:-1] for word, rest in container.instructions(TEXT) if word == "COPY"]
    assert [name for names in copied for name in names if not (container.ROOT / name).exists()] == []
    assert {"attention_lib", "pyproject.toml"} <= {name for names in copied for name in names}


def test_what_the_comment_says_fits_the_file():
    volumes, command = container.told(TEXT)
    words = [rest for _, rest in container.instructions(TEXT)]
    assert [f"$PWD/{name}" for name in ("tests/coursework", "submissions", "grades")] == [here for here, _ in volumes]
    assert all(any(there in rest for rest in words) for _, there in volumes)
    assert _parser().parse_args(command).folder.name == "submissions"


@pytest.mark.slow
@needs_root
def test_a_hostile_class_in_the_container(image, places):
    expected = hand_in(places["/desk/submissions"])
    grades = places["/desk/grades"]
    command = [KEY if word == "KEY" else word for word in container.told(TEXT)[1]]
    done = image.run(*command, "--workers", "2", volumes=_volumes(places))
    assert done.returncode == 0, done.stdout + done.stderr
    with open(grades / "grades.csv", encoding="utf-8-sig", newline="") as file:
        rows = {row["student"].strip(): row for row in csv.DictReader(file)}
    assert set(rows) == set(expected)
    told = {name: (row["score"], row["reason"][:200]) for name, row in rows.items()}
    wrong = {
        n: told[n] for n, s in expected.items() if (float(told[n][0]) >= 100 if s is None else float(told[n][0]) != s)
    }
    assert wrong == {}
    assert {row["isolation"] for row in rows.values()} == {LAYERS}
    assert not [reason for _, reason in told.values() if "FOUND" in reason]
    assert "FOUND" not in done.stdout + done.stderr
    assert not image.left.exists(), image.left.read_text()  # no process
    assert sorted(path.name for path in grades.iterdir()) == ["grades.csv", "grades.csv.journal"]


def _volumes(places):
    return [(here, there) for there, here in places.items()]


@pytest.mark.slow
@needs_root
@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("place", "mode", "left_out", "sentence"),
    [
        ("desk", 0o755, "", "/desk/course can be read by every account"),
        (".local/lib", 0o700, "", "/usr/local/lib is closed to it"),
        ("desk", 0o700, "chmod 755 /tmp /var/tmp /dev/shm", "may leave files in /tmp"),
    ],
)
def test_a_container_that_is_too_open_or_too_closed_says_so(image, places, place, mode, left_out, sentence):
    """Nothing of any submission has run, there is no table, and the exit status is that of wrong use."""
    _write(places["/desk/submissions"], "91 blank", blank("attention", KEY))
    command = [
        "grade",
        "submissions",
        "--assignment",
        "attention",
        "--key",
        KEY,
        "-o",
        "grades/none.csv",
        "--workers",
        "1",
    ]
    entry = [part.replace(left_out, ":") if left_out else part for part in image.entry]
    before = (image.root / place).stat().st_mode
    try:
        (image.root / place).chmod(mode)
        done = image.run(*command, volumes=_volumes(places), entry=entry)
    finally:
        (image.root / place).chmod(before)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr
    assert not (places["/desk/grades"] / "none.csv").exists()
