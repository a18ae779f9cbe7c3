"""Outputs on their way from the site's run into a notebook: interactive figures take their scripts along."""

import base64

import pytest
from bookkit.notebook import _clean
from nbformat import v4

from attention_lib import viz


@pytest.fixture
def site_run(monkeypatch):
    """What the site's run leaves in the execution cache for a figure."""
    monkeypatch.setenv("ATTENTION_FIGURES", "svg")

    def output(figure):
        data, metadata = figure._repr_mimebundle_()
        data["image/png"] = base64.b64encode(data["image/png"]).decode()
        return v4.new_output("execute_result", data=data, metadata=metadata)

    return output


def test_an_interactive_figure_stands_alone(site_run, monkeypatch):
    figure = viz.paint_masks(3, causal=True)
    cleaned = _clean(site_run(figure), None)
    monkeypatch.delenv("ATTENTION_FIGURES")
    assert cleaned.data["text/html"] == figure._repr_mimebundle_()[0]["text/html"]
    assert cleaned.data["text/html"].count("<script>") == 2
    assert set(cleaned.data) == {"text/html", "text/plain", "image/png"}


def test_a_static_figure_stays_a_picture(site_run):
    cleaned = _clean(site_run(viz.paint_masks(3).picture), None)
    assert set(cleaned.data) == {"text/plain", "image/png"}


def test_other_html_is_left_alone():
    output = v4.new_output("display_data", data={"text/html": "<b>x</b>", "text/plain": "x"})
    assert _clean(output, None).data["text/html"] == "<b>x</b>"
