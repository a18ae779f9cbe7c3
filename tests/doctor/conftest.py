"""The corpus is loaded by ``specimens``; it holds no tests and no doctests."""

import pytest

collect_ignore = ["wrong", "correct"]
LARGE = ("test_corpus", "test_mutants")


@pytest.fixture(autouse=True)
def _no_shape_checks_on_the_large_runs(request):
    """They would take three times as long; the doctor's other tests call the same functions with the checks on."""
    if request.module.__name__ not in LARGE or request.config.getoption("no_shape_checks"):
        yield
        return
    config = pytest.importorskip("jaxtyping").config
    before = config.jaxtyping_disable
    config.update("jaxtyping_disable", True)
    yield
    config.update("jaxtyping_disable", before)
