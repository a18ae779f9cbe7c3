"""A link to a place in a page ends at that place, though sections out of sight have not been laid out."""

from pathlib import Path

import pytest

pytestmark = pytest.mark.site

PAGES = ("chapters/08_multi_head", "chapters/12_long_sequences")
SETTLED = """id => new Promise(done => {
  let before = -1, still = 0;
  const look = () => {
    const now = Math.round(document.getElementById(id).getBoundingClientRect().top);
    still = now === before ? still + 1 : 0;
    if (still === 3) return done({
      top: now, left: Math.round(document.documentElement.scrollHeight - innerHeight - scrollY),
    });
    before = now;
    setTimeout(look, 150);
  };
  setTimeout(look, 150);
})"""


def assert_at(page, name: str) -> None:
    """The place stands under the header, or as high as the end of the page lets it."""
    place = page.evaluate(SETTLED, name)
    assert 0 <= place["top"] <= 120 or (place["top"] > 0 and place["left"] <= 1), f"#{name}: {place}"


@pytest.mark.parametrize("docname", PAGES)
@pytest.mark.parametrize("width", [1280, 360])
def test_an_address_with_a_place_opens_there(browser, site: Path, docname: str, width: int):
    page = browser.new_page(viewport={"width": width, "height": 900})
    for name in ("what-we-measured", "exercises"):
        page.goto("about:blank")  # a new page each time, not a jump inside the old one
        page.goto(f"{(site / docname).as_uri()}.html#{name}")
        assert_at(page, name)
    page.close()


def test_a_click_in_the_contents_goes_there(browser, site: Path):
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(f"{(site / PAGES[1]).as_uri()}.html")
    page.click('.bd-sidebar-secondary a[href="#exercises"]')
    assert_at(page, "exercises")
    page.close()
