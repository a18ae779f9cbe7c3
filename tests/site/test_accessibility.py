"""axe-core on every whole page: both themes, both widths, every fold open. The theme's own faults count too."""

from pathlib import Path

import pytest
from check_site import Site
from chromium import OPEN_ALL

pytestmark = pytest.mark.site

WIDTHS = (1280, 360)
THEMES = ("light", "dark")
SET_THEME = "theme => { document.documentElement.dataset.theme = document.documentElement.dataset.mode = theme; }"
# Contrast is slow: axe asks the browser what lies under each word. Words of code with the same classes on the
# same ground have the same colours, so the first of them stands for all; it is found by its ancestors' classes.
MARK_REPEATED = """() => {
  const seen = new Set();
  for (const element of document.querySelectorAll('pre span, svg text, svg tspan, math *')) {
    let key = getComputedStyle(element).color, step = element;
    for (let depth = 0; step && depth < 6; depth += 1, step = step.parentElement) {
      key += ' ' + step.tagName + '.' + step.getAttribute('class');
    }
    if (seen.has(key)) element.dataset.repeated = '';
    else seen.add(key);
  }
}"""
# Only contrast depends on the theme, so the other rules run in the first one alone.
RUN = """async (only_contrast) => {
  const options = { resultTypes: ['violations'], selectors: true };
  const contrast = { include: [['html']], exclude: [['[data-repeated]']] };
  const rest = { ...options, rules: { 'color-contrast': { enabled: false } } };
  const found = [
    ...(only_contrast ? [] : (await axe.run(document, rest)).violations),
    ...(await axe.run(contrast, { ...options, runOnly: ['color-contrast'] })).violations,
  ];
  return found.flatMap(rule => rule.nodes.map(node =>
    `${rule.id}: ${node.html.slice(0, 160)} ${((node.any[0] || node.all[0] || node.none[0] || {}).message || '')}`));
}"""


@pytest.fixture(scope="module")
def axe() -> str:
    """The text of axe-core."""
    import axe_playwright_python

    return (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text("utf-8")


@pytest.fixture(scope="module")
def page(browser):
    """A window of a reader who wants no motion, so that no colour is caught half-way."""
    page = browser.new_page(reduced_motion="reduce")
    page.set_default_timeout(120_000)
    yield page
    page.close()


def violations(page, address: str, axe: str) -> list[str]:
    """Every violation on one page, with theme and width."""
    page.set_viewport_size({"width": WIDTHS[0], "height": 800})
    page.goto(address, wait_until="load")
    page.evaluate(axe)
    page.evaluate(OPEN_ALL)
    page.evaluate(MARK_REPEATED)
    found = []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_timeout(100)  # scripts of the page follow the new width
        for theme in THEMES:
            page.evaluate(SET_THEME, theme)
            found += [f"{theme} {width}: {fault}" for fault in page.evaluate(RUN, theme != THEMES[0])]
    return found


def test_no_page_breaks_a_rule(page, address: str, site: Path, axe: str):
    names = [path.relative_to(site).as_posix() for path in Site(site).pages if path != site / "index.html"]
    found = {name: violations(page, f"{address}/{name}", axe) for name in names}
    assert {name: faults for name, faults in found.items() if faults} == {}


def test_the_check_sees_a_grey_word_and_an_unnamed_button(page, address: str, site: Path, axe: str):
    page.goto(f"{address}/book/teaching.html", wait_until="load")
    page.evaluate(axe)
    page.evaluate(
        "() => document.querySelector('main p').innerHTML = '<span style=\"color:#999\">grey</span><button></button>'"
    )
    found = " ".join(page.evaluate(RUN, False))
    assert "color-contrast" in found
    assert "button-name" in found
