"""How findings and diagnoses look, and what is always true of the catalogue."""

import json

import pytest
from torch.nn import functional as F

from attention_lib.doctor import CATALOGUE, Diagnosis, Finding, assert_healthy, diagnose


def unscaled(query, key, value):
    return F.scaled_dot_product_attention(query, key, value, scale=1.0)


def healthy(query, key, value):
    return F.scaled_dot_product_attention(query, key, value)


def test_a_diagnosis_in_a_terminal():
    text = str(diagnose(unscaled))
    assert text.startswith(
        "unscaled (attention): 1 finding\n✗ The scores are not divided by sqrt(d_k)  [missing-scale]"
    )
    assert "With d_k = 6 the scores are 2.45x too large (factor 1, expected 0.4082)" in text
    assert "fix:   Divide by the root of the key width" in text
    assert "read:  chapter 04_scores_and_scaling" in text
    assert max(map(len, text.splitlines())) <= 100


def test_a_diagnosis_in_a_notebook_is_escaped_and_has_its_own_background():
    finding = Finding("differs", "<b>Differs</b>", "a < b\nand `x = 1`", "none", "04_scores_and_scaling")
    html = Diagnosis(ok=False, findings=(finding,), candidate="<f>")._repr_html_()
    assert "<b>" not in html
    assert "&lt;b&gt;Differs" in html
    assert "a &lt; b<br>and <code" in html
    assert "background:#fff" in html


def test_a_diagnosis_as_json():
    told = json.loads(diagnose(unscaled).to_json())
    assert not told["ok"]
    assert told["findings"][0]["code"] == "missing-scale"
    assert set(told["findings"][0]) == {"code", "title", "evidence", "fix", "chapter", "severity"}


def test_truth_is_health():
    assert diagnose(healthy)
    assert str(diagnose(healthy)) == "healthy (attention): healthy"
    assert not diagnose(unscaled)


def test_assert_healthy_passes_and_fails_with_the_diagnosis():
    assert assert_healthy(healthy).ok
    with pytest.raises(AssertionError, match=r"2\.45x too large"):
        assert_healthy(unscaled)
    assert assert_healthy(unscaled, scale=1.0).ok


@pytest.mark.parametrize("code", CATALOGUE)
def test_entries_are_whole_sentences(code):
    title, fix, chapter, severity = CATALOGUE[code]
    assert code == code.lower()
    assert " " not in code
    assert title[0].isupper()
    assert not title.endswith(".")
    assert fix.endswith(".")
    assert chapter[:2].isdigit()
    assert severity in ("mistake", "variant", "remark")
