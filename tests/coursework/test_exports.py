"""Exports in the documented form of each system, also for names with commas, accents or Chinese characters."""

import csv
import io
import json
import warnings

import pytest
from corpora import GRADED, HERE

from attention_lib.coursework import export
from attention_lib.coursework.in_kernel import run_check
from attention_lib.coursework.leaks import secrets_of
from attention_lib.coursework.model import load_assignment
from attention_lib.coursework.verify import answers_of, with_variant
from attention_lib.errors import OptionError

ROWS = [
    {"student": "García, José", "id": "", "file": "a.ipynb", "assignment": "attention", "score": "87.5",
     "out_of": "100", "status": "graded", "reason": 'masked: "numbers", off', "handed_in": "2026-11-30 01:00:00 UTC"},
    {"student": "王小明", "id": "42", "file": "b.ipynb", "assignment": "attention", "score": "100", "out_of": "100",
     "status": "graded", "reason": "all checks passed", "handed_in": "2026-11-30 01:00:00 UTC"},
]  # fmt: skip


def read(text):
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert len({len(row) for row in rows}) == 1
    return rows


def table(tmp_path, header, *rows):
    path = tmp_path / "roster.csv"
    with open(path, "w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def test_canvas_has_its_five_columns_and_the_points_possible(tmp_path):
    roster = table(tmp_path, [*export.CANVAS, "Attention (77)"], ["", "", "", "", "", "Manual Posting"],
                   ["    Points Possible", "", "", "", "", "100.0"], ["José García", "7", "s7", "jg", "Group A", "3"],
                   ["Wang, Somebody", "42", "", "w", "A", ""], ["Ann Absent", "9", "", "aa", "A", ""])  # fmt: skip
    text, notes = export.grades(ROWS, "canvas", roster, "Attention (77)")
    rows = read(text)
    assert rows[0] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Attention (77)"]
    assert rows[1] == ["    Points Possible", "", "", "", "", "100.0"]
    assert rows[2] == ["José García", "7", "s7", "jg", "Group A", "87.5"]  # by name, in the other order
    assert rows[3][-1] == "100"  # by number
    assert rows[4][-1] == ""
    assert notes == []


def test_canvas_scale_is_kept(tmp_path):
    roster = table(tmp_path, [*export.CANVAS, "Attention (77)"], ["    Points Possible", "", "", "", "", "20.0"],
                   ["José García", "7", "", "", "A", ""], ["W", "42", "", "", "A", ""])  # fmt: skip
    rows = read(export.grades(ROWS, "canvas", roster, "Attention (77)")[0])
    assert [row[-1] for row in rows[1:]] == ["20.0", "17.5", "20"]


@pytest.mark.bad_input
def test_a_misspelled_column_of_canvas_is_refused_and_the_right_one_named(tmp_path):
    roster = table(tmp_path, [*export.CANVAS, "Attention (77)"], ["José García", "7", "", "", "A", ""])
    with pytest.raises(OptionError, match=r"no column 'Attenton \(77\)'; its assignments are Attention \(77\)"):
        export.grades(ROWS, "canvas", roster, "Attenton (77)")
    assert "New" in export.grades(ROWS, "canvas", roster, "New")[0]  # without a number it is meant as a new one


@pytest.mark.parametrize("kind", ["canvas", "moodle", "nbgrader"])
def test_what_was_not_graded_is_exported_as_no_points_and_named(kind):
    row = ROWS[1] | {"status": "ungraded", "score": "", "reason": "the sandbox does not start"}
    text, notes = export.grades([row], kind)
    assert "王小明 was not graded and gets no points here" in notes[0]
    assert "0" not in {cell for line in read(text)[1:] for cell in line}


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_a_worksheet_that_a_spreadsheet_saved_is_read(tmp_path, delimiter):
    path = tmp_path / "worksheet.csv"
    lines = [["Identifier", "Full name", "Grade", "Maximum Grade"], ["Participant 42", "王小明", "", "100,00"]]
    path.write_text("\n".join(delimiter.join(line) for line in lines), encoding="utf-8-sig")
    rows = read(export.grades(ROWS[1:], "moodle", path)[0])
    assert rows[1][:3] == ["Participant 42", "王小明", "100.00"]


@pytest.mark.bad_input
def test_a_roster_in_another_encoding_says_how_to_save_it(tmp_path):
    path = tmp_path / "roster.csv"
    path.write_bytes("Identifier,Grade\nMüller,\n".encode("cp1252"))
    with pytest.raises(OptionError, match="not UTF-8; save it again as 'CSV UTF-8'"):
        export.grades(ROWS, "moodle", path)


def test_who_is_not_in_the_roster_is_named(tmp_path):
    roster = table(tmp_path, export.CANVAS, ["José García", "7", "", "", "A"])
    _, notes = export.grades(ROWS, "canvas", roster, None)
    assert len(notes) == 1
    assert "王小明" in notes[0]
    assert "100" in notes[0]


def test_a_name_that_two_bear_is_given_to_neither(tmp_path):
    twins = [ROWS[0], ROWS[0] | {"score": "3"}]
    roster = table(tmp_path, export.CANVAS, ["José García", "7", "", "", "A"])
    text, notes = export.grades(twins, "canvas", roster, None)
    assert read(text)[2][-1] == ""
    assert len(notes) == 2


def test_moodle_gets_its_own_worksheet_back(tmp_path):
    header = ["Identifier", "Full name", "Email address", "Status", "Grade", "Maximum Grade", "Grade can be changed"]
    roster = table(tmp_path, header, ["Participant 42", "王小明", "w@x", "Submitted", "", "20.00", "Yes"],
                   ["Participant 43", "José García", "j@x", "Submitted", "", "100,00", "Yes"])  # fmt: skip
    text, notes = export.grades(ROWS, "moodle", roster)
    rows = read(text)
    assert rows[0] == [*header, "Feedback comments"]
    assert (rows[1][4], rows[2][4]) == ("20.00", "87.50")
    assert 'masked: "numbers", off' in rows[2][-1]
    assert notes == []


def test_nbgraders_columns():
    rows = read(export.grades(ROWS, "nbgrader")[0])
    assert tuple(rows[0]) == export.NBGRADER
    assert rows[2][3] == "42"
    assert rows[1][3] == "García, José"


@pytest.mark.parametrize("kind", ["nbgrader", "otter"])
def test_sources_are_valid_notebooks_with_markers(kind):
    nbformat = pytest.importorskip("nbformat")
    text = export.assignment(HERE / "attention", load_assignment(HERE / "attention"), "key", kind)
    nbformat.validate(nbformat.reads(text, as_version=4))
    cells = json.loads(text)["cells"]
    if kind == "nbgrader":
        graded = [cell for cell in cells if cell["metadata"].get("nbgrader", {}).get("grade")]
        assert sum(cell["metadata"]["nbgrader"]["points"] for cell in graded) == 100
        assert all("### BEGIN HIDDEN TESTS" in cell["source"] for cell in graded)
        assert len({cell["metadata"]["nbgrader"]["grade_id"] for cell in cells if "nbgrader" in cell["metadata"]}) == 12
    else:
        raw = [cell["source"].split("\n")[0] for cell in cells if cell["cell_type"] == "raw"]
        assert raw == ["# ASSIGNMENT CONFIG", "# BEGIN QUESTION", "# BEGIN SOLUTION", "# END SOLUTION", "# BEGIN TESTS",
                       "# END TESTS", "# END QUESTION"]  # fmt: skip
    assert secrets_of(HERE / "attention").leaks(text, "source")  # a source holds the solution: not for students


@pytest.mark.parametrize("name", GRADED)
def test_right_answers_pass_inside_a_kernel_without_a_warning(name):
    """nbgrader takes a word on the error stream for a failure."""
    assignment, namespace = load_assignment(HERE / name), {}
    variant = assignment.variant("key")
    for cell in with_variant(answers_of(HERE / name), variant):
        exec(cell, namespace)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for check in assignment.checks:
            run_check(assignment, check.name, variant, namespace, seed=1)


@pytest.mark.bad_input
def test_a_roster_of_something_else_is_refused(tmp_path):
    roster = table(tmp_path, ["Name", "Points"], ["a", "1"])
    with pytest.raises(OptionError, match="is not a gradebook of Canvas: it has no column 'Student'"):
        export.grades(ROWS, "canvas", roster)
    with pytest.raises(OptionError, match="is not a grading worksheet of Moodle"):
        export.grades(ROWS, "moodle", roster)
    with pytest.raises(OptionError, match="cannot be read"):
        export.grades(ROWS, "moodle", tmp_path / "nowhere.csv")
