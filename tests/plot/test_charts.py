"""Lines, histograms, bars, vectors: what is drawn for small numbers, and what is refused."""

import numpy as np
import pytest
import torch

from attention_lib import plot
from attention_lib.plot.canvas import spread, text_width, wrapped
from attention_lib.plot.style import ROLES

NAN = float("nan")
AXES = {"x_label": "step", "y_label": "loss", "alt": "a test"}


def texts(picture: plot.Picture) -> list[str]:
    found = [text.get_text() for ax in picture.figure.axes for text in ax.texts]
    return [text for text in found if text]


def test_lines_draw_the_numbers_given():
    ax = plot.lines({"a": ([2, 3, 5], [7, 11, 13])}, **AXES).figure.axes[0]
    assert ax.lines[0].get_xydata().tolist() == [[2, 7], [3, 11], [5, 13]]
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == ("step", "loss", "")


@pytest.mark.parametrize(("middle", "expected"), [("median", [2.0, 5.0]), ("mean", [3.0, 6.0])])
def test_seeds_become_a_line_in_a_band(middle, expected):
    seeds = torch.tensor([[1.0, 4.0], [2.0, 5.0], [6.0, 9.0]], requires_grad=True)
    ax = plot.lines({"a": ([2, 3], seeds)}, middle=middle, **AXES).figure.axes[0]
    assert ax.lines[0].get_ydata().tolist() == expected
    band = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert (band.min(), band.max()) == (1.0, 9.0)


def test_names_stand_at_the_ends_and_do_not_overlap():
    names = {name: ([1, 2], [0.0, 0.01 * i]) for i, name in enumerate("abcde")}
    picture = plot.lines(names, reference={"chance": 0.02}, **AXES)
    assert texts(picture) == [*"abcde", "chance"]
    ax = picture.figure.axes[0]
    heights = sorted(t.get_position()[1] * ax.get_window_extent().height for t in ax.texts)
    assert np.diff(heights).min() >= 12.4


def test_series_named_after_a_role_takes_its_colour():
    ax = plot.lines({"a": ([1, 2], [1, 2]), "key": ([1, 2], [2, 3])}, **AXES).figure.axes[0]
    assert ax.lines[1].get_color() == ROLES["key"]


def test_few_logarithmic_x_are_their_own_ticks():
    ax = plot.lines({"a": ([1, 16, 1024], [1, 2, 3])}, x_log=True, **AXES).figure.axes[0]
    assert [t.get_text() for t in ax.get_xticklabels()] == ["1", "16", "1024"]


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("series", "options", "message"),
    [
        ({"a": ([1, 2, 3], [1, 2])}, {}, r"x of series\['a'\] has length 3 but y of series\['a'\] has length 2"),
        ({"a": ([1, 2], np.ones((5, 3)))}, {}, r"x of series\['a'\] has length 2 but y .* has length 3"),
        ({"a": ([1, 2], [1, NAN])}, {}, r"y of series\['a'\] holds NaN at index \(1,\)"),
        ({"a": ([1, 2], [1, np.inf])}, {}, r"y of series\['a'\] holds \+inf at index \(1,\)"),
        ({"a": ([[1, 2]], [1, 2])}, {}, r"x of series\['a'\] needs 1 axes, not 2; its shape is \(1, 2\)"),
        ({"a": ([], [])}, {}, r"x of series\['a'\] is empty"),
        ({"a": [1, 2, 3]}, {}, r"series\['a'\] must be a pair \(x, y\), got list"),
        ([1, 2], {}, "series must map names to numbers, got list"),
        ({}, {}, "series is empty"),
        ({str(i): ([1], [1]) for i in range(11)}, {}, "series has 11 entries but at most 8"),
        ({"a": ([0, 1], [1, 1])}, {"x_log": True}, r"x_log=True needs x above 0, but x of series\['a'\] holds 0"),
        ({"a": ([1, 2], [1, -3])}, {"y_log": True}, r"y_log=True needs y above 0, but y of series\['a'\] holds -3"),
        ({"a": ([1], [1])}, {"y_log": True, "reference": {"c": 0}}, r"needs y above 0, but reference\['c'\] is 0"),
        ({"a": ([1], [1])}, {"middle": "mode"}, "middle='mode' is not known; choose 'median' or 'mean'"),
    ],
)
def test_lines_refuse(series, options, message):
    with pytest.raises(ValueError, match=message):
        plot.lines(series, **AXES, **options)


def test_histograms_share_bins_and_have_area_one():
    samples = {"raw": np.arange(-11.0, 13.0), "scaled": np.arange(-1.0, 1.0, 0.25)}
    ax = plot.histograms(samples, x_label="score", alt="a test", bins=7).figure.axes[0]
    first, second = (ax.patches[i].get_data() for i in (1, 3))  # each sample: filled, then its outline
    assert first.edges.tolist() == second.edges.tolist()
    for outline in (first, second):
        assert (outline.values * np.diff(outline.edges)).sum() == pytest.approx(1.0)


def test_histograms_below_one_another_have_an_axes_each():
    picture = plot.histograms({"a": [1, 2], "b": [3], "c": [5]}, x_label="score", alt="a test", overlaid=False)
    assert texts(picture) == ["a", "b", "c"]
    assert len({ax.get_xlim() for ax in picture.figure.axes}) == 1


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("samples", "bins", "message"),
    [
        ({"a": [1.0, NAN]}, 5, r"samples\['a'\] holds NaN at index \(1,\)"),
        ({"a": []}, 5, r"samples\['a'\] is empty; its shape is \(0,\)"),
        ({"a": [1.0]}, 0, "bins=0 is not at least 1"),
        ({"a": [1.0]}, [3.0, 2.0], "bins must be at least 2 rising edges, got 2 from 3 to 2"),
        ({str(i): [1.0] for i in range(5)}, 5, "samples has 5 entries but at most 4"),
    ],
)
def test_histograms_refuse(samples, bins, message):
    with pytest.raises(ValueError, match=message):
        plot.histograms(samples, x_label="score", alt="a test", bins=bins)


def test_bars_write_names_numbers_and_references():
    picture = plot.bars([0.25, -1.5], labels=["one", "two"], x_label="change", alt="a test", reference={"none": 0})
    assert texts(picture) == ["0.25", "−1.50", "none"]
    assert [patch.get_width() for patch in picture.figure.axes[0].patches] == [0.25, -1.5]


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("values", "ranges", "message"),
    [
        ([1, 2, 3], None, "values has length 3 but labels has length 2"),
        ([1, NAN], None, r"values holds NaN at index \(1,\)"),
        ([[1, 2]], None, r"values needs 1 axes, not 2; its shape is \(1, 2\)"),
        ([1, 2], ([1, 2], [1, 2, 3]), r"values has length 2 but ranges\[1\] has length 3"),
        ([1, 2], ([1, 1], [1, 1.5]), r"values\[1\]=2 lies outside its range from 1 to 1.5"),
        ([1, 2], ([1, 1],), r"ranges must be a pair \(lowest, highest\), got 1"),
    ],
)
def test_bars_refuse(values, ranges, message):
    with pytest.raises(ValueError, match=message):
        plot.bars(values, labels=["a", "b"], x_label="x", alt="a test", ranges=ranges)


def test_vectors_have_one_unit_on_both_axes_and_colours_by_role():
    picture = plot.vectors({"query": [2, 1], "key 1": [-3, 5], "sum": [1, 1]}, alt="a test", roles={"sum": "value"})
    ax = picture.figure.axes[0]
    area = ax.get_window_extent()
    assert area.width / np.ptp(ax.get_xlim()) == pytest.approx(area.height / np.ptp(ax.get_ylim()))
    shafts = [line.get_color() for line in ax.lines if len(line.get_xdata()) == 2 and line.get_linewidth() > 2]
    assert shafts == [ROLES["query"], ROLES["key"], ROLES["value"]]
    assert texts(picture) == ["query", "sum", "key 1"]


def test_a_zero_vector_is_a_dot():
    assert plot.vectors({"query": [0, 0]}, alt="a test").svg()


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("named", "roles", "message"),
    [
        ({"a": [1, 2, 3]}, None, r"named_vectors\['a'\] has shape \(3,\), but a plane needs \(2,\)"),
        ({"a": [1, NAN]}, None, r"named_vectors\['a'\] holds NaN at index \(1,\)"),
        ({"a": [1, 2]}, {"b": "key"}, "roles names 'b', but named_vectors holds only a"),
        ({"a": [1, 2]}, {"a": "keys"}, "role='keys' is not known"),
    ],
)
def test_vectors_refuse(named, roles, message):
    with pytest.raises(ValueError, match=message):
        plot.vectors(named, alt="a test", roles=roles)


def test_spread_keeps_order_distance_and_range():
    wanted = [3.0, 3.0, 2.9, 50.0, -20.0]
    placed = spread(wanted, [4.0] * 5, 0.0, 60.0)
    assert np.diff(np.sort(placed)).min() >= 4.0 - 1e-9
    assert (np.argsort(placed, kind="stable") == np.argsort(wanted, kind="stable")).all()
    assert placed[3] == 50.0
    assert placed.min() == 2.0


def test_wrapped_text_loses_nothing():
    assert wrapped("LSTM with forget bias 1").split() == ["LSTM", "with", "forget", "bias", "1"]
    assert text_width("wide words", 11) < text_width("wider words", 11)
