"""What is written is what is read, in a checkout and from an installed wheel; the command line's refusals."""

import dataclasses
import json
from pathlib import Path

import pytest

from attention_lib.errors import OptionError
from attention_lib.experiments import __main__ as command
from attention_lib.experiments import dependent_steps, load_result, record, registry

# Times are recorded on a quiet machine only, so that one file may be missing; whatever is there is checked.
REQUIRED = set(registry.NAMES) - {"thread_speedup"}
THERE = {path.stem for path in record.checkout_results().glob("*.json")} & set(registry.NAMES)
RECORDED = sorted(REQUIRED | THERE)


@pytest.fixture(scope="module")
def measured():
    return record.make_record("dependent_steps", dependent_steps.run("smoke"))


def test_round_trip(measured, tmp_path):
    path = record.write_record(measured, tmp_path / "dependent_steps.json")
    assert record.read_record(path, dependent_steps.DependentSteps) == measured


def test_a_record_says_all_it_takes_to_repeat_it(measured):
    assert measured.command == "python -m attention_lib.experiments dependent_steps --budget smoke"
    for part in (measured.command, measured.date, measured.torch, measured.device, "[0]"):
        assert part in measured.source()


def test_writing_names_the_missing_folder(measured, tmp_path):
    with pytest.raises(OptionError, match=r"cannot write new\.json: there is no folder .*nowhere; create it"):
        record.write_record(measured, tmp_path / "nowhere" / "new.json")


@pytest.mark.parametrize("name", RECORDED)
def test_every_experiment_has_a_recorded_full_run(name):
    recorded = load_result(name)
    assert recorded.name == name
    assert recorded.budget == "full"
    assert isinstance(recorded.result, registry.find_experiment(name).RESULT)
    assert recorded.summary == json.loads(json.dumps(recorded.result.summary()))
    assert recorded.seeds == recorded.result.seeds


@pytest.mark.parametrize("name", RECORDED)
def test_records_hold_no_path_of_a_machine(name):
    text = json.dumps(dataclasses.asdict(load_result(name)))
    assert "/" not in text.replace("dL/dq", "").replace("nn.Linear", "")


def test_an_installed_wheel_finds_the_copy_it_brought(measured, tmp_path, monkeypatch):
    record.write_record(measured, tmp_path / "dependent_steps.json")

    class Carried:
        name = "dependent_steps.json"

        def locate(self):
            return tmp_path / self.name

    monkeypatch.setattr(record, "checkout_results", lambda: None)
    monkeypatch.setattr(record.importlib.metadata, "files", lambda distribution: [Carried()])
    assert load_result("dependent_steps") == measured


def test_nothing_recorded_says_how_to_record(monkeypatch):
    monkeypatch.setattr(registry, "find_recorded", lambda name: None)
    with pytest.raises(OptionError, match=r"no recorded result for 'gradient_reach'; .* gradient_reach --budget full"):
        load_result("gradient_reach")


def test_unknown_name_names_the_known_ones():
    with pytest.raises(OptionError, match="experiment 'gradients' is not known; choose one of: dependent_steps, first"):
        load_result("gradients")


def test_command_lists(capsys):
    assert command.main(["--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(registry.NAMES)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gradients"], "experiment 'gradients' is not known; choose one of: dependent_steps"),
        (["dependent_steps", "--budget", "huge"], "budget='huge' is not known; choose one of: smoke, full"),
        ([], "which experiment? choose one of: dependent_steps"),
        (["dependent_steps", "-o", "nowhere/x.json"], "cannot write x.json: there is no folder nowhere"),
    ],
)
def test_command_refuses_with_the_way_out(arguments, message, capsys):
    assert command.main(arguments) == 2
    assert f"error: {message}" in capsys.readouterr().err


def test_command_records_where_asked(tmp_path, capsys):
    path = tmp_path / "steps.json"
    assert command.main(["dependent_steps", "-o", str(path)]) == 0
    assert "attention at 50" in capsys.readouterr().out
    assert record.read_record(path, dependent_steps.DependentSteps).result.products["attention"][-1] == 3


@pytest.mark.bad_input
@pytest.mark.parametrize("held", ["# My notes\n", "[1, 2]", '{"name": 1}', "\udcff"])
def test_command_overwrites_nothing_but_records(measured, tmp_path, capsys, held):
    path = tmp_path / "notes.md"
    path.write_bytes(held.encode("utf-8", "surrogateescape"))
    assert command.main(["dependent_steps", "-o", str(path)]) == 2
    assert (
        f"cannot write {path}: it exists and is no record of an experiment; name a new file" in capsys.readouterr().err
    )
    assert path.read_bytes() == held.encode("utf-8", "surrogateescape")
    path.unlink()
    record.write_record(measured, record.write_record(measured, path))  # a record may be replaced


def test_a_full_run_outside_a_checkout_asks_for_a_file(monkeypatch, capsys):
    monkeypatch.setattr(command, "checkout_results", lambda: None)
    assert command.main(["dependent_steps", "--budget", "full"]) == 2
    assert "name a file to record in with -o FILE" in capsys.readouterr().err


def test_results_of_a_checkout_lie_in_book():
    results = record.checkout_results()
    assert results is not None
    assert results.parts[-2:] == ("book", "results")
    assert Path(record.__file__).resolve().parents[2] == results.parents[1]
