"""The gallery page: every known mistake once, broken, diagnosed and repaired."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "book" / "tools"))

import doctor_gallery as gallery

from attention_lib.doctor import CATALOGUE


def test_every_mistake_of_the_corpus_has_its_entry_and_its_repair():
    chosen = gallery._chosen()
    assert len(chosen) > 60
    missing = set(CATALOGUE) - set(chosen) - gallery.ALONE
    assert all(CATALOGUE[code].severity == "variant" for code in missing - gallery.NOT_SHOWN), missing
    without_repair = {code for code, specimen in chosen.items() if not specimen.repair}
    assert all(CATALOGUE[code].severity == "variant" for code in without_repair)


def test_an_entry_holds_the_code_the_diagnosis_and_the_repair():
    specimen = gallery._chosen()["missing-scale"]
    text = gallery._entry("missing-scale", specimen)
    assert "scores = query @ key.transpose(-2, -1)\n" in text
    assert "2.45x too large" in text
    assert "Repaired:" in text
    assert "[chapter 4](../chapters/04_scores_and_scaling.md)" in text
