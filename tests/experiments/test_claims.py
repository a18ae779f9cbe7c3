"""A claim is asserted where it is measured, and recorded only when the book asks for it."""

import json

import pytest
import torch

from attention_lib.errors import OptionError
from attention_lib.experiments.claims import claim, record_name


def test_a_value_inside_is_recorded_with_its_range(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTENTION_CLAIMS", str(tmp_path))
    claim("S3", "holds under conditions", "gain, over 3 seeds", [2.0, 3.0, 7.0], within=(1, 10), condition="width 32")
    record = json.loads((tmp_path / record_name("S3", "gain, over 3 seeds")).read_text("utf-8"))
    assert record == {
        "claim": "S3",
        "verdict": "holds under conditions",
        "measured": "gain, over 3 seeds",
        "condition": "width 32",
        "count": 3,
        "mean": 4.0,
        "least": 2.0,
        "most": 7.0,
    }


def test_one_value_outside_stops_the_chapter_and_records_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTENTION_CLAIMS", str(tmp_path))
    with pytest.raises(AssertionError, match=r"S3, gain: 11 is outside 1 to 10"):
        claim("S3", "holds", "gain", torch.tensor([2.0, 11.0]), within=(1, 10))
    assert list(tmp_path.iterdir()) == []


def test_not_a_number_is_outside():
    with pytest.raises(AssertionError, match="nan is outside"):
        claim("S3", "holds", "gain", float("nan"), within=(1, 10))


def test_a_reader_writes_no_file(tmp_path, monkeypatch):
    monkeypatch.delenv("ATTENTION_CLAIMS", raising=False)
    monkeypatch.chdir(tmp_path)
    claim("S3", "holds", "gain", 2.0, within=(1, 10))
    assert list(tmp_path.iterdir()) == []


def test_one_file_for_each_thing_measured():
    assert record_name("S10", "variance / d_k") == "S10-variance-d-k.json"
    assert record_name("S10", "variance / d_k") != record_name("S10", "variance")


@pytest.mark.parametrize(
    ("number", "verdict", "values", "condition", "message"),
    [
        ("T3", "holds", 1.0, "", "claim 'T3' with verdict 'holds'; claims are S1 to S29"),
        ("S99", "holds", 1.0, "", "claim .S99. with verdict .holds.; claims are S1 to S29"),
        ("S3", "maybe", 1.0, "", "verdict 'maybe'.*holds under conditions, not at this scale, does not hold"),
        ("S3", "holds under conditions", 1.0, "", "claim S3 holds under conditions; say which"),
        ("S3", "holds", [], "", "claim S3, gain: there are no values"),
    ],
)
def test_a_careless_call_is_refused(number, verdict, values, condition, message):
    with pytest.raises(OptionError, match=message):
        claim(number, verdict, "gain", values, within=(0, 2), condition=condition)
