"""One sandbox for all tests of a process. What strangers wrote is text here: it is never collected, never imported."""

import shutil

import pytest

collect_ignore_glob = ["*/checks.py", "attacks/*", "*/correct/*", "*/mutants/*"]


@pytest.fixture(scope="session")
def worker():
    """A sandbox in bubblewrap, as graders have it."""
    if shutil.which("bwrap") is None:
        pytest.skip("needs bubblewrap (apt-get install bubblewrap)")
    from attention_lib.coursework.sandbox import (
        Worker,
    )  # not earlier: tests/conftest.py watches the library's annotations

    made = Worker("bubblewrap")
    yield made
    made.stop()


@pytest.fixture
def isolated():
    if shutil.which("bwrap") is None:
        pytest.skip("needs bubblewrap (apt-get install bubblewrap)")
