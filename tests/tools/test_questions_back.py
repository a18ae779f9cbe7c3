"""The questions page and the sections that answer: linked both ways, and none of the links is broken."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book" / "_ext"))

from questions_back import questions, with_questions  # noqa: E402 - the line above makes it importable

PAGE = """# Questions

## Sizes and scales

- *Why the root?* [Because](../chapters/04_x.md#the-root), and [again](../chapters/05_y.md#b).
- *Why not d?* [The root](../chapters/04_x.md#the-root).
"""


def test_questions_are_found_by_the_section_that_answers():
    assert questions(PAGE) == {
        ("chapters/04_x", "the-root"): [("Why the root?", "sizes-and-scales"), ("Why not d?", "sizes-and-scales")],
        ("chapters/05_y", "b"): [("Why the root?", "sizes-and-scales")],
    }


def test_they_are_written_under_the_heading_and_nowhere_else():
    source = "# Title\n\n```python\n## The root\n```\n\n## The root\n\nText.\n\n## Other\n"
    text = with_questions("chapters/04_x", source, questions(PAGE))
    assert text.count("People ask") == 1
    after = text.split("\n## The root\n")[2]
    assert after.startswith("\n:::{div} people-ask\nPeople ask: [Why the root?](../book/questions.md#sizes-and-scales)")
    assert "[Why not d?]" in after
    assert after.endswith("Text.\n\n## Other\n")
    assert with_questions("chapters/05_y", source, questions(PAGE)) == source


def test_every_link_of_the_page_leads_to_a_section_that_exists():
    asked = questions((ROOT / "book" / "questions.md").read_text("utf-8"))
    pages = {page for page, _ in asked}
    assert len(pages) == 13, "a chapter answers no question"
    for page in pages:
        text = with_questions(page, (ROOT / f"{page}.md").read_text("utf-8"), asked)
        assert text.count("people-ask") == sum(1 for answering, _ in asked if answering == page), page
