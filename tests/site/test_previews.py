"""Hover previews: equations, terms, citations and sections, over http and from the disk, by mouse and by keyboard."""

import json
import re
from pathlib import Path
from urllib.parse import unquote

import pytest
from check_site import Site

pytestmark = pytest.mark.site

LINKS = "article a.reference.internal[href*='#']"
KINDS = {
    "equation": ("chapters/08_multi_head", f"{LINKS}[href*='#equation-']", "math"),
    "term": ("chapters/13_transformer_and_mobilevit", f"{LINKS}[href*='#term-']", "p"),
    "citation": ("chapters/08_multi_head", f"{LINKS}[href*='bibliography']", ".citation"),
    "section": ("book/questions", f"{LINKS}[href*='chapters/07']", "strong"),
}


@pytest.fixture(params=["http", "file"])
def page(browser, address: str, site: Path, request):
    """A window whose address begins with the site, and which must stay free of errors."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.set_default_timeout(10_000)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.root = address if request.param == "http" else site.as_uri()
    yield page
    page.close()
    assert errors == []


@pytest.mark.parametrize("kind", KINDS)
def test_pointing_at_a_link_shows_what_it_leads_to(page, kind: str):
    name, link, content = KINDS[kind]
    page.goto(f"{page.root}/{name}.html")
    target = page.locator(link).first
    target.scroll_into_view_if_needed()
    page.wait_for_timeout(300)  # the page's own scrolling would close the preview
    target.hover()
    box = page.locator(".preview")
    box.wait_for(state="visible")
    assert box.locator(content).count() > 0
    assert len(box.inner_text().strip()) > 5
    assert target.get_attribute("aria-describedby") == box.get_attribute("id")
    inside = box.bounding_box()
    assert inside["x"] >= 0
    assert inside["x"] + inside["width"] <= 1280
    page.mouse.move(2, 2)
    box.wait_for(state="hidden")
    assert target.get_attribute("aria-describedby") is None


def test_the_keyboard_opens_a_preview_and_escape_closes_it(page):
    name, link, _ = KINDS["citation"]
    page.goto(f"{page.root}/{name}.html")
    page.keyboard.press("Tab")  # from here on the browser shows where the focus is
    page.locator(link).first.focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    box = page.locator(".preview")
    box.wait_for(state="visible")
    page.keyboard.press("Escape")
    box.wait_for(state="hidden")


def test_every_internal_link_of_the_text_has_a_preview(site: Path):
    text = (site / "_static" / "previews.js").read_text("utf-8")
    previews = json.loads(text.removeprefix("window.bookPreviews = ").rstrip().removesuffix(";"))
    links = set()
    for path in Site(site).pages:
        article = re.search(r'<article class="bd-article">(.*?)</article>', path.read_text("utf-8"), re.S)
        if article is None or path.parent == site:
            continue
        for href in re.findall(r'<a class="reference internal"[^>]*? href="([^"]*#[^"]+)"', article[1]):
            page, _, anchor = href.partition("#")
            target = (path.parent / page).resolve() if page else path
            links.add(f"{target.relative_to(site).with_suffix('').as_posix()}#{unquote(anchor)}")
    assert len(links) > 100
    assert sorted(links - previews.keys()) == []
    assert [key for key, value in previews.items() if re.search(r"<script|<a |\bid=", value)] == []
