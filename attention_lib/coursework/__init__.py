"""Coursework: assignments that name the student's mistake, and a grader that is safe to run on strangers' code.

Students use ``check`` and ``submission``; teachers ``python -m attention_lib.coursework --help``.
"""

from attention_lib.coursework.checking import assignment, check
from attention_lib.coursework.submit import submission

__all__ = ["assignment", "check", "submission"]
