"""Finds exercises by their number: those of chapter 4 lie in ``chapter_04.EXERCISES``."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

from attention_lib.errors import OptionError
from attention_lib.exercises.exercise import Implement, Predict

__all__ = ["all_exercises", "find_exercise"]


def all_exercises() -> dict[str, Predict | Implement]:
    """Every exercise of every chapter, by its number."""
    room = [str(Path(__file__).parent)]
    chapters = sorted(found.name for found in pkgutil.iter_modules(room) if found.name.startswith("chapter_"))
    modules = [importlib.import_module(f"{__package__}.{chapter}") for chapter in chapters]
    return {name: exercise for module in modules for name, exercise in module.EXERCISES.items()}


def find_exercise(name: object) -> Predict | Implement:
    """The exercise of that number.

    Raises:
        OptionError: There is none; the message names those that exist.
    """
    exercises = all_exercises()
    if not isinstance(name, str) or name not in exercises:
        quoted = f'; write its number in quotes: "{name}"' if isinstance(name, float) else ""
        raise OptionError(f"there is no exercise {name!r}{quoted}; known are {', '.join(exercises)}")
    return exercises[name]
