"""The corpora of wrong answers: written by hand, taken over from the doctor's, and generated from right answers."""

import ast
import importlib.util
import inspect
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from attention_lib.coursework.marking import mark
from attention_lib.coursework.model import load_assignment
from attention_lib.coursework.variants import book_variant
from attention_lib.coursework.verify import specimens_in

HERE = Path(__file__).parent
DOCTOR = HERE.parent / "doctor"
GRADED = ("scores", "softmax", "attention", "masks", "heads", "window")
# What the doctor's corpus has and values cannot show: conduct, dropout, half precision, remarks on style.
NOT_OF_VALUES = {
    "mutates-input", "dropout-in-eval", "dropout-not-rescaled", "dropout-on-scores", "half-overflow", "gradient-cut",
    "state-kept", "gradient-wrong", "inaccurate", "exits", "raises", "batch-dependent",
}  # fmt: skip
KINDS = {"attention": ("attention", "attention"), "softmax": ("softmax", "masked_softmax"),
         "causal_mask": ("masks", "causal_mask"), "split_heads": ("heads", "split_heads"),
         "merge_heads": ("heads", "merge_heads")}  # fmt: skip


# The same mistake in two words: the doctor's, and that of an assignment with conventions of its own.
SAME = {
    "convention-corner": "causal-misaligned", "convention-mask": "mask-inverted", "float-mask-added": "mask-inverted",
    "convention-axis": "softmax-over-queries", "convention-order": "heads-interleaved", "convention-heads": "wrong-heads",
    "convention-temperature": "wrong-scale",
}  # fmt: skip


@dataclass(frozen=True)
class Wrong:
    """A wrong answer: the assignment and function it answers, its code, and the findings that would name it."""

    name: str
    assignment: str
    function: str
    code: str
    codes: tuple


def hand_written():
    """Those written for these assignments, under the book's conventions."""
    for name in GRADED:
        functions = list(load_assignment(HERE / name).functions)
        for specimen in specimens_in(HERE / name / "mutants" / "hand.py"):
            tree = ast.parse(specimen.code)
            defined = [node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in functions]
            yield Wrong(f"{name}: {specimen.name}", name, defined[-1], specimen.code, (specimen.named,))


def from_the_doctor():
    """Plain functions of the doctor's corpus whose mistake shows in values, as answers to the assignment that asks for it."""
    for specimen in _doctors("wrong"):
        if specimen.kind not in KINDS or isinstance(specimen.candidate, type) or specimen.options:
            continue
        assignment, function = KINDS[specimen.kind]
        if NOT_OF_VALUES & set(specimen.codes):
            continue
        code = f"{_module_text(specimen)}\n\n{_adapter(specimen, function)}\n"
        yield Wrong(f"doctor: {specimen.name}", assignment, function, code, specimen.codes)


def _adapter(specimen, function):
    """How a specimen answers an assignment that calls with more arguments than it takes."""
    parameters = [p for p in inspect.signature(specimen.candidate).parameters.values() if p.kind != p.KEYWORD_ONLY]
    name, count = specimen.name, len(parameters)
    if function == "attention" and count == 3:
        return f"def attention(query, key, value, mask=None):\n    return {name}(query, key, value)"
    if function == "masked_softmax" and count == 1:
        return f"def masked_softmax(scores, mask=None):\n    return {name}(scores)"
    if function == "causal_mask" and count == 1:
        return f"def causal_mask(L, S):\n    return {name}(S)[..., S - L :, :]"
    return f"{function} = {name}"


def _doctors(folder):
    if "specimens" not in sys.modules:
        spec = importlib.util.spec_from_file_location("specimens", DOCTOR / "specimens.py")
        sys.modules["specimens"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules["specimens"])
    return sys.modules["specimens"].load(folder)


def _module_text(specimen):
    """The file of a specimen as a student would have it: without the corpus' own import and labels."""
    text = Path(sys.modules[specimen.candidate.__module__].__file__).read_text(encoding="utf-8")
    tree = ast.parse(text)
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            node.decorator_list = []
    kept = [node for node in tree.body if not (isinstance(node, ast.ImportFrom) and node.module == "specimens")]
    return ast.unparse(ast.Module(kept, []))


def is_named(wrong, answer):
    """Whether the public check names everything that is wrong."""
    said, wanted = ({SAME.get(code, code) for code in codes} for codes in (answer.codes, wrong.codes))
    return wanted <= said and "differs" not in wanted


def caught(wrong, worker, seed=1):
    """Whether a check fails because of this function, and the mark."""
    assignment = load_assignment(HERE / wrong.assignment)
    result = mark(assignment, book_variant(assignment.switches), [wrong.code], worker, seed=seed)
    return any(fails(check, wrong.function) for check in result.checks), result


def fails(check, function):
    """Whether a check failed because of this function."""
    return check.points < check.of and re.match(rf"{re.escape(function)}[: ]", check.reason) is not None
