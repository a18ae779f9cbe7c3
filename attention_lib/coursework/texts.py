"""What every released notebook and page says: conventions, points, how to open it, how to hand it in."""

from __future__ import annotations

import re
from typing import Any

from attention_lib.coursework.model import Assignment
from attention_lib.coursework.variants import variant_text
from attention_lib.errors import OptionError

__all__ = ["ABOUT", "HAND_IN", "HAND_IN_WRITTEN", "OPEN_KEY", "Texts"]

OPEN_KEY = "open"  # the course key of the notebooks that the book itself publishes
_PLACE = re.compile(r"@@(\w+)@@")
_UPLOAD = "https://colab.research.google.com/#upload=true"
_RULES = (
    "The letters are the book's: B sequences in a batch, H heads, L queries, S keys; queries and keys are d_k wide, "
    "values d_v. Use torch, but no ready-made attention of torch or of this library: neither is there when your code "
    "is graded."
)
_KEEP = "# Tells `check` the conventions of your course. Leave it as it is."
_WHERE = "In Colab, open the folder symbol on the left to find and download it."
HAND_IN = (
    "## Hand in\n\nThe last cell runs your definitions from a clean state, tells how many public checks they pass, and "
    f"writes one file. {_WHERE} Hand in that file, or this notebook: both are graded alike. The grader draws other "
    "inputs than the checks here do."
)
HAND_IN_WRITTEN = (
    f"## Hand in\n\nRun every cell, then the last one: it writes one file. {_WHERE} Hand in that file, or this "
    "notebook. A person reads your answers."
)
ABOUT = (
    "The conventions below are those of the open notebook; a course draws its own, so read yours. "
    "[Teaching with this book](../teaching.md) tells teachers how."
)


class Texts:
    """Fills the places in Markdown, and writes the cells that every notebook has."""

    def __init__(self, assignment: Assignment, variant: dict[str, Any], book: Any) -> None:
        self.assignment, self.variant, self.book = assignment, variant, book

    def filled(self, text: str, chapter: str) -> str:
        told = {
            "conventions": f"{variant_text(self.variant)}\n\n{_RULES}",
            "points": f"{self.assignment.points:g}",
            "minutes": str(self.assignment.minutes),
            "chapter": chapter,
            "goals": "\n".join(f"- {goal}" for goal in self.assignment.goals),
            "rubric": self.rubric(),
            **{name: str(value) for name, value in self.variant.items()},
        }

        def fill(match: re.Match[str]) -> str:
            if match[1] not in told:
                raise OptionError(f"{self.assignment.id}/source.md: @@{match[1]}@@ is not one of {', '.join(told)}")
            return told[match[1]]

        return _PLACE.sub(fill, text)

    def rubric(self) -> str:
        """The rubric without what earns the points: points for each answer."""
        rows = [f"- `{name}`: {sum(p for p, _ in parts):g} points" for name, parts in self.assignment.rubric.items()]
        return "\n".join(rows)

    @property
    def chapter_name(self) -> str:
        return f"chapters/{self.assignment.chapter}"

    @property
    def colab(self) -> str:
        owner, name = self.book.repository_url.split("/")[-2:]
        place = f"chapters/coursework/{self.assignment.id}.ipynb"
        return f"https://colab.research.google.com/github/{owner}/{name}/blob/{self.book.notebook_branch}/{place}"

    def opening(self) -> str:
        """How to open it in Colab: by the book's address only where the book's own copy has the same conventions."""
        if self.variant == self.assignment.variant(OPEN_KEY):
            return f"[Open in Colab]({self.colab})"
        return f"To work in Colab, open [colab.research.google.com]({_UPLOAD}) and upload this file."

    @property
    def number(self) -> int:
        return self.book.chapter_number(self.chapter_name)

    def setup(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self.variant.items())
        return (
            "import torch\n\nfrom attention_lib.coursework import assignment, check, submission\n\n"
            f"{_KEEP}\nassignment({self.assignment.id!r}, {options})"
        )
