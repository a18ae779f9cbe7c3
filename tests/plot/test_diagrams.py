"""Diagrams: every count and shape in the picture follows from the arguments."""

import pytest

from attention_lib import plot
from attention_lib.plot import Box


def words(picture: plot.Picture) -> list[str]:
    return [text.get_text() for text in picture.figure.axes[0].texts if text.get_text()]


@pytest.mark.parametrize(("n", "steps", "pairs"), [(2, "1 step", 4), (7, "6 steps", 49), (53, "52 steps", 2809)])
def test_path_lengths_count_for_n(n, steps, pairs):
    picture = plot.path_lengths(n)
    said = " ".join(words(picture))
    assert f"token 1 reaches token {n} in {steps}" in said
    assert f"1 step; all {n} × {n} = {pairs} pairs" in said
    assert f"From token 1 to token {n}: {steps}" in picture.alt


def test_every_step_of_a_short_chain_is_numbered():
    assert [word for word in words(plot.path_lengths(5)) if word.isdigit()] == ["1", "2", "3", "4"]


def test_a_long_chain_leaves_out_its_middle_and_still_numbers_its_last_step():
    said = words(plot.path_lengths(53))
    assert said.count("…") == 3
    assert [word for word in said if word.isdigit()] == ["1", "2", "3", "51", "52"]


@pytest.mark.bad_input
@pytest.mark.parametrize("n", [1, 0, 2.5, True, "7"])
def test_path_lengths_refuse(n):
    with pytest.raises(ValueError, match=rf"n={n!r} is not a whole number from 2"):
        plot.path_lengths(n)


def test_projections_write_every_shape():
    said = words(plot.projections(5, 7, 3, 2))
    shapes = [word for word in said if word.startswith("(")]
    assert shapes == ["(5, 7)", "(7, 3)", "(7, 3)", "(7, 2)", "(5, 3)", "(5, 3)", "(5, 2)"]
    assert "by W_V (7, 2) to give V (5, 2)" in plot.projections(5, 7, 3, 2).alt


@pytest.mark.bad_input
def test_projections_refuse():
    with pytest.raises(ValueError, match="d_k=0 is not a whole number from 1"):
        plot.projections(5, 7, 0)


def test_alt_can_be_replaced_but_not_emptied():
    assert plot.projections(5, 7, 3, alt="three products").alt == "three products"
    with pytest.raises(ValueError, match="alt='' is empty"):
        plot.path_lengths(5, alt="")


def test_equal_levels_join_one_to_one_and_others_each_to_each():
    three = [Box(name, role=role) for name, role in (("Q", "query"), ("K", "key"), ("V", "value"))]
    ax = plot.flow([[Box("X")], three, three, [Box("output")]], alt="a test").figure.axes[0]
    assert len([text for text in ax.texts if getattr(text, "arrow_patch", None)]) == 9


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ([], "levels is empty"),
        ([[Box("a")], []], r"levels\[1\] has 0 boxes; 1 to 5 fit"),
        ([[Box("a")] * 2, [Box("b")] * 3], r"levels\[0\] has 2 boxes but levels\[1\] has 3; one of them must be 1"),
        ([[Box("a", role="head")]], "role='head' is not known"),
    ],
)
def test_flow_refuses(levels, message):
    with pytest.raises(ValueError, match=message):
        plot.flow(levels, alt="a test")
