"""The gallery page: every known mistake once, broken, diagnosed and repaired."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "book" / "_ext"))

import doctor_gallery  # noqa: E402 - the line above makes it importable

from attention_lib.doctor import CATALOGUE  # noqa: E402

NOT_SHOWN = {"not-callable", "doctor-failed"}  # no implementation can show them


@pytest.fixture(scope="module")
def chosen():
    return doctor_gallery.choose(doctor_gallery.load_corpus(ROOT))


def test_every_mistake_has_its_entry_and_its_repair(chosen):
    assert len(chosen) > 60
    missing = set(CATALOGUE) - set(chosen) - doctor_gallery.ALONE - NOT_SHOWN
    assert all(CATALOGUE[code].severity == "variant" for code in missing), missing
    assert all(specimen.repair or CATALOGUE[code].severity == "variant" for code, specimen in chosen.items())


def test_an_entry_holds_the_code_the_diagnosis_and_the_repair(chosen):
    text = doctor_gallery.entry("missing-scale", chosen["missing-scale"])
    assert "(mistake-missing-scale)=" in text
    assert "    scores = query @ key.transpose(-2, -1)\n" in text
    assert "2.45x too large" in text
    assert "nan-on-empty-row" not in text  # a remark that comes along
    assert "-    scores = query @ key.transpose(-2, -1)\n+    scores = query @ key.transpose(-2, -1) / math" in text
    assert "[chapter 4](../chapters/04_scores_and_scaling.md)" in text


def test_every_entry_shows_what_was_found(chosen):
    text = doctor_gallery.gallery(chosen)
    assert text.count("\n### ") == len(chosen)
    for code in chosen:
        assert f":::{{admonition}} `{code}`\n:class: warning\n" in text
