"""The command that compares several processes with one: on this machine, under torchrun, and its refusals."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from attention_lib.bench import distributed

ROOT = Path(__file__).resolve().parents[2]
EXPECTED = """\
ring         : 2 processes with 32 of 64 tokens each; equal to one: True
ring, causal : 2 processes with 32 of 64 tokens each; equal to one: True
heads        : 2 processes with 4 of 8 heads each; equal to one: True
heads, causal: 2 processes with 4 of 8 heads each; equal to one: True
"""


def run(*command):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)


@pytest.mark.slow
def test_on_this_machine():
    done = run(sys.executable, "-m", "attention_lib.bench.distributed", "--processes", "2")
    assert (done.returncode, done.stdout) == (0, EXPECTED), done.stderr


@pytest.mark.slow
def test_under_torchrun():
    module = ("-m", "torch.distributed.run", "--nproc-per-node", "2", "-m", "attention_lib.bench.distributed")
    done = run(sys.executable, *module)
    assert (done.returncode, done.stdout) == (0, EXPECTED), done.stderr


@pytest.mark.slow
def test_a_difference_is_the_exit_status():
    program = (
        "import sys; from attention_lib.bench import distributed; distributed.TOLERANCE = -1.0; "
        "sys.exit(distributed.main(['--processes', '1']))"
    )
    done = run(sys.executable, "-c", program)
    assert done.returncode == 1, done.stderr
    assert done.stdout.count("False") == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--processes", "3"], "4 key heads cannot be shared out among 3 processes; choose 1, 2 or 4"),
        (["--processes", "0"], "4 key heads cannot be shared out among 0 processes"),
        (["--processes", "4", "--length", "30"], "30 tokens cannot be cut into 4 equal slices; choose --length 28"),
        (["--length", "0"], "0 tokens cannot be cut into 2 equal slices; choose --length 2"),
    ],
)
def test_refusals(arguments, message, capsys):
    assert distributed.main(arguments) == 2
    assert message in capsys.readouterr().err
