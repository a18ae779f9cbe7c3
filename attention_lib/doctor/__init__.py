"""The attention doctor: says in plain words which known mistake an attention makes.

``diagnose(candidate)`` examines anyone's function or module; ``assert_healthy(candidate)`` does so in a test;
``python -m attention_lib.doctor path.py:Name`` does so from a terminal.
"""

from attention_lib.doctor.diagnose import KINDS, diagnose
from attention_lib.doctor.findings import Diagnosis, Finding
from attention_lib.doctor.healthy import assert_healthy
from attention_lib.doctor.mistakes import CATALOGUE

__all__ = ["CATALOGUE", "KINDS", "Diagnosis", "Finding", "assert_healthy", "diagnose"]
