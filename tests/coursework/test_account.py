"""The account of a submission where there are no namespaces: what it must not reach and must be able to read."""

import os
import tempfile
from pathlib import Path

import pytest

from attention_lib.coursework import account
from attention_lib.coursework.isolation import IsolationError
from attention_lib.coursework.sandbox import Worker

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, which becomes another account")
pytestmark = pytest.mark.bad_input


@pytest.fixture
def open_folder():
    """Not in pytest's own folder, which is closed to others."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture
def elsewhere(monkeypatch):
    """A system that is neither too open nor too closed."""
    monkeypatch.setattr(account, "SHARED", ())
    monkeypatch.setattr(account, "needed", lambda: ["/usr/bin/env"])


@pytest.mark.skipif(os.geteuid() == 0, reason="is root")
def test_who_is_not_root_is_told_so():
    with pytest.raises(IsolationError, match="needs root"):
        Worker("account").start()
    assert "root cannot become another account" in account.trouble(())


@as_root
def test_a_worker_does_not_start_around_open_folders(open_folder):
    made = Worker("account", [str(open_folder)])
    with pytest.raises(IsolationError, match="can be read by every account, also by submissions; chmod 700 it first"):
        made.start()
    made.stop()


@as_root
@pytest.mark.parametrize("mode", [0o700, 0o701, 0o702, 0o704, 0o755, 0o777])
def test_any_right_of_others_on_a_hidden_folder_is_too_much(elsewhere, open_folder, mode):
    open_folder.chmod(mode)
    assert bool(account.trouble([str(open_folder)])) == (mode != 0o700)


@as_root
def test_an_open_folder_in_a_closed_one_is_hidden(elsewhere, open_folder):
    (open_folder / "course").mkdir(mode=0o755)
    assert "course can be read" in account.trouble([str(open_folder / "course")])
    open_folder.chmod(0o700)
    assert account.trouble([str(open_folder / "course")]) == ""


@as_root
def test_where_a_submission_could_leave_files_nothing_runs(elsewhere, open_folder, monkeypatch):
    monkeypatch.setattr(account, "SHARED", (str(open_folder),))
    assert account.trouble(()) == ""
    open_folder.chmod(0o1777)
    assert f"every account may leave files in {open_folder}" in account.trouble(())
    assert f"chmod 755 {open_folder}" in account.trouble(())


@as_root
def test_a_python_that_submissions_cannot_read_is_named_with_what_closes_it(elsewhere, open_folder, monkeypatch):
    place = open_folder / "closed" / "lib" / "os.py"
    place.parent.mkdir(parents=True)
    place.touch()
    monkeypatch.setattr(account, "needed", lambda: [str(place)])
    assert account.trouble(()) == ""
    (open_folder / "closed").chmod(0o700)
    told = account.trouble(())
    assert f"cannot read {place}: {open_folder / 'closed'} is closed to it. Use bubblewrap" in told
    (open_folder / "closed").chmod(0o755)
    place.chmod(0o600)
    assert f"{place} is closed to it" in account.trouble(())


def test_what_is_needed_is_there():
    places = account.needed()
    assert any(place.endswith("os.py") for place in places)
    assert any("torch" in place for place in places)
    assert all(os.path.exists(place) for place in places)
