"""One torch thread, fixed seeds, and shape annotations that are checked while the tests run.

``pytest`` runs everything. Every annotation of ``attention_lib`` is checked on every call, except in tests marked
``bad_input``: they pass what the library itself must refuse, so there the checks are off for the length of the test.
``--no-shape-checks`` turns them off everywhere.
"""

import importlib.util
import random
import sys
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from hypothesis import settings

settings.register_profile("thrifty", max_examples=20, derandomize=True, deadline=None, database=None)
settings.load_profile("thrifty")


def pytest_addoption(parser):
    parser.addoption(
        "--no-shape-checks", action="store_true", help="do not check the annotations of attention_lib while tests run"
    )


def pytest_configure(config):
    torch.set_num_threads(1)
    if _why_unchecked(config):
        return
    if "attention_lib" in sys.modules:
        raise pytest.UsageError("attention_lib was imported before tests/conftest.py could watch its annotations")
    import jaxtyping

    jaxtyping.install_import_hook("attention_lib", "type_checker.check_types")


def pytest_report_header(config):
    reason = _why_unchecked(config)
    return f"attention_lib: annotations {f'not checked ({reason})' if reason else 'checked, except in bad_input tests'}"


def pytest_collection_modifyitems(items):
    if torch.cuda.is_available():
        return
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(pytest.mark.skip(reason="needs a CUDA device: torch.cuda.is_available() is False"))


@pytest.fixture(autouse=True)
def _same_seed_for_every_test():
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)


@pytest.fixture(autouse=True)
def _no_shape_checks_for_bad_input(request):
    if not request.node.get_closest_marker("bad_input") or _why_unchecked(request.config):
        yield
        return
    with _checks_off():
        yield


@contextmanager
def _checks_off():
    from jaxtyping import config

    before = config.jaxtyping_disable
    config.update("jaxtyping_disable", True)
    try:
        yield
    finally:
        config.update("jaxtyping_disable", before)


def _why_unchecked(config):
    """Empty when annotations are checked, else the reason why not."""
    if config.getoption("no_shape_checks"):
        return "--no-shape-checks"
    missing = [name for name in ("jaxtyping", "beartype") if importlib.util.find_spec(name) is None]
    return f"{' and '.join(missing)} not installed" if missing else ""
