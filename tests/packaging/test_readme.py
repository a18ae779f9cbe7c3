"""The README and its neighbours say what is true: code runs, numbers are computed, links and commands exist."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch
import yaml

import attention_lib as al

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text("utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
TARGETS = set(re.findall(r"^([a-z][a-z-]*):", MAKEFILE, re.M))


def test_every_code_block_prints_what_stands_below_it() -> None:
    blocks = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", README, re.S)
    assert len(blocks) == README.count("```python") == 4
    names: dict[str, object] = {}
    for code, expected in blocks:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, names)
        assert printed.getvalue() == expected


class Picture:
    """The numbers that book/_static/attention.svg shows, by the id of the element that shows them."""

    def __init__(self) -> None:
        self.root = ElementTree.parse(ROOT / "book" / "_static" / "attention.svg").getroot()

    def numbers(self, identifier: str) -> list[float]:
        [element] = [e for e in self.root.iter() if e.get("id") == identifier]
        texts = [e.text or "" for e in element.iter() if e.tag.endswith("text")]
        return [float(text.replace("\N{MINUS SIGN}", "-")) for text in texts]

    def rows(self, name: str) -> list[list[float]]:
        return [self.numbers(f"{name}-{row}") for row in (1, 2, 3)]

    def width(self, identifier: str) -> float:
        [element] = [e for e in self.root.iter() if e.get("id") == identifier]
        return float(element.attrib["width"])


def rounded(numbers: list[float]) -> list[float]:
    return [round(number, 3) for number in numbers]


def test_the_picture_shows_computed_numbers() -> None:
    picture = Picture()
    query, key, value = (
        torch.tensor(rows) for rows in ([picture.numbers("query")], picture.rows("key"), picture.rows("value"))
    )
    assert (query.shape, key.shape, value.shape) == ((1, 4), (3, 4), (3, 2))
    output, weights = al.attention(query, key, value, need_weights=True)
    assert weights is not None
    scores = al.dot_product_scores(query, key)

    assert [number for [number] in picture.rows("score")] == rounded(scores[0].tolist())
    assert [number for [number] in picture.rows("weight")] == rounded(weights[0].tolist())
    assert picture.numbers("output") == rounded(output[0].tolist())
    bars = [picture.width(f"bar-{row}") for row in (1, 2, 3)]
    assert bars == [round(100 * number, 1) for number in weights[0].tolist()]
    assert sum(number for [number] in picture.rows("weight")) == pytest.approx(1, abs=1e-9)


def test_the_picture_in_words_agrees_with_the_picture() -> None:
    picture = Picture()
    [sentence] = re.findall(r"!\[(.*?)\]\(book/_static/attention\.svg\)", README)
    described = " ".join("".join(e.itertext()) for e in picture.root if e.get("id") in {"desc", "sum"})
    for text in (sentence, described):
        for [weight] in picture.rows("weight"):
            assert f"{weight:.3f}" in text
    for number in picture.numbers("output"):
        assert f"{number:.3f}" in sentence


def test_the_picture_loads_nothing_and_knows_light_and_dark() -> None:
    text = (ROOT / "book" / "_static" / "attention.svg").read_text("utf-8")
    assert "prefers-color-scheme: dark" in text
    assert not re.search(r"href|url\(|@import|<script|<image", text)
    assert len(text) < 8000


@pytest.mark.parametrize("page", PAGES)
def test_relative_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = target.partition("#")
        if re.match(r"https?:", target):
            continue
        file = ROOT / path if path else ROOT / page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            broken.append(target)
    assert broken == []


def anchors(file: Path) -> set[str]:
    """The anchors that GitHub gives to the headings of a Markdown file."""
    headings = re.findall(r"^#+ (.*)$", file.read_text("utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES)
def test_every_make_target_that_is_named_exists(page: str) -> None:
    named = set(re.findall(r"(?:`|^\s*)make ([a-z-]+)", (ROOT / page).read_text("utf-8"), re.M))
    assert named <= TARGETS, f"{page} names {sorted(named - TARGETS)}; the Makefile has {sorted(TARGETS)}"


def test_the_commands_without_make_are_those_of_the_makefile() -> None:
    rows = dict(re.findall(r"^\| `make ([a-z-]+)[^`]*` \| (.*) \|$", README, re.M))
    assert set(rows) == TARGETS - {"help", "clean"}
    for target, cell in rows.items():
        typed = re.findall(r"`([^`]+)`", cell)
        typed = [re.sub(r"^(\.venv\\Scripts\\python|py -3\.11) ", "", command) for command in typed]
        assert typed == recipe("$(STAMP)" if target == "env" else target), (
            f"README and Makefile differ at `make {target}`"
        )


def recipe(target: str) -> list[str]:
    """The Python commands of a target, its variables filled in as README shows them."""
    [lines] = re.findall(rf"^{re.escape(target)}:[^\n]*\n((?:\t[^\n]*\n)+)", MAKEFILE, re.M)
    commands = [re.sub(r"^(\$\(PY\)|\$\(PYTHON\)) ", "", line.strip()) for line in lines.splitlines()]
    filled = [
        c.replace(" --venv $(VENV)", "").replace('"$(NAME)"', "05_softmax").replace("$(ARGS)", "--quick")
        for c in commands
    ]
    return [c.replace("$(PORT)", "8000") for c in filled]


def test_every_chapter_of_the_book_stands_in_the_readme_and_no_other() -> None:
    toc = (ROOT / "_toc.yml").read_text("utf-8")
    in_book = re.findall(r"file: (chapters/\w+)", toc)
    assert re.findall(r"\]\((chapters/\d\d_\w+)\.md\)", README) == in_book


def test_the_readme_names_the_systems_packages() -> None:
    [line] = re.findall(r"apt-get install ([^`]+)`", README)
    assert {"make", "python3-venv", "chromium", "bubblewrap"} <= set(line.split())


def test_the_citation_states_the_version_of_the_library() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["cff-version"] == "1.2.0"
    assert citation["version"] == al.__version__
    assert citation["license"] == ["MIT", "CC-BY-4.0"]
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    assert citation["repository-code"] == config["repository"]["url"]
    assert [author["name"] for author in citation["authors"]] == [config["author"]]


def test_both_licences_are_whole_and_name_the_authors() -> None:
    mit, cc = ((ROOT / name).read_text("utf-8") for name in ("LICENSE", "LICENSE-text"))
    assert "Copyright (c) 2026 The Attention, Step by Step authors" in mit
    assert "Copyright (c) 2026 The Attention, Step by Step authors" in cc
    assert mit.startswith("MIT License")
    sections = re.findall(r"^Section (\d) -- ", cc, re.M)
    assert sections == list("12345678")
    assert "Creative Commons Attribution 4.0 International Public License" in " ".join(cc.split())


def test_every_mark_of_the_tests_is_explained() -> None:
    pyproject = (ROOT / "pyproject.toml").read_text("utf-8")
    [block] = re.findall(r"^markers = \[(.*?)^\]", pyproject, re.S | re.M)
    marks = re.findall(r'"(\w+):', block)
    assert sorted(re.findall(r"^\| `(\w+)` \|", CONTRIBUTING, re.M)) == sorted(marks)
