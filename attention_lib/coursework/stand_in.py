"""Stands for ``attention_lib.coursework`` inside the sandbox: the names that notebooks import, doing nothing.

The real library is not there: what a student hands in is the student's own.
"""

__all__ = ["assignment", "check", "submission"]


def assignment(*_args, **_options):
    """Does nothing here."""


check = submission = assignment
