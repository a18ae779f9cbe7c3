"""How the pages look: a picture of each in both themes and three widths, kept in ``_build/screenshots``.

The pictures are for people. The test holds what a picture would show at a glance and a rule can say: the text
stands inside the window, headings are not cut off, ground and ink change with the theme, print drops the frame.
"""

import re
from pathlib import Path

import pytest
from bookkit.book import Book
from chromium import OPEN_ALL

pytestmark = pytest.mark.site

FOLDER = Book().build / "screenshots"
SIZES = {"wide": 1280, "phone": 360, "small": 320}
OUTSIDE = """() => [...document.querySelectorAll('article h1, article h2, article > section > p')]
  .filter(element => element.checkVisibility())
  .filter(element => {
    const box = element.getBoundingClientRect();
    return box.left < 0 || box.right > innerWidth + 1 || element.scrollWidth > element.clientWidth + 1;
  }).map(element => element.textContent.slice(0, 80))"""
GROUND = "() => getComputedStyle(document.body).backgroundColor"
MOVES = """() => [...document.querySelectorAll('*')].filter(element => {
  const style = getComputedStyle(element);
  return parseFloat(style.transitionDuration) > 0 || parseFloat(style.animationDuration) > 0;
}).length"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_page_keeps_its_text_in_the_window(browser, site: Path, theme: str):
    FOLDER.mkdir(parents=True, exist_ok=True)
    page = browser.new_page(color_scheme=theme, reduced_motion="reduce")
    outside = {}
    for docname in Book().docnames:
        page.goto((site / f"{docname}.html").as_uri())
        page.evaluate(OPEN_ALL)
        for size, width in SIZES.items():
            page.set_viewport_size({"width": width, "height": 900})
            found = page.evaluate(OUTSIDE)
            if found:
                outside[docname, size] = found
            name = f"{docname.replace('/', '-')}-{size}-{theme}.png"
            page.screenshot(path=FOLDER / name)
            assert (FOLDER / name).stat().st_size > 10_000, f"{name} is nearly empty"
    page.close()
    assert outside == {}


def test_the_ground_follows_the_readers_theme(browser, site: Path):
    grounds = []
    for theme in ("light", "dark"):
        page = browser.new_page(color_scheme=theme)
        page.goto((site / f"{Book().docnames[0]}.html").as_uri())
        grounds.append(page.evaluate(GROUND))
        page.close()
    assert grounds == ["rgb(255, 255, 255)", "rgb(18, 18, 18)"]


def test_code_without_a_class_has_the_colour_of_names(site: Path):
    """So that the build may leave the classes of names, punctuation and blanks away."""
    style = (site / "_static" / "pygments.css").read_text("utf-8")
    for theme in ("light", "dark"):
        colours = re.findall(rf'"{theme}"\] \.highlight (?:\.[npw] )?\{{[^}}]*?(?<!-)color: (\S+)', style)
        assert (len(colours), len(set(colours))) == (4, 1), colours


def test_nothing_moves_for_a_reader_who_wants_that(browser, site: Path):
    page = browser.new_page(reduced_motion="reduce")
    page.goto((site / "chapters" / "04_scores_and_scaling.html").as_uri())
    assert page.evaluate(MOVES) == 0
    page.close()


def test_print_drops_the_frame_and_opens_every_fold(browser, site: Path):
    page = browser.new_page()
    page.goto((site / "chapters" / "04_scores_and_scaling.html").as_uri())
    frame = ".bd-sidebar-primary, .bd-header-article, .prev-next-footer, button.copybtn, .headerlink"
    shown = "selector => [...document.querySelectorAll(selector)].filter(element => element.checkVisibility()).length"
    assert page.evaluate(shown, frame) > 10
    page.emulate_media(media="print")
    assert page.evaluate(shown, frame) == 0
    pdf = page.pdf()
    assert pdf.startswith(b"%PDF")
    assert page.evaluate("() => [...document.querySelectorAll('article details')].every(fold => fold.open)")
    page.close()


def test_the_themes_keys_still_work(browser, site: Path):
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto((site / "chapters" / "04_scores_and_scaling.html").as_uri())
    page.keyboard.press("Control+k")
    page.wait_for_selector(".search-button__search-container input", state="visible")
    page.keyboard.press("Escape")
    page.wait_for_selector(".search-button__search-container input", state="hidden")
    page.close()


def test_the_first_picture_has_no_white_corners_in_the_dark(browser, site: Path):
    page = browser.new_page(color_scheme="dark")
    page.goto((site / "book" / "index.html").as_uri())
    ground = "() => getComputedStyle(document.querySelector('.bd-content img[src$=\"attention.svg\"]')).backgroundColor"
    assert page.evaluate(ground) == "rgba(0, 0, 0, 0)"
    page.close()
