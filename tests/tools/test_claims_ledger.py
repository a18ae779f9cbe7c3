"""The ledger: guards are found in the chapters, values come from the records, a gap fails the build."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "book" / "_ext"), str(ROOT / "book" / "tools"), str(Path(__file__).parent)]

import claims_ledger  # noqa: E402
from bookkit.book import Book  # noqa: E402 - the line above makes these importable
from claims_ledger import ClaimsLedger, guards, measured_text, record  # noqa: E402
from small_book import copy_small_book  # noqa: E402

GUARD = """
## The section

```{code-cell} ipython3
:tags: [remove-cell]
claim("S1", "holds", "steps over length",
      [1.0, 1.0], within=(1, 1))
```
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small book whose second chapter guards a claim, with a ledger of two claims."""
    root = copy_small_book(tmp_path / "book")
    chapter = root / "chapters" / "07_second.md"
    chapter.write_text(chapter.read_text("utf-8") + GUARD, "utf-8")
    return root


def test_guards_are_found_with_their_section(root: Path):
    assert guards(Book(root)) == {"S1": [("chapters/07_second", "The section", "steps over length")]}


def test_every_claim_of_the_articles_has_a_sentence():
    claims = yaml.safe_load((ROOT / "book" / "claims.yml").read_text("utf-8"))
    assert list(claims) == [f"S{number}" for number in range(1, 30)]
    assert all(text.endswith(".") for text in claims.values())


def test_guards_of_the_book_name_claims_that_exist():
    claims = yaml.safe_load((ROOT / "book" / "claims.yml").read_text("utf-8"))
    assert set(guards(Book())) <= set(claims)


def test_one_value_stands_alone_and_several_show_their_range():
    entry = {"measured": "share", "count": 1, "mean": 0.98765, "least": 0.98765, "most": 0.98765}
    assert measured_text(entry) == "share: 0.988"
    entry |= {"count": 3, "least": 0.9, "most": 1.0}
    assert measured_text(entry) == "share: 0.988 (0.9 to 1, 3 values)"


def test_a_record_is_read_by_claim_and_measure(tmp_path: Path):
    (tmp_path / "S1-steps-over-length.json").write_text(json.dumps({"claim": "S1"}), "utf-8")
    assert record(tmp_path, "S1", "steps over length") == {"claim": "S1"}
    assert record(tmp_path, "S1", "something else") is None


def test_an_apostrophe_and_leading_blanks_do_not_hide_a_guard(root: Path):
    chapter = root / "chapters" / "07_second.md"
    text = chapter.read_text("utf-8")
    chapter.write_text(text + '\n    claim("S2", "holds", "the articles\' function", 1.0, within=(1, 1))\n', "utf-8")
    assert [measured for _, _, measured in guards(Book(root))["S2"]] == ["the articles' function"]


@pytest.mark.parametrize(
    ("places", "complaint"),
    [
        ([], "claim S1 is guarded in no chapter"),
        ([("chapters/07_second", "The section", "steps")], "claim S1, 'steps': chapters/07_second did not record it"),
    ],
)
def test_a_claim_without_a_guard_or_a_record_is_a_warning_and_so_fails_the_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, places: list, complaint: str
):
    warnings: list[str] = []
    monkeypatch.setattr(claims_ledger.LOGGER, "warning", lambda text, *values, **_: warnings.append(text % values))
    page = SimpleNamespace(get_location=lambda: "book/claims.md:1")
    assert ClaimsLedger._rows(page, "S1", "A claim.", places, tmp_path) == []
    assert warnings == [complaint]
