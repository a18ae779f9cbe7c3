"""A sample of the generated mutants; the command ``audit.py`` runs all of them."""

import pytest
from mutants import OPERATORS, mutants_of, probes_for, sample, sites_of, why_equivalent
from specimens import load

from attention_lib.doctor import diagnose

CORRECT = load("correct")


def test_there_are_thousands():
    assert len(OPERATORS) == 5
    assert sum(1 for specimen in CORRECT for _ in sites_of(specimen)) > 3000


@pytest.mark.parametrize("mutant", sample(CORRECT, 40), ids=lambda mutant: mutant.name)
def test_a_mutant_that_differs_is_caught(mutant):
    reason = why_equivalent(mutant)
    options = {"time_limit": 2.0, **mutant.specimen.options}
    diagnosis = diagnose(mutant.specimen.fresh(mutant.candidate), mutant.specimen.kind, **options)
    assert not diagnosis.ok or reason, mutant.name
    assert "doctor-failed" not in diagnosis.codes


def test_the_oracle_of_equivalence_sees_changes_and_only_changes():
    three_lines = next(specimen for specimen in CORRECT if specimen.name == "three_lines")
    verdicts = {
        mutant.change.split(" (")[0]: why_equivalent(mutant, probes_for(three_lines))
        for mutant in mutants_of(three_lines)
    }
    assert verdicts["Div -> Mult"] == ""
    assert verdicts["key -> value"] == ""
    assert verdicts["Invert dropped"] == ""
    assert "same outputs" in verdicts["transpose -> swapdims"]
