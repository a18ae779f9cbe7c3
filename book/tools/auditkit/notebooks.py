"""Notebooks: mangled by students, and searched for solutions before they are handed out."""

import json

from tqdm import tqdm

from auditkit.places import TESTS

import corpora  # isort: skip

from attention_lib.coursework.marking import mark
from attention_lib.coursework.model import load_assignment


def mangled(worker, settings):
    """Every mangling of a right notebook."""
    import manglings
    import student_notebooks

    from attention_lib.coursework.reading import read_cells

    about, changed = load_assignment(TESTS / "attention"), {}
    for name, change in tqdm(manglings.MANGLINGS.items(), "manglings", disable=None):
        made = change(student_notebooks.solved("attention", "audit"))
        content = made if isinstance(made, bytes) else (made if isinstance(made, str) else json.dumps(made)).encode()
        score = mark(about, about.variant("audit"), read_cells(content)[0], worker, seed=3).score
        if score != 100:
            changed[name] = score
    return {"manglings": len(manglings.MANGLINGS), "scores that changed": changed}


def leaks(worker, settings):
    """Planted leaks found, and alarms on clean releases under twenty keys."""
    import planted
    import student_notebooks

    from attention_lib.coursework.leaks import secrets_of
    from attention_lib.coursework.release import release

    secrets = secrets_of(TESTS / "attention")
    unseen = [
        name
        for name, plant in planted.PLANTED.items()
        if not secrets.leaks(json.dumps(plant(student_notebooks.blank("attention", "audit"))), "notebook")
    ]
    alarms, clean = [], 0
    for name in tqdm((*corpora.GRADED, "written"), "leaks", disable=None):
        about, own = load_assignment(TESTS / name), secrets_of(TESTS / name)
        for number in range(20):
            made = release(TESTS / name, about.variant(f"leak {number}"))
            clean += 1
            alarms += [
                f"{name}: {leak.what}" for leak in own.leaks(made.notebook, "notebook") + own.leaks(made.page, "page")
            ]
    return {"planted": len(planted.PLANTED), "not found": unseen, "clean releases": clean, "false alarms": alarms}
