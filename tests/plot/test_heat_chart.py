"""Heat maps: the number in a cell is the number given, rows stay rows, and one scale is shared."""

import numpy as np
import pytest
import torch

from attention_lib import plot
from attention_lib.plot.style import SIGNED_MAP, WEIGHTS_MAP

TITLES = {"row_title": "query", "column_title": "key", "alt": "a test"}


def cells(ax) -> list[list[str]]:
    """The texts inside the cells by row; names around the cells are annotations and are not counted."""
    found = [(t.get_position()[1], t.get_position()[0], t.get_text()) for t in ax.texts if type(t).__name__ == "Text"]
    rows = sorted({y for y, _, _ in found})
    return [[text for y, _, text in sorted(found) if y == row] for row in rows]


def names(ax) -> list[str]:
    return [t.get_text() for t in ax.texts if type(t).__name__ == "Annotation"]


def test_rows_and_columns_are_not_swapped():
    weights = torch.tensor([[0.5, 0.25, 0.25], [0.125, 0.0, 0.875]], dtype=torch.bfloat16, requires_grad=True)
    ax = plot.heatmap(weights, value_format=".3f", row_labels="ab", column_labels="xyz", **TITLES).figure.axes[0]
    assert cells(ax) == [["0.500", "0.250", "0.250"], ["0.125", "0.000", "0.875"]]
    assert names(ax) == ["x", "y", "z", "key", "a", "b", "query"]


def test_colours_run_from_vmin_to_the_largest():
    patches = plot.heatmap([[0.0, 0.5]], **TITLES).figure.axes[0].patches
    assert [patch.get_facecolor() for patch in patches] == [WEIGHTS_MAP(0.0), WEIGHTS_MAP(1.0)]


def test_signed_scale_is_symmetric_about_zero():
    patches = plot.heatmap([[-1.0, 0.0, 2.0]], signed=True, **TITLES).figure.axes[0].patches
    assert [patch.get_facecolor() for patch in patches] == [SIGNED_MAP(share) for share in (0.25, 0.5, 1.0)]


def test_several_share_one_scale():
    figure = plot.heatmaps({"raw": [[4.0, 0.0]], "scaled": [[2.0, 0.0]]}, **TITLES).figure
    assert [ax.patches[0].get_facecolor() for ax in figure.axes] == [WEIGHTS_MAP(1.0), WEIGHTS_MAP(0.5)]
    assert [names(ax)[-1] for ax in figure.axes] == ["raw", "scaled"]


def test_a_blocked_score_is_an_empty_cell():
    ax = plot.heatmap([[1.5, -np.inf]], signed=True, **TITLES).figure.axes[0]
    assert cells(ax) == [["1.50"]]
    assert ax.patches[1].get_facecolor()[3] == 0


def test_no_negative_zero_and_no_leading_zero_in_narrow_cells():
    ax = plot.heatmap(np.full((1, 13), -0.001), signed=True, vmax=1.0, row_labels=["a name"], **TITLES).figure.axes[0]
    assert cells(ax) == [[".00"] * 13]


def test_booleans_and_constant_matrices_are_drawn():
    ax = plot.heatmap(torch.ones(2, 3, dtype=torch.bool), value_format=".0f", **TITLES).figure.axes[0]
    assert cells(ax) == [["1"] * 3] * 2
    assert plot.heatmap([[0.0]], **TITLES).svg()


def test_large_matrices_become_one_image_with_a_colour_bar_and_stay_small():
    weights = np.random.default_rng(7).dirichlet(np.ones(61), 59)
    picture = plot.heatmap(weights, vmin=0, **TITLES)
    matrix, bar = picture.figure.axes
    assert matrix.images[0].get_array().shape == (59, 61, 4)
    assert bar.get_xticks().tolist() == [0.0, weights.max()]
    assert len(picture.html()) < 30_000


def test_the_largest_numbered_matrix_stays_small():
    tokens = [f"token {i}" for i in range(12)]
    weights = np.random.default_rng(7).dirichlet(np.ones(12), 12)
    assert len(plot.heatmap(weights, row_labels=tokens, column_labels=tokens, **TITLES).html()) < 30_000


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("matrix", "options", "message"),
    [
        ([1.0, 2.0], {}, r"matrix needs 2 axes, not 1; its shape is \(2,\)"),
        (np.zeros((2, 3, 5)), {}, r"matrix needs 2 axes, not 3; its shape is \(2, 3, 5\)"),
        (np.zeros((0, 3)), {}, r"matrix is empty; its shape is \(0, 3\)"),
        ([[1.0, np.nan]], {}, r"matrix holds NaN at index \(0, 1\)"),
        ([[np.inf]], {}, r"matrix holds \+inf at index \(0, 0\)"),
        ([[1.0, 2.0]], {"row_labels": "abc"}, "row_labels has length 3 but the matrix has 1 rows"),
        ([[1.0, 2.0]], {"column_labels": "abc"}, "column_labels has length 3 but the matrix has 2 columns"),
        ([[1.0, -2.0]], {}, "vmin=0 but the smallest value is -2; pass signed=True or a lower vmin"),
    ],
)
def test_heatmap_refuses(matrix, options, message):
    with pytest.raises(ValueError, match=message):
        plot.heatmap(matrix, **TITLES, **options)


@pytest.mark.bad_input
def test_heatmaps_refuse_different_shapes_and_no_columns():
    with pytest.raises(ValueError, match=r"matrices\['b'\] has shape \(1, 3\) but matrices\['a'\] has \(1, 2\)"):
        plot.heatmaps({"a": [[1, 2]], "b": [[1, 2, 3]]}, **TITLES)
    with pytest.raises(ValueError, match="columns=0 is not at least 1"):
        plot.heatmaps({"a": [[1, 2]]}, columns=0, **TITLES)
