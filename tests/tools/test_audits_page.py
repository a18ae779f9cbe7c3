"""Recorded audits: they meet what was asked of them, and the page says what they say."""

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book" / "_ext"))

import audits  # noqa: E402 - the line above makes it importable

RESULTS = ROOT / "book" / "results"


def summary_of(name):
    return json.loads((RESULTS / f"{name}.json").read_text("utf-8"))["summary"]


def test_the_doctors_audit_meets_its_table():
    found = summary_of("doctor_audit")
    assert found["wrong caught"] == found["wrong specimens"] >= 150
    assert found["wrong named"] >= 0.9 * found["wrong specimens"]
    assert found["correct specimens"] >= 60
    assert found["seeds a correct specimen"] >= 1000
    assert found["correct accused"] == found["mutants missed"] == 0
    assert found["mutants that differ"] >= 500


def test_the_courseworks_audit_meets_its_table():
    found = summary_of("coursework_audit")
    assert found["wrong caught"] == found["wrong answers"] >= 150
    assert found["wrong named"] >= 0.9 * found["wrong answers"]
    assert found["mutants"] >= 500
    assert found["right answers"] >= 60
    assert found["seeds each"] >= 1000
    assert min(found["attacks"], found["attacks as a user"]) >= 60
    assert found["manglings"] >= 40
    assert found["leaks planted"] >= 30
    assert found["the book's code, highest score"] <= 40
    assert found["submissions a minute"] >= 600
    assert found["MB a worker"] <= 300
    assert found["large folder"] >= 10_000
    none = ("mutants missed", "rejected", "attacks: faults", "attacks as a user: faults", "scores changed")
    none += ("leaks not found", "false alarms", "grades lost by a kill")
    assert {name: found[name] for name in none} == dict.fromkeys(none, 0)


@pytest.mark.parametrize("name", ["doctor_audit", "coursework_audit"])
def test_the_page_has_every_line_of_the_record(name):
    record = json.loads((RESULTS / f"{name}.json").read_text("utf-8"))
    lines = audits.lines_of(record)
    assert len([line for line in lines if line.startswith("| ")]) == len(record["summary"]) + 1
    assert record["date"] in lines[-1]
    assert "/" not in record["command"].replace("book/tools/", "")


def test_numbers_are_readable():
    record = {"summary": {"right ones": 118, "seeds": 118_000, "share": 0.5}} | dict.fromkeys(
        ("date", "torch", "device", "command"), "x"
    )
    assert audits.lines_of(record)[2:5] == ["| right ones | 118 |", "| seeds | 118,000 |", "| share | 0.5 |"]
