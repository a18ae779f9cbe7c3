"""``python -m attention_lib.doctor path.py:Name`` and its exit status."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import attention_lib.doctor.__main__ as command
from attention_lib.doctor import Diagnosis

ROOT = Path(__file__).parents[2]
CANDIDATES = """
import os
import torch
from torch import nn

def good(q, k, v):
    return torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, -1) @ v

def unscaled(q, k, v):
    return torch.softmax(q @ k.mT, -1) @ v

def leaves(q, k, v):
    os._exit(0)

class Layer(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.attn = nn.MultiheadAttention(d_model, num_heads, batch_first=True)

    def forward(self, x):
        return self.attn(x, x, x)[0]
"""


def doctor(folder, *arguments):
    (folder / "mine.py").write_text(CANDIDATES, encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    line = [sys.executable, "-m", "attention_lib.doctor", *arguments]
    return subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, encoding="utf-8")


def test_a_candidate_that_ends_the_process_cannot_fake_a_healthy_one(tmp_path):
    run = doctor(tmp_path, "mine.py:leaves")
    assert run.returncode == 2, run.stderr
    assert "could not be examined" in run.stdout


@pytest.mark.parametrize(("ok", "examined", "status"), [(True, True, 0), (False, True, 1), (False, False, 2)])
def test_status(monkeypatch, capsys, ok, examined, status):
    diagnosis = Diagnosis(ok, (), examined, "mine")
    monkeypatch.setattr(command, "_in_another_process", lambda given, arguments: diagnosis)
    assert command.main(["mine.py:f"]) == status
    assert capsys.readouterr().out.startswith("mine (attention)")


def test_json(tmp_path):
    run = doctor(tmp_path, "mine.py:unscaled", "--json")
    assert run.returncode == 1
    assert json.loads(run.stdout)["findings"][0]["code"] == "missing-scale"


def in_this_process(tmp_path, target, *options):
    """What the second process does, without starting one."""
    (tmp_path / "mine_too.py").write_text(CANDIDATES, encoding="utf-8")
    return command._diagnose(command._parser().parse_args([target, *options]))


def test_options_reach_the_doctor(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    assert in_this_process(tmp_path, "mine_too.py:unscaled", "--scale", "1.0").ok
    assert in_this_process(tmp_path, "mine_too:good").ok
    assert in_this_process(tmp_path, "mine_too.py:Layer").ok
    layer = in_this_process(tmp_path, "mine_too.py:Layer", "--projection", "output=", "--num-heads", "3")
    assert layer.codes == ("differs",)  # it does have an output projection


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ("mine_too.py:missing", "has no attribute"),
        ("nowhere.py:f", "No such file"),
        ("mine_too.py", "is written path.py:Name"),
    ],
)
def test_what_cannot_be_loaded(tmp_path, monkeypatch, target, text):
    monkeypatch.chdir(tmp_path)
    diagnosis = in_this_process(tmp_path, target)
    assert not diagnosis.examined
    assert text in diagnosis.findings[0].evidence
