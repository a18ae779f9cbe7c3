"""Whole builds of a small book: a fork's addresses, equal numbers on page and in notebook, loud failures."""

import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / "tools"))
from small_book import copy_small_book

pytestmark = pytest.mark.site

FORK = "https://github.com/someone/fork"
CHAPTER = "chapters/02_every_construct"


def build(root: Path, **environment: str) -> subprocess.CompletedProcess:
    """Build a book as `make book` does."""
    command = [sys.executable, str(root / "book/tools/build_site.py"), "--root", str(root)]
    return subprocess.run(
        command, env=os.environ | environment, capture_output=True, text=True, encoding="utf-8", check=False
    )


@pytest.fixture(scope="module")
def fork(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small book as a fork publishes it."""
    root = copy_small_book(tmp_path_factory.mktemp("fork") / "book")
    done = build(root, ATTENTION_REPOSITORY_URL=FORK)
    assert done.returncode == 0, done.stdout + done.stderr
    return root


@pytest.fixture(scope="module")
def html(fork: Path) -> str:
    """The page of its first chapter."""
    return (fork / f"_build/html/{CHAPTER}.html").read_text("utf-8")


@pytest.fixture(scope="module")
def notebook(fork: Path) -> nbformat.NotebookNode:
    """The notebook of its first chapter."""
    return nbformat.read(fork / "_build/html/notebooks/02_every_construct.ipynb", as_version=4)


def test_every_button_points_at_the_fork(html: str):
    addresses = re.findall(r'href="(https://[^"]+)"', html)
    assert f"{FORK}/edit/main/{CHAPTER}.md" in addresses
    assert any(url.startswith(f"{FORK}/issues/new") for url in addresses)
    colab = "https://colab.research.google.com/github/someone/fork/blob/gh-pages/chapters/notebooks"
    assert f"{colab}/02_every_construct.ipynb" in addresses
    assert not [url for url in addresses if "attention-step-by-step-" in url]


def test_the_notebook_points_at_the_fork(notebook: nbformat.NotebookNode):
    text = "\n".join(cell.source for cell in notebook.cells)
    assert f"git+{FORK}" in text
    assert "https://someone.github.io/fork/book/glossary.html#term-query" in text


@pytest.mark.parametrize("number", ["2.1", "2.2", "2.3"])
def test_equations_have_the_same_number_on_page_and_in_notebook(html: str, notebook, number: str):
    assert f'<span class="eqno">({number})' in html
    assert any(f"\\tag{{{number}}}" in cell.source for cell in notebook.cells)


@pytest.mark.parametrize("name", ["Fig. 2.1", "Exercise 2.1", "Exercise 2.2", "Theorem 2.1", "Chapter 2"])
def test_names_are_the_same_on_page_and_in_notebook(fork: Path, name: str):
    pages = [(fork / f"_build/html/chapters/{stem}.html").read_text("utf-8") for stem in STEMS]
    words = re.sub(r"<[^>]+>", "", " ".join(pages))
    assert name in re.sub(r"\s+", " ", words)
    cells = [
        cell.source
        for stem in STEMS
        for cell in nbformat.read(fork / f"_build/notebooks/{stem}.ipynb", as_version=4).cells
    ]
    assert name in " ".join(cells)


STEMS = ("02_every_construct", "07_second")


def test_links_in_the_notebook_lead_to_anchors_that_exist(fork: Path, notebook):
    links = re.findall(
        r"\(https://someone\.github\.io/fork/([^)#]+)#([^)]+)\)", "\n".join(c.source for c in notebook.cells)
    )
    assert len(links) > 10
    for page, anchor in links:
        assert f'id="{anchor}"' in (fork / "_build/html" / page).read_text("utf-8"), (page, anchor)


def test_figures_are_svg_on_the_page_and_png_in_the_notebook(html: str, notebook):
    assert '<svg role="img" aria-label="A square"' in html
    data = [output.data for cell in notebook.cells for output in cell.get("outputs", []) if "data" in output]
    [figure] = [bundle for bundle in data if "image/png" in bundle]
    assert set(figure) == {"image/png", "text/plain"}


def test_formulas_are_mathml_and_no_script_draws_them(html: str):
    assert html.count("<math ") > 10
    assert re.findall(r"(?i)<script[^>]*(?:mathjax|katex)", html) == []


def test_the_static_check_is_content(fork: Path):
    from check_site import Site

    assert Site(fork / "_build/html").faults() == []


def test_a_second_build_runs_no_chapter_again(fork: Path):
    page = fork / f"{CHAPTER}.md"
    page.write_text(page.read_text("utf-8").replace("One step at a time", "Step by step"), "utf-8")
    done = build(fork, ATTENTION_REPOSITORY_URL=FORK)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "execute: 0 of 2 chapters to run" in done.stdout
    assert "Step by step" in (fork / f"_build/html/{CHAPTER}.html").read_text("utf-8")


WRONG = {
    "See {ref}`ch-every-konstruct`.": "undefined label: 'ch-every-konstruct'",
    "See {eq}`no-such-equation`.": "equation not found: no-such-equation",
    "A {term}`no such term`.": "term not in glossary",
    "Wrong: $\\frac{1$.": "formula",
}


def test_a_wrong_page_fails_the_build_at_each_line_every_time(small_page: Path):
    index = small_page / "book" / "index.md"
    index.write_text("\n\n".join(["# A small book", *WRONG]), "utf-8")
    for attempt in ("first", "second"):  # a build that had forgotten would pass the second time
        done = build(small_page)
        assert done.returncode != 0, attempt
        for line, complaint in enumerate(WRONG.values(), start=1):
            expected = f"index.md:{2 * line + 1}: WARNING: {complaint}"
            assert expected in done.stdout + done.stderr, attempt


@pytest.fixture
def small_page(tmp_path: Path) -> Path:
    """A book without chapters, which builds quickly."""
    root = copy_small_book(tmp_path / "book")
    (root / "_toc.yml").write_text("format: jb-book\nroot: book/index\nchapters:\n  - file: book/glossary\n")
    return root
