"""Students' notebooks for the tests: a released notebook with answers put into its cells."""

import functools
import json
from pathlib import Path

from attention_lib.coursework.model import load_assignment
from attention_lib.coursework.release import STUB, release
from attention_lib.coursework.verify import answers_of

HERE = Path(__file__).parent


@functools.cache
def _released(name, key):
    assignment = load_assignment(HERE / name)
    return release(HERE / name, assignment.variant(key)).notebook


def blank(name, key):
    """The notebook as it is handed out."""
    return json.loads(_released(name, key))


def solved(name, key):
    """The notebook with the right answers of source.md, and the conventions that they read."""
    notebook = blank(name, key)
    variant = load_assignment(HERE / name).variant(key)
    answers = iter(answers_of(HERE / name))
    for cell in notebook["cells"]:
        if "answer" in cell["metadata"].get("tags", []):
            cell["source"] = [f"VARIANT = {variant!r}\n\n", *next(answers).splitlines(keepends=True)]
    return notebook


def answered(name, key, *codes):
    """The notebook with these texts in its answer cells; cells without a text stay stubs."""
    notebook = blank(name, key)
    texts = list(codes)
    for cell in notebook["cells"]:
        if "answer" in cell["metadata"].get("tags", []) and texts:
            cell["source"] = texts.pop(0)
    return notebook


def is_stub(cell):
    return STUB in "".join(cell["source"])
