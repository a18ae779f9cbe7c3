"""Starts a new assignment: a source and checks that already release, grade and verify."""

from __future__ import annotations

import re
import secrets
from pathlib import Path

from attention_lib.errors import OptionError

__all__ = ["scaffold"]

_SOURCE = '''---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---

# TITLE

*@@points@@ points, about @@minutes@@ minutes, after @@chapter@@.* When you are done, you can

@@goals@@

Say here what is asked, in a few sentences.

## Conventions

@@conventions@@

## Your function

```{code-cell} ipython3
:tags: [answer]
def FUNCTION(scores):
    """Weights of every row of scores."""
    ### BEGIN SOLUTION
    return torch.softmax(scores / VARIANT["temperature"], dim=-1)
    ### END SOLUTION
```

```{code-cell} ipython3
:tags: [check]
assert FUNCTION(torch.zeros(2, 4)).shape == (2, 4)
```

```{code-cell} ipython3
:tags: [hidden-check]
assert FUNCTION(torch.zeros(2, 4))[0, 0] == 0.25
```
'''

_CHECKS = '''"""Hidden checks. Never published. course-secret: NAME-MARK"""

import torch

from attention_lib.coursework.model import Assignment, Case, Check


def values(draw):
    L, S = draw.sizes(2)
    scores = draw.normal(L, S)
    expected = torch.softmax(scores / draw.variant["temperature"], dim=-1)
    return [Case("FUNCTION", (scores,), expected)]


ASSIGNMENT = Assignment(
    id="NAME",
    title="TITLE",
    chapter="05_softmax",
    minutes=30,
    goals=("say what a student can do afterwards",),
    functions={"FUNCTION": "scores"},
    switches=("temperature",),
    checks=(Check("values", 10, "weights, compared number by number", values),),
)
'''

_WRONG = """# %% no temperature | missing-temperature
import torch


def FUNCTION(scores):
    return torch.softmax(scores, dim=-2)
"""


def scaffold(course: Path, name: str, *, dry_run: bool = False) -> list[Path]:
    """Write the folder of a new assignment; nothing is overwritten.

    Args:
        course: The course folder.
        name: Id of the assignment: lower case, digits, underscores.
        dry_run: Write nothing, only say what would be written.

    Raises:
        OptionError: The name will not do, or the folder exists.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]{1,30}", name):
        raise OptionError(f"{name!r} cannot name an assignment; use lower-case letters, digits and _")
    folder = course / name
    if folder.exists():
        raise OptionError(f"{folder} exists already; choose another name or remove it")
    words = {
        "NAME": name,
        "MARK": secrets.token_hex(3),
        "FUNCTION": f"my_{name}",
        "TITLE": name.replace("_", " ").capitalize(),
    }
    texts = {"source.md": _SOURCE, "checks.py": _CHECKS, "mutants/wrong.py": _WRONG}
    for place, text in texts.items():
        for word, value in words.items():
            text = text.replace(word, value)
        if not dry_run:
            path = folder / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return [folder / place for place in texts]
