"""The summary says what failed, what was skipped and why, and what was not run."""

import sys

import pytest
import run_tests


def test_the_last_line_names_what_failed(capsys: pytest.CaptureFixture):
    status = run_tests._report({"lint": ("ok (1 s)", []), "site": ("FAILED (2 s)", [])}, ["slow"])
    lines = capsys.readouterr().out.strip().split("\n")
    assert status == 1
    assert lines[-1] == "FAILED: site"
    assert lines[-2] == "  not run: slow"


def test_reasons_of_skipped_tests_reach_the_summary(capsys: pytest.CaptureFixture):
    output = "print('SKIPPED [2] tests/site/conftest.py:47: no Chromium or Chrome found')"
    result = run_tests.run(run_tests.Check("site", (sys.executable, "-c", output)))
    assert run_tests._report({"site": result}, []) == 0
    shown = capsys.readouterr().out
    assert "skipped: tests/site/conftest.py:47: no Chromium or Chrome found" in shown
    assert shown.strip().endswith("ALL 1 CHECKS PASSED")


@pytest.mark.parametrize(("status", "expected"), [(0, "ok"), (5, "FAILED"), (1, "FAILED"), (2, "FAILED")])
def test_a_status_other_than_passed_fails(status: int, expected: str):
    check = run_tests.Check("x", (sys.executable, "-c", f"raise SystemExit({status})"))
    assert run_tests.run(check)[0].startswith(expected)
