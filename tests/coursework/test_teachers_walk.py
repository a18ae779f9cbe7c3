"""Where a new teacher stumbles: another key, files that bear no name, lateness, places that cannot be written."""

import csv
import json
import os
import unicodedata

import pytest
from corpora import HERE
from student_notebooks import answered, blank, solved

from attention_lib.coursework.commands import DONE, LOOK, WRONG, main
from attention_lib.coursework.marking import CheckResult, Mark
from attention_lib.coursework.model import load_assignment
from attention_lib.coursework.origin import claim, doubt
from attention_lib.coursework.submissions import CALLED_LATE, Submission, collect, doubts, read_submission
from attention_lib.coursework.table import Lateness, row_of
from attention_lib.coursework.variants import draw_variant

KEY = "the walk"


@pytest.fixture
def desk(tmp_path, monkeypatch, isolated):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ATTENTION_COURSE", str(HERE))
    (tmp_path / "in").mkdir()
    return tmp_path


def put(folder, name, notebook):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(notebook if isinstance(notebook, bytes) else json.dumps(notebook).encode())
    return path


def grade(*more, key=KEY, assignment="scores"):
    return main(["grade", "in", "--assignment", assignment, "--key", key, "--workers", "1", *more])


def rows():
    with open("grades.csv", encoding="utf-8-sig", newline="") as file:
        return {row["student"].strip(): row for row in csv.DictReader(file)}


def other_key(name="scores"):
    about = load_assignment(HERE / name)
    return next(key for key in map(str, range(50)) if about.variant(key) != about.variant(KEY))


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ("assignment('scores', keys='rows', temperature=0.5)", ("scores", {"keys": "rows", "temperature": "0.5"})),
        ('x = 1\nassignment("a",\n  b="c", )\n', ("a", {"b": "c"})),
        ("assignment('written')", ("written", {})),
        ("my_assignment('scores')", None),
        ("assignment(name, keys='rows')", None),
        ("assignment('scores', keys=open('/etc/passwd').read())", None),
    ],
)
def test_what_a_notebook_says_it_is_is_read_as_text(cell, told):
    assert claim([cell]) == told


def test_every_release_says_what_it_is():
    for name in ("scores", "softmax", "attention", "masks", "heads", "window", "written"):
        cells = ["".join(cell["source"]) for cell in blank(name, KEY)["cells"] if cell["cell_type"] == "code"]
        about = load_assignment(HERE / name)
        assert doubt(cells, name, about.variant(KEY)) == ""
        assert "has other conventions than the key" in doubt(cells, name, about.variant(other_key(name)))
        assert "is of the assignment" in doubt(cells, "another", about.variant(KEY))


@pytest.mark.bad_input
def test_a_wrong_key_gives_nobody_zero(desk, capsys):
    for student in ("Ada", "Bo", "Cy"):
        put(desk / "in", f"{student}.ipynb", solved("scores", KEY))
    assert grade(key=other_key()) == WRONG
    assert "3 of 3 notebooks looked at are not what this command grades" in capsys.readouterr().err
    assert not list(desk.glob("grades.csv*"))
    assert grade(assignment="softmax") == WRONG
    assert "of the assignment 'scores', not of 'softmax'" in capsys.readouterr().err
    assert grade() == DONE
    assert {row["score"] for row in rows().values()} == {"100"}
    assert grade("--anyway", "--fresh", key=other_key()) == DONE
    assert all(row["reason"].startswith("the notebook has other conventions") for row in rows().values())


def test_one_student_with_another_notebook_is_told_in_the_row(desk):
    for student in ("Ada", "Bo"):
        put(desk / "in", f"{student}.ipynb", solved("scores", KEY))
    put(desk / "in", "Cy.ipynb", solved("scores", other_key()))
    assert grade() == DONE
    assert "the notebook has other conventions than the key (" in rows()["Cy"]["reason"]
    assert rows()["Ada"]["reason"] == "all checks passed"


@pytest.mark.parametrize("name", ["scores.submission", "scores"])
def test_files_that_all_bear_the_same_name_are_all_graded_and_pointed_out(desk, capsys, name):
    for number, copy in enumerate(("", " (1)", " (2)")):
        notebook = solved("scores", KEY) if number else blank("scores", KEY)
        put(desk / "in", f"{name}{copy}.ipynb", notebook)
    assert grade() == LOOK
    assert {student: row["score"] for student, row in rows().items()} == {
        name: "0",
        f"{name} (1)": "100",
        f"{name} (2)": "100",
    }
    assert all("does not say whose it is" in row["reason"] for row in rows().values())
    assert "3 files do not say whose they are" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("file", "student"),
    [
        ("Ada Lovelace - scores.submission.ipynb", "Ada Lovelace"),
        ("Ada Lovelace_scores.submission (1).ipynb", "Ada Lovelace"),
        ("Ada Lovelace-scores.ipynb", "Ada Lovelace"),
        ("Ada Lovelace.ipynb", "Ada Lovelace"),
        ("Underscores.ipynb", "Underscores"),
        ("Ada Lovelace/scores.submission.ipynb", "Ada Lovelace"),
        ("lovelaceada_12_345_scores.submission.ipynb", "lovelaceada"),
        ("lovelaceada_LATE_12_345_scores.submission-1.ipynb", "lovelaceada"),
        ("Ada Lovelace_99_assignsubmission_file_/scores.submission.ipynb", "Ada Lovelace"),
    ],
)
def test_a_prefix_or_a_folder_says_whose_it_is(tmp_path, file, student):
    put(tmp_path, file, {})
    (one,) = collect(tmp_path, "scores")
    assert (one.student, one.note) == (student, CALLED_LATE if "_LATE_" in file else "")


def test_an_empty_folder_is_a_row(desk):
    put(desk / "in", "Ada/scores.ipynb", solved("scores", KEY))
    (desk / "in" / "Emil").mkdir()
    (desk / "in" / ".git").mkdir()
    assert grade() == LOOK
    assert (rows()["Emil"]["status"], rows()["Emil"]["reason"]) == ("unreadable", "an empty folder")
    assert set(rows()) == {"Ada", "Emil"}


def test_a_folder_of_several_students_inside_is_pointed_out(tmp_path):
    for student in ("Ada", "Bo", "Cy", "Di"):
        put(tmp_path, f"Assignment 1/{student}.ipynb", {})
    assert "4 files with different names count as those of one student, 'Assignment 1'" in doubts(collect(tmp_path))[0]
    assert doubts(collect(tmp_path / "Assignment 1")) == []


def test_the_reason_says_what_lateness_took():
    mark = Mark("graded", (CheckResult("one", 8.0, 10.0, "off"),), "one: off")
    late = row_of(Submission("Ada", "", "a", moment=1 + 2 * 86400), mark, "x", 10.0, Lateness(0.0, 10.0))
    assert (late["score"], late["reason"]) == ("5.6", "3 days late, 30 % of the points taken off; one: off")
    free = row_of(Submission("Ada", "", "a", moment=1), mark, "x", 10.0, Lateness(0.0))
    assert (free["score"], free["reason"]) == ("8", "1 day late, nothing taken off; one: off")


def test_what_was_not_graded_has_no_score():
    mark = Mark("ungraded", (CheckResult("one", 0.0, 10.0, "?"),), "the sandbox does not start")
    row = row_of(Submission("Ada", "", "a"), mark, "x", 10.0, Lateness())
    assert (row["score"], row["one"]) == ("", "")


def test_equal_reasons_are_said_once_and_a_stub_is_called_one(desk):
    put(desk / "in", "Ada.ipynb", blank("scores", KEY))
    put(desk / "in", "Bo.ipynb", answered("scores", KEY, "def attention_scores(query, key):\n    return 3"))
    assert grade() == DONE
    assert rows()["Ada"]["reason"].count("attention_scores is still the stub of the notebook") == 1
    assert rows()["Bo"]["reason"].startswith(
        "values, widths, no_batch, heads, float32: attention_scores: what came back is of type int, not a tensor; "
    )


def test_the_dry_run_says_what_cannot_be_graded(desk, capsys):
    put(desk / "in", "Ada.ipynb", b"%PDF-1.7")
    late = put(desk / "in", "Bo.ipynb", solved("scores", KEY))
    os.utime(late, (90_000, 90_000))
    assert grade("--dry-run", "--due", "1970-01-01T00:00:00+00:00", "--late", "10%") == DONE
    told = capsys.readouterr().out
    assert "Ada: Ada.ipynb; a PDF, not a notebook" in told
    assert "Bo: Bo.ipynb; late, day 2" in told


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--late", "10"], "give --due too"),
        (["-o", "grades.xlsx"], "ends in .csv"),
        (["-o", "nowhere/grades.csv"], "there is no folder nowhere"),
        (["-o", "folder.csv"], "it is a folder"),
        (["--key", " "], "the course key is empty"),
    ],
)
def test_what_cannot_work_is_refused_before_any_work(desk, capsys, arguments, sentence):
    put(desk / "in", "Ada.ipynb", solved("scores", KEY))
    (desk / "folder.csv").mkdir()
    assert grade(*arguments) == WRONG
    assert sentence in capsys.readouterr().err
    assert not list(desk.glob("*.journal"))


@pytest.mark.bad_input
@pytest.mark.parametrize("percent", ["-1", "101", "much"])
def test_percents_are_percents(desk, capsys, percent):
    with pytest.raises(SystemExit):
        grade("--due", "2026-01-01", f"--late={percent}")
    assert "--late" in capsys.readouterr().err


def test_a_key_is_as_it_looks():
    switches = ["mask", "layout", "gives", "temperature"]
    typed = {form: draw_variant(unicodedata.normalize(form, "Übung Ä"), "a", switches) for form in ("NFC", "NFD")}
    assert typed["NFC"] == typed["NFD"] == draw_variant(" Übung Ä\n", "a", switches)


@pytest.mark.bad_input
def test_last_years_conventions_are_refused(desk, capsys):
    about = load_assignment(HERE / "scores")
    same = next(key for key in map(str, range(500)) if about.variant(key) == about.variant(KEY))
    assert main(["release", "scores", "--key", same, "--unlike", "x", "--unlike", KEY]) == WRONG
    assert f"{same!r} draws the same conventions as {KEY!r}" in capsys.readouterr().err
    assert not (desk / "handout").exists()


def test_a_handout_leads_to_no_notebook_with_other_conventions(desk, capsys, monkeypatch):
    assert main(["release", "scores", "--key", KEY]) == DONE
    assert "does not exist: on Colab it would not start" in capsys.readouterr().err
    monkeypatch.setenv("ATTENTION_REPOSITORY_URL", "https://github.com/me/attention")
    assert main(["release", "scores", "--key", "open", "-o", "open"]) == DONE
    assert capsys.readouterr().err == ""
    assert "blob" not in (desk / "handout" / "scores.ipynb").read_text()
    assert "github/me/attention/blob/gh-pages/chapters/coursework/scores.ipynb" in (
        desk / "open" / "scores.ipynb"
    ).read_text(encoding="utf-8")


def test_a_report_finds_a_name_in_either_order_and_says_what_lateness_took(desk, capsys):
    late = put(desk / "in", "Lovelace, Ada.ipynb", solved("scores", KEY))
    os.utime(late, (90_000, 90_000))
    assert grade("--due", "1970-01-01T00:00:00+00:00", "--late", "10") == DONE
    assert main(["report", "Ada Lovelace"]) == DONE
    assert "late, day 2: 100 points without that, 20 taken off" in capsys.readouterr().out


def test_a_report_says_which_cell_cannot_be_read(desk, capsys):
    put(desk / "in", "Ada.ipynb", answered("scores", KEY, "def attention_scores(query, key)\n    return 3"))
    assert grade() == DONE
    assert main(["report", "Ada"]) == DONE
    assert "cannot be read: expected ':'" in capsys.readouterr().out


def essays(desk, *texts):
    for number, text in enumerate(texts):
        put(desk / "in", f"student {number}.ipynb", answered("written", KEY, text))


def sheet(path="to_read.csv"):
    with open(path, encoding="utf-8-sig", newline="") as file:
        return {(row["student"], row["answer"]): row for row in csv.DictReader(file)}


def fill(path, delimiter=","):
    found = list(sheet(path).values())
    for row in found:
        row.update({f"line_{n}": row[f"line_{n}"] or "1,5" for n in (1, 2, 3)}, comment="read")
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, found[0], delimiter=delimiter)
        writer.writeheader()
        writer.writerows(found)


def test_an_answer_outside_its_quotes_is_shown_and_not_marked_zero(desk):
    essays(desk, 'answer_scale = """\n"""\n\nIt grows.', 'answer_scale = f"""It grows."""', 'answer_scale = """\n"""')
    markdown = answered("written", KEY, 'answer_scale = """It grows."""')
    for cell in markdown["cells"]:
        cell["cell_type"] = "markdown"
    put(desk / "in", "student 3.ipynb", markdown)
    assert main(["written", "in", "-o", "to_read.csv"]) == DONE
    found = [sheet()[f"student {n}", "answer_scale"] for n in range(4)]
    assert ["It grows." in row["text"] for row in found] == [True, True, False, True]
    assert [row["line_1"] for row in found] == ["", "", "0", ""]
    assert "It grows." in (desk / "to_read.html").read_text(encoding="utf-8")


def test_a_sheet_saved_with_semicolons_and_a_late_essay(desk, capsys):
    essays(desk, 'answer_scale = "It grows."')
    assert main(["written", "in", "-o", "to_read.csv"]) == DONE
    fill("to_read.csv", ";")
    assert main(["written", "in", "--marked", "to_read.csv"]) == DONE
    essays(desk, 'answer_scale = "It grows."', 'answer_scale = "It shrinks."')
    assert main(["written", "in", "--marked", "to_read.csv"]) == WRONG
    assert "--keep to_read.csv" in capsys.readouterr().err
    assert main(["written", "in", "--keep", "to_read.csv", "-o", "second.csv"]) == DONE
    found = sheet("second.csv")
    assert [found["student 0", "answer_scale"][name] for name in ("line_1", "comment")] == ["1,5", "read"]
    assert found["student 1", "answer_scale"]["line_1"] == ""


@pytest.mark.bad_input
def test_what_is_missing_in_a_sheet_is_counted(desk, capsys):
    essays(desk, *['answer_scale = "It grows."'] * 5)
    assert main(["written", "in", "-o", "to_read.csv"]) == DONE
    assert main(["written", "in", "--marked", "to_read.csv"]) == WRONG
    assert "and 2 more answers" in capsys.readouterr().err
    assert main(["written", "in", "--marked", "nowhere.csv"]) == WRONG
    assert "cannot be read as a sheet of answers" in capsys.readouterr().err


def test_a_folder_that_was_read_before_has_its_problem_still(tmp_path):
    (tmp_path / "Emil").mkdir()
    (one,) = collect(tmp_path)
    assert read_submission(one, tmp_path).problem == "an empty folder"


def test_a_course_of_your_own_may_lie_outside_the_checkout(desk):
    course = ["--course", str(desk / "mine")]
    assert main(["new", "my_topic", *course]) == DONE
    assert main(["release", "my_topic", "--key", KEY, *course]) == DONE
    handout = json.loads((desk / "handout" / "my_topic.ipynb").read_text(encoding="utf-8"))
    variant = load_assignment(desk / "mine" / "my_topic").variant(KEY)
    for cell in handout["cells"]:
        if "answer" in cell["metadata"].get("tags", []):
            divided = f"scores / {variant['temperature']}"
            cell["source"] = f"def my_my_topic(scores):\n    return torch.softmax({divided}, -1)"
    put(desk / "in", "Ada.ipynb", handout)
    assert grade(*course, assignment="my_topic") == DONE
    assert rows()["Ada"]["score"] == "10"
