"""Code is found by the names it defines, and nothing else is run."""

import ast

import pytest

from attention_lib.coursework.extract import bound_names, needed_statements, statements_of


def kept(cells, *wanted):
    statements, troubles = statements_of(cells)
    return "\n".join(ast.unparse(one) for one in needed_statements(statements, wanted)), troubles


def test_helpers_constants_and_imports_come_along_and_nothing_else():
    text, troubles = kept(
        ["import math, os\nimport torch", "EPS = 1e-9\nEXTRA = 2\ndef helper(x):\n    return x + EPS", "print(EXTRA)",
         "def f(x):\n    return helper(math.sqrt(x))", "f(3)\nloss = [f(i) for i in range(10**9)]"], "f",
    )  # fmt: skip
    assert troubles == []
    assert text.splitlines()[:2] == ["import math, os", "EPS = 1e-09"]
    assert "EXTRA" not in text
    assert "print" not in text
    assert "loss" not in text
    assert "import torch" not in text


def test_the_last_definition_wins_but_a_stub_does_not():
    cells = [
        "def f():\n    return 1",
        "def f():\n    return 2",
        "def f():\n    '''doc'''\n    raise NotImplementedError('your code here')",
    ]
    text, _ = kept(cells, "f")
    scope = {}
    exec(text, scope)
    assert scope["f"]() == 2


def test_a_stub_alone_stays_a_stub():
    text, _ = kept(["def f():\n    ..."], "f")
    assert "def f" in text


def test_attributes_belong_to_their_class_and_conditions_are_kept_whole():
    text, _ = kept(
        ["class A:\n    pass", "A.forward = lambda self: 1", "if True:\n    f = A().forward\nelse:\n    f = None"], "f"
    )
    scope = {}
    exec(text, scope)
    assert scope["f"]() == 1


@pytest.mark.parametrize(
    "cell", ["%matplotlib inline\nx = 1", "!ls\nx = 1", "x = 1\ntorch.sum?", "%%time\nx = 1", "x = 1\r\n%time y"]
)
def test_ipythons_own_lines_are_no_trouble(cell):
    text, troubles = kept([cell], "x")
    assert troubles == []
    assert text == "x = 1"


def test_a_definition_split_over_cells_is_joined_forward_and_backward():
    forward, troubles = kept(["def f(a,", "      b):\n    return a"], "f")
    assert (troubles, "return a" in forward) == ([], True)
    backward, troubles = kept(["def f(a):\n    b = a", "    return b"], "f")
    assert (troubles, "return b" in backward) == ([], True)


def test_a_cell_that_cannot_be_read_is_named_and_skipped():
    text, troubles = kept(["def f(:", "def g():\n    return 1"], "g")
    assert "def g" in text
    assert len(troubles) == 1
    assert troubles[0].startswith("cell 1 cannot be read")


@pytest.mark.bad_input
@pytest.mark.parametrize("cell", ["(" * 3000, "x = " + "-" * 50000 + "1", "\x00", "'" * 3])
def test_hostile_text_is_trouble_not_a_crash(cell):
    _, troubles = kept([cell], "x")
    assert len(troubles) == 1


def test_bound_names_do_not_look_into_functions():
    assert bound_names(ast.parse("def f():\n    y = 1").body[0]) == {"f"}
    assert bound_names(ast.parse("a, (b, c.d) = 1, (2, 3)").body[0]) == {"a", "b", "c"}
