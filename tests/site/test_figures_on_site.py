"""The figures of the built site: in their chapters, awake over http and from the disk, with the model's numbers."""

from pathlib import Path

import pytest
from bookkit import real_heads
from bookkit.book import Book
from test_every_page import Watched

pytestmark = pytest.mark.site

PAGES = {
    "book/index": "attn-explorer",
    "chapters/01_rnn_bottleneck": "rnn-vs-attention",
    "chapters/03_query_key_value": "attn-vectors",
    "chapters/04_scores_and_scaling": "attn-saturation",
    "chapters/06_weighted_sum": "attn-explorer",
    "chapters/07_masks": "attn-mask",
    "chapters/08_multi_head": "tiny-transformer",
}
AWAKE = "e => !!e.shadowRoot && !e.shadowRoot.querySelector('slot') && e.said.textContent.length > 10"
MARK = 'class="attention-figure" data=\''


@pytest.mark.parametrize("scheme", ["http", "file"])
@pytest.mark.parametrize("name", PAGES)
def test_a_figure_wakes_up_and_calls_nobody(browser, address: str, site: Path, name: str, scheme: str):
    watched = Watched(browser, address if scheme == "http" else site.as_uri())
    assert watched.visit(f"{name}.html") == []
    figure = watched.page.locator(PAGES[name])
    assert figure.count() == 1
    assert figure.evaluate(AWAKE)
    assert figure.locator(".ask").text_content().endswith("?")
    assert len(figure.locator("details p").text_content()) > 40
    watched.page.close()


def test_scripts_are_loaded_only_where_a_figure_needs_them(site: Path):
    for name in Book().docnames:
        html = (site / f"{name}.html").read_text("utf-8")
        expected = {f"{script}.js" for script in ("frame", PAGES[name])} if name in PAGES else set()
        loaded = {part.partition("?")[0] for part in html.split("_static/figures/")[1:]}
        assert loaded == expected, name
        assert html.count(MARK) == (name in PAGES)


@pytest.mark.parametrize("name", PAGES)
def test_a_figure_takes_at_most_thirty_kilobytes_of_its_page(site: Path, name: str):
    html = (site / f"{name}.html").read_text("utf-8")
    tag = PAGES[name]
    start, end = html.index(f"<{tag} "), html.index(f"</{tag}>")
    assert end - start <= 30_000


@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_figures_on_their_pages_are_accessible(browser, address: str, site: Path, name: str, scheme: str, width: int):
    """A screenshot of each is kept in _build/screenshots."""
    from axe_playwright_python.sync_playwright import Axe

    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.goto(f"{address}/{name}.html", wait_until="networkidle")
    found = Axe().run(page, context={"include": [[PAGES[name]]]})
    assert [(v["id"], [n["html"][:120] for n in v["nodes"][:3]]) for v in found.response["violations"]] == []
    file = f"{Path(name).name}-{PAGES[name]}-{scheme}-{width}.png"
    page.locator(PAGES[name]).screenshot(path=site.parent / "screenshots" / file)
    page.close()


def test_the_landing_page_shows_the_models_numbers(browser, address: str):
    words, _, _, own = real_heads.queries_and_keys()
    page = browser.new_page()
    page.goto(f"{address}/book/index.html", wait_until="networkidle")
    figure = page.locator("attn-explorer")
    for head, expected in enumerate(own.tolist()):
        figure.locator("select").select_option(str(head))
        shown = figure.evaluate(
            "e => e.grid.cells.map(row => row.map(cell => cell.getAttribute('aria-label').split(': ').pop()))"
        )
        assert len(shown) == len(words)
        for texts, weights in zip(shown, expected, strict=True):
            assert all(abs(float(text) - weight) <= 0.5e-3 + 2e-6 for text, weight in zip(texts, weights, strict=True))
    page.close()
