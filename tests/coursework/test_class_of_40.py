"""The teacher's page, done as it says: every command of book/teaching.md, on a made-up class of forty."""

import csv
import re
import shlex

import class_of_40
import pytest
from corpora import HERE
from student_notebooks import blank

from attention_lib.coursework import commands
from attention_lib.coursework.commands import DONE, LOOK

TEACHING = (HERE.parents[1] / "book" / "teaching.md").read_text(encoding="utf-8")
COMMANDS = [
    line
    for block in re.findall(r"```bash\n(.*?)```", TEACHING, flags=re.S)
    for line in block.split("\n")
    if line.startswith("python -m attention_lib.coursework")
]
KEY = "autumn-2026"


def command(word, *more):
    found = [line for line in COMMANDS if line.split()[3] == word and all(part in line for part in more)]
    assert found, f"teaching.md has no command {word} {more}"
    return found[0]


def run(line):
    return commands.main(shlex.split(line)[3:])


@pytest.fixture(scope="module")
def desk(tmp_path_factory, isolated_once):
    """A teacher's folder with the class in it, graded by the commands of the page."""
    folder = tmp_path_factory.mktemp("desk")
    expected = class_of_40.build(folder / "submissions", KEY)
    return folder, expected


@pytest.fixture(scope="module")
def isolated_once():
    import shutil

    if shutil.which("bwrap") is None:
        pytest.skip("needs bubblewrap (apt-get install bubblewrap)")


@pytest.fixture
def at_the_desk(desk, monkeypatch):
    monkeypatch.chdir(desk[0])
    monkeypatch.setenv("ATTENTION_COURSE", str(HERE))
    return desk


def rows_of(path):
    with open(path, encoding="utf-8-sig", newline="") as file:
        return {row["student"].strip(): row for row in csv.DictReader(file)}


def test_hand_out(at_the_desk):
    assert run(command("release", KEY)) == DONE
    assert (at_the_desk[0] / "handout" / "attention.ipynb").read_bytes()[:10] == b'{\n "cells"'


def test_dry_run_lists_and_writes_nothing(at_the_desk, capsys):
    assert run(command("grade", "--dry-run")) == DONE
    assert "would grade 40 submissions" in capsys.readouterr().out
    assert not (at_the_desk[0] / "grades.csv").exists()


def test_grade_gives_every_student_the_right_row(at_the_desk):
    folder, expected = at_the_desk
    assert run(command("grade", "--late")) == LOOK
    rows = rows_of(folder / "grades.csv")
    assert set(rows) == set(expected)
    wrong = {}
    for student, (statuses, score) in expected.items():
        row = rows[student]
        fits = row["status"] in statuses and (
            float(row["score"]) < 100 if score is None else float(row["score"]) == score
        )
        if not fits or not row["reason"] or row["out_of"] != "100":
            wrong[student] = (row["status"], row["score"], row["reason"][:120], statuses, score)
    assert wrong == {}
    assert all("bubblewrap" in row["isolation"] for row in rows.values() if row["status"] not in ("unreadable",))


def test_again_is_the_same_table_and_grades_nothing(at_the_desk):
    folder, _ = at_the_desk
    before = (folder / "grades.csv").read_bytes()
    journal = (folder / "grades.csv.journal").read_bytes()
    assert run(command("grade", "--late")) == LOOK
    assert (folder / "grades.csv").read_bytes() == before
    assert (folder / "grades.csv.journal").read_bytes() == journal


def test_report_tells_one_student(at_the_desk, capsys):
    assert run(command("report")) == DONE
    told = capsys.readouterr().out
    assert told.startswith("Ada Lovelace: attention, 100 of 100 points")
    assert "forward, without a mask" in told
    assert "王小明" not in told


def test_written_answers_are_read_and_counted(at_the_desk):
    import json

    folder, _ = at_the_desk
    essays = folder / "essays"
    essays.mkdir()
    notebook = blank("written", KEY)
    for cell in notebook["cells"]:
        cell["source"] = "".join(cell["source"]).replace('"""\n"""', '"""\nBecause the variance grows, 因为方差.\n"""')
    (essays / "陈静.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    (essays / "Lovelace, Ada.ipynb").write_text(json.dumps(blank("written", KEY)), encoding="utf-8")
    assert run(command("written", "to_read.csv")) == DONE
    text = (folder / "to_read.csv").read_text(encoding="utf-8-sig")
    assert "因为方差" in (folder / "to_read.html").read_text(encoding="utf-8")
    with open(folder / "to_read.csv", encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 6
    for row in rows:
        for line in ("line_1", "line_2", "line_3"):
            row[line] = row[line] or "2"
    with open(folder / "to_read.csv", "w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    assert run(command("written", "--marked")) == DONE
    assert run(command("written", "--keep")) == DONE
    assert (folder / "to_read_2.csv").read_bytes() == (folder / "to_read.csv").read_bytes()
    marked = rows_of(folder / "written.csv")
    assert (marked["陈静"]["score"], marked["Lovelace, Ada"]["score"]) == ("18", "0")
    assert "words" in text


def test_upload(at_the_desk, capsys):
    folder, expected = at_the_desk
    people = [name for name in expected if name not in ("Sam", "..evil")]
    with open(folder / "gradebook.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Attention (1234)"])
        writer.writerow(["    Points Possible", "", "", "", "", "100"])
        writer.writerows([name, 100 + number, "", f"u{number}", "A", ""] for number, name in enumerate(people))
    with open(folder / "worksheet.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["Identifier", "Full name", "Email address", "Grade", "Maximum Grade", "Feedback comments"])
        writer.writerows([f"Participant {number}", name, "", "", "10.00", ""] for number, name in enumerate(expected))
    assert run(command("export", "--canvas")) == LOOK
    assert "Sam" in capsys.readouterr().err
    with open(folder / "canvas.csv", encoding="utf-8", newline="") as file:
        canvas = list(csv.DictReader(file))
    assert list(canvas[0])[:5] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
    assert canvas[0]["Student"].strip() == "Points Possible"
    assert {row["Student"]: row["Attention (1234)"] for row in canvas[1:]}["García, José"] == "100"
    assert run(command("export", "--moodle")) == DONE
    with open(folder / "moodle.csv", encoding="utf-8", newline="") as file:
        moodle = {row["Full name"]: row for row in csv.DictReader(file)}
    assert moodle["王小明"]["Grade"] == "10.00"
    assert moodle["王小明"]["Feedback comments"] == "100 of 100: all checks passed"


@pytest.mark.parametrize("kind", ["--gradescope", "--nbgrader", "--otter"])
def test_other_graders(at_the_desk, kind):
    assert run(command("export", kind)) == DONE


def test_a_new_assignment(at_the_desk, capsys):
    assert run(command("new")) == DONE
    assert "would write" in capsys.readouterr().out


@pytest.mark.slow
def test_verify_says_sound(at_the_desk, capsys):
    assert run(command("verify")) == DONE
    assert capsys.readouterr().out.strip().endswith("sound")
