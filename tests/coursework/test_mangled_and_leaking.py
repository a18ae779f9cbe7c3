"""Notebooks survive what happens to them; solutions do not get out."""

import json

import manglings
import planted
import pytest
from corpora import GRADED, HERE
from student_notebooks import blank, solved

from attention_lib.coursework.leaks import secrets_of
from attention_lib.coursework.marking import mark
from attention_lib.coursework.model import load_assignment
from attention_lib.coursework.reading import read_cells
from attention_lib.coursework.release import OPEN_KEY, release, stubbed
from attention_lib.errors import OptionError

ROOT = HERE.parents[1]
ABOUT = load_assignment(HERE / "attention")
KEY = "mangled"


@pytest.fixture(scope="module")
def secrets():
    return secrets_of(HERE / "attention")


def as_bytes(notebook):
    if isinstance(notebook, bytes):
        return notebook
    return (notebook if isinstance(notebook, str) else json.dumps(notebook)).encode()


def test_there_are_forty_manglings_and_thirty_leaks():
    assert len(manglings.MANGLINGS) >= 40
    assert len(planted.PLANTED) >= 30


@pytest.mark.parametrize("name", manglings.MANGLINGS)
def test_a_mangled_notebook_keeps_its_score(name, worker):
    cells, problem = read_cells(as_bytes(manglings.MANGLINGS[name](solved("attention", KEY))))
    assert problem == ""
    result = mark(ABOUT, ABOUT.variant(KEY), cells, worker, seed=3)
    assert (result.score, result.status) == (100, "graded"), result.reason


def test_an_answer_turned_into_markdown_is_not_defined(worker):
    notebook = solved("attention", KEY)
    for cell in manglings.answers(notebook):
        cell["cell_type"] = "markdown"
    result = mark(ABOUT, ABOUT.variant(KEY), read_cells(as_bytes(notebook))[0], worker, seed=3)
    assert (result.score, result.status) == (0, "nothing")
    assert "attention not defined" in result.reason


@pytest.mark.parametrize("name", planted.PLANTED)
def test_a_planted_solution_is_found(name, secrets):
    assert secrets.leaks(json.dumps(planted.PLANTED[name](blank("attention", KEY))), "notebook")


@pytest.mark.parametrize("name", [*GRADED, "written"])
def test_releases_are_clean_and_in_step(name):
    made = release(HERE / name, load_assignment(HERE / name).variant(OPEN_KEY))
    secrets = secrets_of(HERE / name)
    assert secrets.leaks(made.notebook, "notebook") == []
    assert secrets.leaks(made.page, "page") == []
    way_out = "run `make notebooks`"
    assert (ROOT / "chapters" / "coursework" / f"{name}.ipynb").read_bytes() == made.notebook, way_out
    assert (ROOT / "book" / "coursework" / f"{name}.md").read_text(encoding="utf-8") == made.page, way_out


def test_nothing_secret_lies_in_library_site_or_chapters():
    marks = {mark for name in (*GRADED, "written") for mark in secrets_of(HERE / name).marks}
    assert len(marks) == 7
    folders = ("attention_lib", "chapters", "book", "_build/html")
    paths = [path for folder in folders for path in sorted((ROOT / folder).rglob("*"))
             if path.suffix in (".py", ".md", ".ipynb", ".json", ".yml", ".html", ".js")]  # fmt: skip
    assert len(paths) > 100
    found = []
    for path in paths:
        text = path.read_text(encoding="utf-8", errors="replace")
        found += [f"{path}: {mark}" for mark in marks if mark in text]
        knows_the_markers = path.parent.name == "coursework" and path.suffix == ".py"
        if not knows_the_markers and "BEGIN SOLUTION" in text:
            found.append(f"{path}: marker of a solution")
    assert found == []


def test_the_wheel_takes_only_the_library():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert 'include = ["attention_lib*"]' in text
    assert "coursework" not in text.split("[tool.setuptools.data-files]")[1].split("[tool.ruff]")[0]


@pytest.mark.bad_input
@pytest.mark.parametrize(
    "cell", ["    ### BEGIN SOLUTION\n    x = 1", "### BEGIN SOLUTION\n### BEGIN SOLUTION\n### END SOLUTION"]
)
def test_markers_that_do_not_match_stop_the_release(cell):
    with pytest.raises(OptionError, match="BEGIN SOLUTION"):
        stubbed(cell)


@pytest.mark.bad_input
def test_a_release_needs_all_conventions():
    with pytest.raises(OptionError, match="conventions of attention are mask, layout"):
        release(HERE / "attention", {"mask": "allowed"})
