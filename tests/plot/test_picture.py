"""Pictures: what a notebook and the site get, and that it is the same bytes every time."""

import hashlib
import os
import re
import subprocess
import sys
from xml.etree import ElementTree

import pytest
from matplotlib.figure import Figure

from attention_lib import plot
from attention_lib.plot.svg import inline_svg


def curve(last: float = 7.0, alt: str = "rises to seven") -> plot.Picture:
    return plot.lines({"loss": ([2, 3, 5], [1, 2, last])}, x_label="step", y_label="loss", alt=alt)


@pytest.fixture
def site(monkeypatch):
    monkeypatch.setenv("ATTENTION_FIGURES", "svg")


def bundle(picture: plot.Picture) -> dict:
    return picture._repr_mimebundle_()[0]


@pytest.mark.bad_input
@pytest.mark.parametrize("alt", ["", "  \n", None])
def test_alt_text_is_required(alt):
    with pytest.raises(ValueError, match=rf"alt={alt!r} is empty".replace("\\", "\\\\")):
        plot.Picture(Figure(), alt)


def test_every_function_asks_for_alt():
    with pytest.raises(TypeError, match="alt"):
        plot.lines({"a": ([1, 2], [3, 5])}, x_label="x", y_label="y")


def test_notebooks_get_text_and_png_with_alt(monkeypatch):
    monkeypatch.delenv("ATTENTION_FIGURES", raising=False)
    data, metadata = curve()._repr_mimebundle_()
    assert sorted(data) == ["image/png", "text/plain"]
    assert data["text/plain"] == "Picture: rises to seven" == repr(curve())
    assert data["image/png"].startswith(b"\x89PNG")
    assert metadata == {"image/png": {"alt": "rises to seven"}}


@pytest.mark.usefixtures("site")
def test_the_site_gets_html_too_and_no_svg_key():
    data = bundle(curve())
    assert sorted(data) == ["image/png", "text/html", "text/plain"]
    assert data["text/html"].startswith('<figure class="attention-figure"><svg viewBox=')


def test_other_values_of_the_switch_change_nothing(monkeypatch):
    monkeypatch.setenv("ATTENTION_FIGURES", "png")
    assert "text/html" not in bundle(curve())


@pytest.mark.usefixtures("site")
def test_same_bytes_from_the_same_picture_and_from_a_second_one():
    first = curve()
    assert bundle(first) == bundle(first) == bundle(curve())


def test_another_process_gives_the_same_bytes_and_never_imports_pyplot():
    code = (
        "import hashlib, sys; from attention_lib import plot;"
        "p = plot.lines({'loss': ([2, 3, 5], [1, 2, 7.0])}, x_label='step', y_label='loss', alt='rises to seven');"
        "print(hashlib.sha256(p.svg().encode() + p.png()).hexdigest(), 'matplotlib.pyplot' in sys.modules)"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "3"}
    run = subprocess.run([sys.executable, "-c", code], env=environment, text=True, capture_output=True)
    expected = hashlib.sha256(curve().svg().encode() + curve().png()).hexdigest()
    assert run.stdout.split() == [expected, "False"], run.stderr


def test_the_readers_own_settings_neither_show_nor_change():
    import matplotlib

    expected = curve().svg()
    with matplotlib.rc_context({"font.size": 23, "lines.linewidth": 7, "svg.fonttype": "path"}):
        assert curve().svg() == expected
        assert matplotlib.rcParams["font.size"] == 23


def test_svg_is_responsive_transparent_and_follows_the_page():
    svg = curve().svg()
    root = ElementTree.fromstring(svg)
    assert root.get("role") == "img"
    assert root.get("aria-label") == "rises to seven"
    assert "width" not in root.attrib
    assert "height" not in root.attrib
    assert "width:100%" in root.get("style", "")
    assert "currentColor" in svg
    assert "#212529" not in svg
    assert not re.search("white|#ffffff|font-family|<style|<metadata|<!--|<\\?xml|xmlns", svg)


def test_ids_of_two_pictures_never_meet_and_all_references_resolve():
    seen = []
    for picture in (curve(), curve(last=11.0), curve(alt="another text")):
        svg = picture.svg()
        ids = re.findall(r'\bid="([^"]+)"', svg)
        assert ids
        assert len(set(ids)) == len(ids)
        assert set(re.findall(r"#(a[0-9a-f]{10}-\d+)", svg)) == set(ids)
        seen += ids
    assert len(set(seen)) == len(seen)


def test_alt_text_is_escaped():
    svg = curve(alt='weights < "scores" & <b>').svg()
    assert ElementTree.fromstring(svg).get("aria-label") == 'weights < "scores" & <b>'
    assert "<b>" not in svg


def test_inline_svg_drops_what_draws_nothing_and_keeps_what_does():
    source = (
        '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" width="9pt" viewBox="0 0 9 5"><defs>'
        '<style type="text/css">*{color: red}</style></defs><g id="unused"><path style="fill: none"/>'
        '<path id="p" d="M 1.23456 -0.001 L 2 3" style="stroke: #212529"/></g></svg>'
    )
    svg = inline_svg(source, "a line")
    assert svg.count("<") == 3, svg
    assert '<path d="M1.23 0L2 3" style="stroke:currentColor" />' in svg
