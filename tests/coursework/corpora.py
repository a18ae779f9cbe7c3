"""The corpora of wrong answers: written by hand, taken over from the doctor's, and generated from right answers."""

import ast
import copy
import functools
import importlib.util
import inspect
import random
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import torch

from attention_lib.coursework.marking import mark
from attention_lib.coursework.model import Draw, load_assignment
from attention_lib.coursework.session import Fault
from attention_lib.coursework.variants import book_variant
from attention_lib.coursework.verify import specimens_in

HERE = Path(__file__).parent
DOCTOR = HERE.parent / "doctor"
GRADED = ("scores", "softmax", "attention", "masks", "heads", "window")
# What the doctor's corpus has and values cannot show: conduct, dropout, half precision, remarks on style.
NOT_OF_VALUES = {
    "mutates-input",
    "dropout-in-eval",
    "dropout-not-rescaled",
    "dropout-on-scores",
    "half-overflow",
    "gradient-cut",
    "state-kept",
    "gradient-wrong",
    "inaccurate",
    "exits",
    "raises",
    "batch-dependent",
}
KINDS = {
    "attention": ("attention", "attention"),
    "softmax": ("softmax", "masked_softmax"),
    "causal_mask": ("masks", "causal_mask"),
    "split_heads": ("heads", "split_heads"),
    "merge_heads": ("heads", "merge_heads"),
}


# The same mistake in two words: the doctor's, and that of an assignment with conventions of its own.
SAME = {
    "convention-corner": "causal-misaligned",
    "convention-mask": "mask-inverted",
    "float-mask-added": "mask-inverted",
    "convention-axis": "softmax-over-queries",
    "convention-order": "heads-interleaved",
    "convention-heads": "wrong-heads",
    "convention-temperature": "wrong-scale",
}


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
    """Plain functions of the doctor's corpus whose mistake shows in values, as answers to an assignment."""
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
    if "withheld" in said:  # it calls torch's own attention, and that is the first thing to say
        return True
    return wanted <= said and "differs" not in wanted


def caught(wrong, worker, seed=1):
    """Whether a check fails because of this function, and the mark."""
    assignment = load_assignment(HERE / wrong.assignment)
    result = mark(assignment, book_variant(assignment.switches), [wrong.code], worker, seed=seed)
    return any(fails(check, wrong.function) for check in result.checks), result


def fails(check, function):
    """Whether a check failed because of this function."""
    return check.points < check.of and re.match(rf"{re.escape(function)}[: ]", check.reason) is not None


# Mutants of right answers, by the operators of the doctor's corpus; not of those that loop over every number.
QUICK_STYLES = {
    "matrices",
    "sums",
    "shifted",
    "library",
    "lines",
    "book",
    "compare",
    "triangles",
    "lists",
    "views",
    "loop",
    "batched",
    "masks",
    "grouped",
}


@dataclass(frozen=True)
class Generated:
    """A right answer with one change in one of its functions."""

    assignment: str
    style: str
    change: str
    code: str
    original: str


@functools.cache
def operators():
    """The module that changes code: tests/doctor/mutants.py."""
    list(_doctors("correct"))  # it needs its neighbour
    if "coursework_mutation" not in sys.modules:
        spec = importlib.util.spec_from_file_location("coursework_mutation", DOCTOR / "mutants.py")
        sys.modules["coursework_mutation"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules["coursework_mutation"])
    return sys.modules["coursework_mutation"].OPERATORS


def generated(count, seed=0, styles=QUICK_STYLES):
    """A fixed sample of mutants over all right answers."""
    sites = []
    for name in GRADED:
        for path in sorted((HERE / name / "correct").glob("*.py")):
            if styles is None or path.stem in styles:
                text = path.read_text(encoding="utf-8")
                sites += [(name, path.stem, text, *site) for site in _sites(text)]
    random.Random(seed).shuffle(sites)
    for name, style, text, number, change, replacement in sites[:count]:
        yield Generated(name, style, change, _changed(text, number, replacement), text)


def _computing(tree):
    """Nodes of the functions' bodies, in a fixed order."""
    for part in tree.body:
        if isinstance(part, ast.FunctionDef):
            for statement in part.body:
                yield from ast.walk(statement)


def _sites(text):
    for number, node in enumerate(_computing(ast.parse(text))):
        for operator in operators():
            for change, replacement in operator(node):
                yield number, f"{change} (line {getattr(node, 'lineno', 0)}, {number})", replacement


def _changed(text, number, replacement):
    tree = ast.parse(text)
    target = list(_computing(tree))[number]
    replacement = ast.copy_location(copy.deepcopy(replacement), target)

    class Swap(ast.NodeTransformer):
        def visit(self, node):
            return replacement if node is target else super().generic_visit(node)

    return ast.unparse(ast.fix_missing_locations(Swap().visit(tree)))


def differs(mutant, worker, limits, variant, seeds):
    """Whether a mutant answers any case of any seed otherwise than its original."""
    about = load_assignment(HERE / mutant.assignment)
    answers = []
    for code in (mutant.original, mutant.code):
        told = []
        with _session(worker, about, variant, code, limits) as session:
            for seed in seeds:
                for check in about.checks:
                    for case in check.make(Draw(seed * 1000 + len(told) % 7, variant)):
                        told.append(_asked(session, case))
        answers.append(told)
    return any(not _alike(one, other) for one, other in zip(*answers, strict=True))


def _session(worker, about, variant, code, limits):
    job = {"cells": [f"VARIANT = {dict(variant)!r}", code], "names": list(about.functions), "withheld": [], "seed": 1}
    return worker.open(job, limits)


def _asked(session, case):
    try:
        order = {} if case.gradient is None else {"gradient": list(case.gradient)}
        return session.call(case.function, list(case.arguments), **order)
    except Fault as fault:
        return str(fault)


def _alike(one, other):
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_alike, one, other))
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        if one.shape != other.shape or one.dtype != other.dtype:
            return False
        return torch.allclose(one.double(), other.double(), rtol=1e-6, atol=1e-9, equal_nan=True)
    return type(one) is type(other) and one == other
