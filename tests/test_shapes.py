"""The library works where jaxtyping is not installed: its annotations are then transparent."""

import importlib.util
import sys

import pytest
from torch import Tensor

from attention_lib import shapes


def load_shapes():
    spec = importlib.util.spec_from_file_location("shapes_read_again", shapes.__file__)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_without_jaxtyping_an_annotation_is_its_type(monkeypatch):
    monkeypatch.setitem(sys.modules, "jaxtyping", None)
    stand_in = load_shapes()
    for name in stand_in.__all__:
        assert getattr(stand_in, name)[Tensor, "B L d_model"] is Tensor


def test_with_jaxtyping_it_is_jaxtypings():
    jaxtyping = pytest.importorskip("jaxtyping")
    assert shapes.Float is jaxtyping.Float
    assert load_shapes().Bool is jaxtyping.Bool
