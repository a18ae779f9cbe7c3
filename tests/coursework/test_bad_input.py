"""What folders of submissions really hold: each ends with a row or a clear sentence, never with a stopped batch."""

import csv
import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from corpora import HERE
from student_notebooks import solved

from attention_lib.coursework import batch, journal
from attention_lib.coursework.commands import DONE, LOOK, STOPPED, WRONG, main
from attention_lib.coursework.reading import read_cells
from attention_lib.coursework.submissions import collect, read_submission, safe_name
from attention_lib.coursework.table import Lateness, read_table
from attention_lib.errors import OptionError

KEY = "bad input"


@pytest.fixture
def folder(tmp_path, isolated):
    made = tmp_path / "submissions"
    made.mkdir()
    return made


def put(folder, name, content):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def grade(folder, *more, output=None):
    output = output or folder.parent / "grades.csv"
    status = main(
        [
            "grade",
            str(folder),
            "--course",
            str(HERE),
            "--assignment",
            "attention",
            "--key",
            KEY,
            "-o",
            str(output),
            "--workers",
            "1",
            *more,
        ]
    )
    rows = {}
    if output.exists():
        with open(output, encoding="utf-8-sig", newline="") as file:
            rows = {row["student"].strip(): row for row in csv.DictReader(file)}
    return status, rows


def test_an_empty_folder_is_a_sentence(folder, capsys):
    assert grade(folder) == (WRONG, {})
    assert "holds no submissions" in capsys.readouterr().err


def test_a_folder_that_is_none_is_a_sentence(tmp_path, isolated, capsys):
    assert grade(tmp_path / "nowhere")[0] == WRONG
    assert "is not a folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"%PDF-1.4 ...", "a PDF, not a notebook"),
        (b"PK\x03\x04...", "a zip or an office document"),
        (b"\x89PNG....", "a picture"),
        (b"", "an empty file"),
        (b"\xff\xfe\x00\x01", "not text"),
        (b"\x00" * 40, "not text"),
        (b'{"cells": [{"cell', "broken json"),
        (b"[" * 100_000, "broken json"),
        (b'{"a": 1}', "it has no cells"),
        (b'{"cells": 3}', "it has no cells"),
        (b'{"cells": []}', "a notebook without code"),
        (b'{"cells": [3, null, {"cell_type": "code"}, {"cell_type": "code", "source": 7}]}', "a notebook without code"),
        (b"<!doctype html><html>", "a web page"),
        (json.dumps({"cells": [{"cell_type": "code", "source": "x = 1\n" * 100_000}]}).encode(), "characters of code"),
    ],
)
def test_what_is_no_notebook_says_what_it_is(content, reason):
    cells, problem = read_cells(content)
    assert cells == []
    assert reason in problem


def test_a_pdf_and_others_among_notebooks_get_rows(folder):
    put(folder, "Ada.ipynb", solved("attention", KEY))
    put(folder, "Bo.pdf", b"%PDF-1.7")
    put(folder, "Cy.ipynb", b'{"cells": [')
    os.mkfifo(folder / "Di.ipynb")
    (folder / "Ed.ipynb").symlink_to("/etc/passwd")
    (folder / "Flo.ipynb").symlink_to(folder / "nowhere")
    with open(folder / "Gus.ipynb", "wb") as file:
        file.truncate(50 << 20)
    status, rows = grade(folder)
    assert status == LOOK
    assert {name: row["status"] for name, row in rows.items()} == {"Ada": "graded"} | dict.fromkeys(
        ["Bo", "Cy", "Di", "Ed", "Flo", "Gus"], "unreadable"
    )
    assert "50 MB, more than" in rows["Gus"]["reason"]
    assert "a link or a device" in rows["Ed"]["reason"]
    assert rows["Ada"]["score"] == "100"


@pytest.mark.slow
def test_a_report_never_takes_the_place_of_a_notebook(folder):
    notebook = put(folder, "Ada.ipynb", solved("attention", KEY))
    os.utime(notebook, (1_000_000, 1_000_000))
    put(folder, "Ada.pdf", b"%PDF-1.7")
    _, rows = grade(folder)
    assert rows["Ada"]["score"] == "100"
    assert rows["Ada"]["older_files"] == "Ada.pdf"


def test_the_newest_of_two_submissions_counts(folder):
    for name, moment in (("Ada.ipynb", 2000), ("Ada (1).ipynb", 3000), ("Ada (2).ipynb", 1000)):
        os.utime(put(folder, name, solved("attention", KEY)), (moment, moment))
    (one,) = collect(folder)
    assert (one.student, one.file, one.others) == ("Ada", "Ada (1).ipynb", ("Ada (2).ipynb", "Ada.ipynb"))


def test_names_of_learning_systems_are_read(folder):
    put(folder, "lovelaceada_12_345_attention.ipynb", {})
    put(folder, "turingalan_LATE_13_346_attention-1.ipynb", {})
    put(folder, "王小明_99_assignsubmission_file_/attention.ipynb", {})
    put(folder, "García, José/attention/attention.ipynb", {})
    put(folder, "._lovelaceada.ipynb", b"x")
    put(folder, ".ipynb_checkpoints/x.ipynb", {})
    found = {(one.student, one.id) for one in collect(folder)}
    assert found == {("lovelaceada", "12"), ("turingalan", "13"), ("王小明", "99"), ("García, José", "")}


def test_odd_names_get_rows_that_a_spreadsheet_survives(folder):
    names = ["Smith, John", "王小明", "..", "=1+1", "line\nbreak", 'quote"s', "..\\evil"]
    for name in names:
        put(folder, f"{name}.ipynb", solved("attention", KEY))
    raw = os.fsencode(str(folder)) + b"/\xff\xfe.ipynb"
    with open(raw, "wb") as file:
        file.write(json.dumps(solved("attention", KEY)).encode())
    status, rows = grade(folder)
    assert status == DONE
    assert len(rows) == len(names) + 1
    assert {row["score"] for row in rows.values()} == {"100"}
    text = (folder.parent / "grades.csv").read_text(encoding="utf-8-sig")
    assert '"Smith, John"' in text
    assert "\n=1" not in text
    assert "line break" in rows


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("../x", "x"),
        ("..", "unnamed"),
        ("a/b", "a_b"),
        ("", "unnamed"),
        ("王小明", "王小明"),
        ("a\x00b", "a_b"),
        ("x" * 500, "x" * 120),
    ],
)
def test_safe_names(name, safe):
    assert safe_name(name) == safe


def test_a_full_disk_keeps_what_was_graded(folder, monkeypatch, capsys):
    for number in range(4):
        notebook = solved("attention", KEY)
        notebook["metadata"]["number"] = number
        put(folder, f"student {number}.ipynb", notebook)
    real, written = journal.os.fsync, []

    def full_after_three(descriptor):
        written.append(descriptor)
        if len(written) > 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(descriptor)

    monkeypatch.setattr(journal.os, "fsync", full_after_three)
    assert grade(folder)[0] == STOPPED
    assert "No space left on device" in capsys.readouterr().err
    monkeypatch.undo()
    done = (folder.parent / "grades.csv.journal").read_text().count('"digest"')
    assert done >= 2
    status, rows = grade(folder)
    assert (status, len(rows)) == (DONE, 4)


def test_a_batch_that_was_killed_goes_on_and_the_table_is_the_same(folder, monkeypatch):
    for number in range(10):
        notebook = solved("attention", KEY)
        notebook["metadata"]["number"] = number
        put(folder, f"student {number}.ipynb", notebook)
    output = folder.parent / "killed.csv"
    command = [
        sys.executable,
        "-m",
        "attention_lib.coursework",
        "grade",
        str(folder),
        "--course",
        str(HERE),
        "--assignment",
        "attention",
        "--key",
        KEY,
        "-o",
        str(output),
        "--workers",
        "1",
    ]
    process = subprocess.Popen(command, cwd=HERE.parents[1], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    path = output.with_name("killed.csv.journal")
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline and (not path.exists() or path.read_text().count('"digest"') < 3):
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not output.exists()
    before = path.read_text()
    assert 3 <= before.count('"digest"') < 10
    path.write_text(before + '{"digest": "half a li')  # killed in the middle of a line
    status, rows = grade(folder, output=output)
    assert (status, len(rows)) == (DONE, 10)
    seed = json.loads(before.split("\n")[0])["seed"]
    monkeypatch.setattr(batch.secrets, "randbits", lambda bits: seed)
    grade(folder, output=folder.parent / "whole.csv")
    assert output.read_bytes() == (folder.parent / "whole.csv").read_bytes()


@pytest.mark.slow
def test_a_journal_of_something_else_is_refused(folder, capsys):
    put(folder, "Ada.ipynb", solved("attention", KEY))
    assert grade(folder)[0] == DONE
    arguments = [
        "grade",
        str(folder),
        "--course",
        str(HERE),
        "--assignment",
        "attention",
        "--key",
        "another",
        "-o",
        str(folder.parent / "grades.csv"),
        "--workers",
        "1",
        "--anyway",
    ]
    assert main(arguments) == WRONG
    assert "belongs to another assignment, key or version" in capsys.readouterr().err
    assert main([*arguments, "--fresh"]) == DONE


def test_lateness_counts_days_begun():
    late = Lateness(due=1000.0, percent=10)
    assert [late.days(m) for m in (0, 1000, 1001, 1000 + 86400, 1001 + 86400)] == [0, 0, 1, 1, 2]
    assert Lateness().days(10**12) == 0


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["grade", "x", "--assignment", "nothing", "--key", "k"], "has no assignment 'nothing'"),
        (["grade", str(HERE), "--assignment", "written", "--key", "k"], "written answers only"),
        (["grade", str(HERE), "--assignment", "attention", "--key", "k", "--due", "soon"], "is not a time"),
        (["grade", str(HERE), "--assignment", "attention", "--key", "k", "--workers", "0"], "must be positive"),
        (["report", "Ada", "--table", "nowhere.csv"], "cannot be read as a table"),
        (["export", "attention", "--canvas", "--key", "k", "-o", "x"], "takes a table of grades"),
        (["export", "attention", "--otter", "-o", "x"], "--key is needed"),
        (["export", "written", "--otter", "--key", "k", "-o", "x"], "written answers only"),
        (["new", "Bad Name"], "cannot name an assignment"),
        (["new", "attention"], "exists already"),
        (["release", "nothing", "--key", "k"], "has no assignment"),
        (["written", "/nowhere", "--assignment", "attention"], "has no written answers"),
    ],
)
def test_wrong_use_is_one_sentence(arguments, sentence, capsys, monkeypatch):
    monkeypatch.setenv("ATTENTION_COURSE", str(HERE))
    assert main(arguments) == WRONG
    told = capsys.readouterr().err
    assert sentence in told
    assert "Traceback" not in told


@pytest.mark.bad_input
def test_a_table_that_is_none_is_refused(tmp_path):
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    with pytest.raises(OptionError, match="is not a table of grades"):
        read_table(tmp_path / "x.csv")


@pytest.mark.parametrize("command", ["new", "release", "verify", "grade", "written", "export", "report"])
def test_every_command_has_help(command, capsys):
    with pytest.raises(SystemExit) as end:
        main([command, "--help"])
    assert end.value.code == 0
    assert len(capsys.readouterr().out) > 300


def test_reading_a_file_that_vanished_is_a_row(folder):
    path = put(folder, "Ada.ipynb", {})
    (one,) = collect(folder)
    Path(path).unlink()
    assert "cannot be read" in read_submission(one, folder).problem
