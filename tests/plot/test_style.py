"""Colours: every mark passes 3:1 on white and on the dark page, every number in a cell 4.5:1."""

from itertools import pairwise

import numpy as np
import pytest

from attention_lib.plot.style import (
    INK,
    MARKS,
    PALETTE,
    ROLES,
    SIGNED_MAP,
    WEIGHTS_MAP,
    contrast,
    luminance,
    mark_for,
    role_color,
    styled,
    text_on,
)

WHITE, DARK, DARK_INK = "#ffffff", "#121212", "#ced6dd"


def test_contrast_of_known_pairs():
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == contrast("#ffffff", "#777777") == pytest.approx(4.478, abs=1e-3)


@pytest.mark.parametrize("paper", [WHITE, DARK])
@pytest.mark.parametrize("name", PALETTE)
def test_palette_passes_three_to_one(name, paper):
    assert contrast(PALETTE[name], paper) >= 3.0


def test_ink_reads_as_text_on_white_and_the_pages_ink_on_dark():
    assert contrast(INK, WHITE) >= 7.0
    assert contrast(DARK_INK, DARK) >= 7.0


@pytest.mark.parametrize("colors", [WEIGHTS_MAP, SIGNED_MAP])
def test_numbers_read_on_every_shade(colors):
    shades = [colors(share) for share in np.linspace(0, 1, 101)]
    assert min(contrast(text_on(shade), shade) for shade in shades) >= 4.5


def test_weights_darken_all_the_way():
    shades = [luminance(WEIGHTS_MAP(share)) for share in np.linspace(0, 1, 31)]
    assert all(a > b for a, b in pairwise(shades))


def test_signed_is_lightest_in_the_middle():
    shades = [luminance(SIGNED_MAP(share)) for share in np.linspace(0, 1, 31)]
    assert int(np.argmax(shades)) == 15


def test_no_series_is_told_by_colour_alone():
    assert len({mark.marker for mark in MARKS}) == len(MARKS)
    assert len({str(mark.dashes) for mark in MARKS}) == len(MARKS)


def test_the_four_roles_have_four_colours_and_a_series_named_after_one_takes_it():
    assert len(set(ROLES.values())) == len(ROLES)
    assert mark_for("value", 0).color == ROLES["value"]
    assert mark_for("GRU", 0) == MARKS[0]


def test_unknown_role_names_the_known_ones():
    with pytest.raises(ValueError, match="role='querry' is not known; choose one of query, key, value"):
        role_color("querry")


def test_styled_gives_the_settings_back():
    import matplotlib

    before = dict(matplotlib.rcParams)
    with styled():
        assert matplotlib.rcParams["text.color"] == INK
    assert dict(matplotlib.rcParams) == before
