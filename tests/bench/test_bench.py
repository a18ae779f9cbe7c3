"""The command: its tables, files and exit status; peers that are absent, variants that raise; a guard on ratios."""

import functools
import json
import re
import sys
import time
from pathlib import Path

import pytest
import torch

from attention_lib import OptionError, attention
from attention_lib.bench import __main__ as command
from attention_lib.bench import inputs, peers, run, table
from attention_lib.bench.case import OURS, Absent, Built, Case, Setting, Target
from attention_lib.bench.figure import draw, save
from attention_lib.bench.measure import measure_case
from attention_lib.bench.report import as_text
from attention_lib.bench.rows_dense import dropout_training, weights_memory
from attention_lib.bench.rows_kernels import kernels
from attention_lib.bench.rows_layer import averaged, small_layer
from attention_lib.bench.rows_sparse import decode, ragged, window_forward, window_training
from attention_lib.bench.verdict import judge

ROOT = Path(__file__).resolve().parents[2]
CPU = Setting(torch.device("cpu"), quick=True)
QUICK = {"rounds": 1, "thread_counts": [1], "least": 1e-4}


def tiny(setting):
    """A case that takes no time: doubling, a peer that agrees, one that is off, one that raises, one that is absent."""
    x = torch.ones(7)

    def broken():
        raise RuntimeError("no such kernel\nand a long story")

    def missing():
        raise Absent("other-package is not installed")

    built = Built(
        {OURS: lambda: x + x, "SDPA": lambda: 2 * x, "rough": lambda: 2.5 * x, "broken": broken},
        reference=lambda: 2 * torch.ones(7, dtype=torch.float64),
        error_peer="SDPA",
        multiplications=7,
    )
    built.offer("other", missing)
    return built


def ours_raises(setting):
    def broken():
        raise ValueError("a bug")

    return Built({OURS: broken, "SDPA": lambda: torch.ones(1)})


TINY = Case(
    1, "doubling", tiny, (Target("time", "SDPA", 1e-3), Target("time", "other", 2), Target("time", "broken", 2))
)


@pytest.fixture
def tiny_table(monkeypatch):
    monkeypatch.setattr(table, "CASES", [TINY])
    monkeypatch.setattr(run, "measure_roof", functools.partial(_no_roof))


def _no_roof(device, thread_counts, *, quick):
    from attention_lib.bench.roof import Roof

    return Roof(*({str(count): 1e12 for count in thread_counts} for _ in Roof._fields))


def test_a_case_with_everything_that_can_happen():
    measured = measure_case(TINY, CPU, **QUICK)
    assert [each.name for each in measured.variants] == [OURS, "SDPA", "rough", "broken"]
    assert measured.variant(OURS).error == 0
    assert measured.variant("rough").error == pytest.approx(0.25)
    assert measured.variant("broken").failure == "RuntimeError: no such kernel"
    assert measured.absent == {"other": "other-package is not installed"}
    assert measured.variant(OURS).peak_bytes == 4 * 7
    words = [(each.verdict, each.why) for each in judge(measured, TINY.targets)]
    assert words == [
        ("met", ""),
        ("not measured", "other-package is not installed"),
        ("not measured", "the peer raised RuntimeError: no such kernel"),
        ("met", ""),  # the error
    ]


def test_a_result_of_another_shape_is_a_failure():
    built = Built({OURS: lambda: torch.ones(3)}, reference=lambda: torch.ones(2))
    measured = measure_case(Case(1, "shapes", lambda setting: built), CPU, **QUICK)
    assert "the result has shape (3,), the reference (2,)" in measured.variant(OURS).failure


def test_a_case_that_cannot_be_built_is_reported():
    def build(setting):
        raise RuntimeError("not enough memory")

    verdicts = judge(measure_case(Case(1, "too large", build), CPU, **QUICK), (Target("time", "SDPA", 1),))
    assert verdicts[0].why == "ours raised RuntimeError: not enough memory"


def test_new_threads_are_given_time_before_they_are_timed():
    def calls_with(settle):
        calls = []
        case = Case(1, "counted", lambda setting: Built({OURS: lambda: calls.append(torch.get_num_threads())}))
        measure_case(case, CPU, rounds=1, thread_counts=[2, 3], least=0.0, settle=settle)
        measure_case(case, CPU, rounds=1, thread_counts=[1], least=0.0, settle=settle)
        return [calls.count(threads) for threads in (1, 2, 3)]

    at_once, later = calls_with(0.0), calls_with(0.01)
    assert later[0] == at_once[0]  # one thread has nothing to wait for
    assert later[1] > at_once[1]
    assert later[2] > at_once[2]


def test_a_first_call_that_sets_something_up_does_not_make_a_call_slow():
    calls = []

    def slow_at_first():
        calls.append(1)
        start = time.process_time()
        while len(calls) == 1 and time.process_time() - start < 0.1:
            pass

    case = Case(1, "set up", lambda setting: Built({OURS: slow_at_first}))
    measure_case(case, CPU, rounds=3, thread_counts=[1], least=0.001)
    assert len(calls) > 1 + 3 * 2  # the first, and at least two in each round: one would measure the clock


def test_the_command_prints_both_tables_and_writes_the_files(tiny_table, tmp_path, capsys):
    files = [tmp_path / "bench.json", tmp_path / "bench.svg"]
    arguments = ["--quick", "--rows", "1", "--threads", "1", "--json", str(files[0]), "--figure", str(files[1])]
    assert command.main(arguments) == 0
    printed = capsys.readouterr().out
    for part in ("1. doubling", "other: absent: other-package is not installed", "3 rounds, quick sizes"):
        assert part in printed
    assert "2 met, 0 tie, 0 missed, 2 not measured" in printed
    assert re.search(r"broken +raised +RuntimeError: no such kernel", printed)
    written = json.loads(files[0].read_text())
    assert written["command"] == "python -m attention_lib.bench " + " ".join(arguments)
    assert len(written["cases"][0]["variants"][0]["seconds"]["1"]) == 3
    assert {each["verdict"] for each in written["verdicts"]} == {"met", "not measured"}
    assert set(written) >= {"machine", "torch", "date", "seed", "load", "roof", "rounds", "threads"}
    assert files[1].read_text().startswith("<svg")


def test_exit_status_tells_what_happened(tiny_table, monkeypatch, capsys):
    monkeypatch.setattr(table, "CASES", [Case(2, "broken", ours_raises, (Target("time", "SDPA", 1),))])
    assert command.main(["--quick", "--threads", "1", "--rows", "2"]) == 1
    assert "ours raised ValueError: a bug" in capsys.readouterr().out
    monkeypatch.setattr(table, "CASES", [Case(2, "slow", tiny, (Target("time", "SDPA", 1e6),))])
    assert command.main(["--quick", "--threads", "1", "--rows", "2"]) == 0
    assert "1 missed" in capsys.readouterr().out
    assert command.main(["--quick", "--threads", "1", "--rows", "2", "--strict"]) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rows", "99"], "row 99 is not in the table; choose from 1 to 14"),
        (["--rows", "5;6"], "'5;6' is neither a number nor a range; write 1,5-7"),
        (["--rounds", "0"], "--rounds 0 must be 1 or more"),
        (["--threads", "0"], "--threads 0 must be from 1 to"),
        (["--threads", "1", "9999"], "--threads 9999 must be from 1 to"),
        (["--device", "abacus"], "--device abacus cannot be used here"),
        (["--device", "meta"], "--device meta has no clock here; choose cpu or cuda"),
        (["--json", "nowhere/x.json"], "cannot write x.json: there is no folder nowhere"),
        (["--figure", "x.pdf"], "cannot draw into x.pdf: its name must end in .png or .svg"),
    ],
)
def test_bad_arguments(arguments, message, capsys):
    assert command.main(arguments) == 2
    assert f"error: {message}" in capsys.readouterr().err.replace("--rows 5;6: ", "")


def test_no_file_that_holds_something_else_is_replaced(tiny_table, tmp_path, capsys):
    notes = tmp_path / "notes.json"
    notes.write_text('{"name": "mine"}')
    assert command.main(["--rows", "1", "--json", str(notes)]) == 2
    assert "it exists and is no record of a bench; name a new file" in capsys.readouterr().err
    assert notes.read_text() == '{"name": "mine"}'
    for _ in range(2):  # a record of the bench may be replaced
        assert command.main(["--quick", "--rows", "1", "--threads", "1", "--json", str(tmp_path / "bench.json")]) == 0


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_a_gpu_that_is_not_there(capsys):
    assert command.main(["--device", "cuda"]) == 2
    assert "--device cuda cannot be used here" in capsys.readouterr().err


def test_the_figure_alone_needs_matplotlib(monkeypatch, capsys):
    assert "attention_lib.plot" not in (ROOT / "attention_lib" / "bench" / "__main__.py").read_text()
    monkeypatch.setitem(sys.modules, "attention_lib.bench.figure", None)
    monkeypatch.setattr(command.importlib, "import_module", _no_matplotlib)
    assert command.main(["--figure", "x.png"]) == 2
    assert "error: --figure needs matplotlib: pip install matplotlib" in capsys.readouterr().err


def _no_matplotlib(name):
    raise ModuleNotFoundError("No module named 'matplotlib'", name="matplotlib")


def test_a_fresh_process_gets_sleeping_threads(monkeypatch):
    """Idle threads that spin would be counted as work; the setting must be there before torch is loaded."""
    called = {}
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    monkeypatch.setattr(command.subprocess, "call", lambda words, env: called.update(words=words, env=env) or 3)
    monkeypatch.setattr(sys, "argv", ["bench", "--list"])
    assert command.start() == 3
    assert called["env"]["OMP_WAIT_POLICY"] == "passive"
    assert called["words"][1:] == ["-m", "attention_lib.bench", "--list"]
    monkeypatch.setenv("OMP_WAIT_POLICY", "passive")
    assert command.start() == 0


def test_list_names_every_row(capsys):
    assert command.main(["--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {int(line.split()[0]) for line in lines} == set(range(1, 15))


def test_every_row_of_the_table_has_a_case_and_targets():
    assert list(range(1, 15)) == table.ROW_NUMBERS
    assert all(case.targets for case in table.CASES)
    assert {case.row for case in table.chosen_cases(None, quick=True)} == set(range(1, 15)) - {13}


def test_drawing_needs_something_measured(tmp_path):
    with pytest.raises(OptionError, match="nothing was measured that could be drawn"):
        draw([])
    picture = draw(judge(measure_case(TINY, CPU, **QUICK), TINY.targets))
    save(picture, tmp_path / "bench.png")
    assert (tmp_path / "bench.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("build", "variants"),
    [
        (functools.partial(window_forward, n=1024), {OURS, "SDPA with a mask"}),
        (functools.partial(window_training, n=1024, H=2), {OURS, "SDPA with a mask"}),
        (functools.partial(decode, H=4, kv=2, S=64, d=8), {OURS, "SDPA on repeat_interleave"}),
        (functools.partial(ragged, n=64, B=3, H=2), {OURS, "SDPA with a mask"}),
        (functools.partial(small_layer, n=16), {OURS, "nn.MHA as shipped", "nn.MHA, fast path off"}),
    ],
)
def test_all_variants_of_a_row_compute_the_same(build, variants):
    """In small: whoever is there, packages too, is as near to float64 as the others."""
    measured = measure_case(Case(1, "small", build), CPU, **QUICK)
    assert variants <= {each.name for each in measured.variants}
    assert [each.failure for each in measured.variants] == [""] * len(measured.variants)
    errors = {each.name: each.error for each in measured.variants if each.error is not None}
    assert variants - {"its linear layers alone"} <= set(errors)
    assert max(errors.values()) < 1e-4, errors


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_the_rows_for_a_gpu_run_on_a_cpu(dtype):
    measured = measure_case(Case(14, "kernels", functools.partial(kernels, dtype=dtype)), CPU, **QUICK)
    assert {OURS, "SDPA FLASH", "SDPA MATH"} <= {each.name for each in measured.variants}
    assert set(measured.absent) == {"SDPA EFFICIENT", "SDPA CUDNN"}
    assert [each.failure for each in measured.variants] == [""] * len(measured.variants)


def test_tf32_is_named_as_absent():
    case = Case(14, "TF32", functools.partial(kernels, dtype=torch.float32, tf32=True), (Target("time", "SDPA", 1),))
    (verdict,) = judge(measure_case(case, CPU, **QUICK), case.targets)
    assert (verdict.verdict, verdict.why) == ("not measured", "TF32 is a number format of CUDA devices")


@pytest.mark.gpu
@pytest.mark.slow
def test_the_kernel_rows_on_a_gpu(capsys):
    assert command.main(["--quick", "--device", "cuda", "--rows", "1,5,8,14", "--threads", "1"]) == 0
    assert "by events" in capsys.readouterr().out


def test_packages_that_are_not_installed_are_named(monkeypatch):
    monkeypatch.setattr(peers.importlib, "import_module", _no_module)
    measured = measure_case(Case(5, "window", functools.partial(window_forward, n=512)), CPU, **QUICK)
    assert measured.absent["local-attention"] == "local-attention is not installed (pip install local-attention)"


def _no_module(name):
    raise ImportError(name)


def test_the_fast_path_is_put_back():
    before = torch.backends.mha.get_fastpath_enabled()
    with pytest.raises(ZeroDivisionError), peers.fast_path(not before):
        1 / (torch.backends.mha.get_fastpath_enabled() is before)
    assert torch.backends.mha.get_fastpath_enabled() is before


def test_the_article_is_the_same_attention():
    from attention_lib.bench.article import article_attention

    query, key, value = inputs.heads(CPU, 1, 2, 13, 8)
    ours = attention(query, key, value, need_weights=True)
    for mine, theirs in zip(ours, article_attention(query, key, value), strict=True):
        assert torch.allclose(mine, theirs, atol=1e-6)
    masked = article_attention(query, key, value, torch.ones(13, 13).tril())
    assert torch.allclose(attention(query, key, value, causal=True).output, masked[0], atol=1e-6)


def test_a_report_reads_well():
    report = run.run_bench(
        [TINY], CPU, rounds=2, thread_counts=[1], growth=False, command="python -m attention_lib.bench"
    )
    text = as_text(report)
    assert "1.  doubling" not in text
    assert text.index("1. doubling") < text.index("row  case")
    assert "/" not in str(report.machine)


GUARDED = [
    (functools.partial(window_forward, n=4096), Target("time", "SDPA with a mask", 12)),
    (functools.partial(window_forward, n=4096), Target("memory", "SDPA with a mask", 30)),
    (functools.partial(window_training, n=2048, H=1), Target("time", "SDPA with a mask", 4)),
    (functools.partial(decode, H=16, kv=4, S=512, d=64), Target("memory", "SDPA on repeat_interleave", 50)),
    (functools.partial(dropout_training, n=512), Target("memory", "SDPA with dropout", 3)),
    (functools.partial(averaged, n=512), Target("memory", "nn.MHA need_weights", 2)),
    (functools.partial(weights_memory, n=512), Target("memory", "the weights and output returned", 1)),
]


@pytest.mark.parametrize(("build", "target"), GUARDED)
def test_fast_paths_are_taken(build, target):
    """A guard with wide margins, in ratios of one run: a quarter of what is usual for time, a half for memory.

    It finds a path that is no longer taken, not a percentage.
    """
    measured = measure_case(Case(1, "guard", build), CPU, rounds=3, thread_counts=[1], least=0.002, most=2.0)
    (verdict,) = [each for each in judge(measured, (target,)) if each.row == 1]
    assert verdict.ratios, verdict
    assert min(verdict.ratios.values()) > target.factor / (4 if target.measure == "time" else 2), verdict


@pytest.mark.slow
def test_no_path_has_become_slow():
    """A guard with wide margins, in ratios of one run: each target of time and memory to a third at least.

    It finds a path that is no longer taken, not a percentage.
    """
    chosen = [case for case in table.CASES if case.row in (2, 4, 5, 6, 7, 8)]
    for case in chosen:
        for verdict in judge(measure_case(case, CPU, rounds=3, thread_counts=[1], least=0.003, most=3.0), case.targets):
            if verdict.ratios and verdict.row != 13:
                assert min(verdict.ratios.values()) > verdict.required / 3, verdict
