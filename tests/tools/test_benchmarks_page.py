"""The page of benchmarks says what the record says; a part that does not exist is a warning."""

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "book" / "_ext"), str(ROOT / "book" / "tools")]

import benchmarks  # noqa: E402 - the line above makes it importable

from attention_lib.bench.table import CASES  # noqa: E402

RECORD = ROOT / "book" / "results" / "benchmarks.json"


@pytest.fixture(scope="module")
def record():
    return json.loads(RECORD.read_text("utf-8"))


def test_the_recorded_run_is_a_full_one(record):
    assert record["rounds"] >= 9
    assert record["threads"] == [1, 2]
    assert not record["quick"]
    assert {verdict["row"] for verdict in record["verdicts"]} == set(range(1, 15))
    untimed = [case.title for case in CASES if case.rounds(9) < 9]
    for case in record["cases"]:
        rounds = [len(taken) for each in case["variants"] for taken in each["seconds"].values()]
        assert min([*rounds, 9]) >= (3 if case["title"] in untimed else 9), case["title"]
    assert record["growth"]["lengths"]["window"][-1] == 65_536


def test_the_record_holds_no_path_and_no_failure_of_ours(record):
    text = json.dumps([record["command"], record["machine"]])
    assert "/tmp" not in text
    assert "home" not in text
    assert not [verdict for verdict in record["verdicts"] if "ours raised" in verdict["why"]]


def test_the_machine_and_its_load_are_named(record):
    (line,) = benchmarks.machine_lines(record)
    for fact in ("processor", "cores"):
        assert str(record["machine"][fact]) in line
    for load in record["load"]:
        assert f"{load} at the" in line
    assert record["date"] in line


def test_every_target_has_a_line_or_is_counted(record):
    lines = benchmarks.verdict_lines(record)
    rows = [line for line in lines if line.startswith("| ")][1:]
    errors = [verdict for verdict in record["verdicts"] if "the error of" in verdict["target"]]
    assert len(rows) + len(errors) == len(record["verdicts"])
    assert f"of {len(errors)} meet it" in lines[-1]


def test_missed_errors_are_named():
    fields = {"row": 13, "title": "a case", "target": "at most 2x the error of SDPA", "why": "", "required": 0.5}
    verdicts = [{**fields, "ratios": {"": 0.25}, "verdict": "missed"}]
    lines = benchmarks.verdict_lines({"verdicts": verdicts})
    assert lines[-1].endswith("0 of 1 meet it; not a case (4.00 times).")


def test_every_variant_has_a_line(record):
    lines = benchmarks.case_lines(record)
    for case in record["cases"]:
        assert f"**{case['row']}. {case['title']}**" in lines
        for each in case["variants"]:
            assert any(line.startswith(f"| {each['name']} | ") for line in lines)
