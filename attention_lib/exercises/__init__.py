"""The exercises of the chapters, and the check that answers each attempt on the spot."""

from attention_lib.exercises.check import Verdict, check

__all__ = ["Verdict", "check"]
