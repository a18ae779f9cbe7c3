"""A made-up class of forty, built from the corpora: right, wrong, mangled, hostile, late and broken submissions."""

import json
import os
from pathlib import Path

import manglings
from corpora import HERE
from student_notebooks import answered, blank, solved

from attention_lib.coursework.verify import specimens_in

NAMES = [
    "Ada Lovelace",
    "Li Wei",
    "王小明",
    "陈静",
    "García, José",
    "O'Brien, Niamh",
    "Müller, Jörg",
    "Nguyễn Văn An",
    "Anna-Lena Groß",
    "山田太郎",
    "Иван Петров",
    "Fatima al-Zahra",
    "Sam",
    "Zoë Kravitz",
    "Smith, John Jr.",
    "..evil",
    "=cmd",
    "Łukasz Nowak",
    "Åse Berg",
    "Ólafur Arnalds",
    "Mary Jane",
    "Chidi Okafor",
    "김민준",
    "Priya Sharma",
    "Tom (the second)",
    "Ann",
    "Bo",
    "Cy",
    "Di",
    "Ed",
    "Flo",
    "Gus",
    "Hal",
    "Ivy",
    "Jo",
    "Kit",
    "Liv",
    "Max",
    "Ned",
    "Oz",
]
DUE = 1_790_000_000


def build(folder: Path, key: str, name: str = "attention"):
    """Write the class; student -> (statuses that may stand in the row, score or None where any below 100 will do)."""
    folder.mkdir(parents=True, exist_ok=True)
    expected = {}
    students = iter(NAMES)

    def hand_in(content, statuses, score, *, suffix=".ipynb", student=None, moment=DUE - 3600):
        who = student or next(students)
        data = (
            content
            if isinstance(content, bytes)
            else (content if isinstance(content, str) else json.dumps(content)).encode()
        )
        path = folder / f"{who}{suffix}"
        path.write_bytes(data)
        os.utime(path, (moment, moment))
        expected[who] = (statuses, score)
        return who

    right = solved(name, key)
    for _ in range(10):
        hand_in(right, {"graded"}, 100)
    for change in (
        "checks_deleted",
        "metadata_stripped",
        "answer_cells_doubled",
        "split_inside_a_definition",
        "aliases",
        "merged_into_one_cell",
        "windows_line_ends",
        "empty_stub_after_the_answer",
    ):
        hand_in(manglings.MANGLINGS[change](solved(name, key)), {"graded"}, 100)
    hand_in(manglings.MANGLINGS["as_a_python_file"](solved(name, key)), {"graded"}, 100, suffix=".py")
    wrong = list(specimens_in(HERE / name / "mutants" / "hand.py"))[:8]
    for specimen in wrong:
        hand_in(answered(name, key, "", specimen.code), {"graded", "partly"}, None)
    hand_in(blank(name, key), {"graded", "partly"}, 0)
    hand_in(_as_markdown(solved(name, key)), {"nothing"}, 0)
    hostile = {specimen.name: specimen.code for specimen in specimens_in(HERE / "attacks" / "running.py")}
    hand_in(answered(name, key, hostile["exit while the definitions run"]), {"nothing", "partly"}, 0)
    hand_in(answered(name, key, hostile["fork bomb"]), {"graded", "partly"}, 0)
    hand_in(b"%PDF-1.7 report", {"unreadable"}, 0, suffix=".pdf")
    hand_in('{"cells": [{"cell_type": "code", "sou', {"unreadable"}, 0)
    hand_in(b"", {"unreadable"}, 0)
    hand_in({"cells": [{"cell_type": "markdown", "source": "I was ill."}]}, {"unreadable"}, 0)
    twice = hand_in(blank(name, key), {"graded"}, 100)
    hand_in(right, {"graded"}, 100, suffix=" (1).ipynb", student=twice, moment=DUE - 60)
    hand_in(right, {"graded"}, 90, moment=DUE + 3600)
    hand_in(right, {"graded"}, 70, moment=DUE + 2 * 86400 + 60)
    for _ in students:
        break
    left = [who for who in NAMES if who not in expected]
    for who in left:
        hand_in(right, {"graded"}, 100, student=who)
    assert len(expected) == 40
    return expected


def _as_markdown(notebook):
    for cell in notebook["cells"]:
        if manglings.is_answer(cell):
            cell["cell_type"] = "markdown"
    return notebook
