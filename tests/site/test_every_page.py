"""Every page, in a real browser, over http and from the disk: quiet, self-contained, and drawn."""

from pathlib import Path

import pytest
from bookkit.book import Book
from check_site import Site
from chromium import OPEN_ALL

pytestmark = pytest.mark.site

UNDRAWN = """() => [...document.querySelectorAll('math')]
  .filter(element => element.checkVisibility())
  .filter(element => !(element.getBoundingClientRect().width > 0 && element.getBoundingClientRect().height > 0))
  .map(element => element.textContent.slice(0, 80))"""
SIDEWAYS = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
TOO_WIDE = """() => [...document.querySelectorAll('main *')]
  .filter(element => element.getBoundingClientRect().right > innerWidth + 1)
  .slice(0, 5).map(element => element.outerHTML.slice(0, 120))"""


class Watched:
    """A browser page that keeps a list of everything it should not have done.

    Args:
        browser: the browser.
        own: the beginning of every address that is allowed.
        width: the window's width in pixels.
    """

    def __init__(self, browser, own: str, width: int = 1280):
        self.own, self.faults = own, []
        self.page = browser.new_page(viewport={"width": width, "height": 800})
        self.page.on("request", self._request)
        self.page.on("requestfailed", lambda request: self._add("failed request", request.url))
        self.page.on("console", lambda message: message.type == "error" and self._add("console", message.text))
        self.page.on("pageerror", lambda error: self._add("uncaught", str(error)))

    def _request(self, request) -> None:
        if not request.url.startswith((self.own, "data:", "blob:", "about:")):
            self._add("foreign request", request.url)

    def _add(self, kind: str, text: str) -> None:
        self.faults.append(f"{kind}: {text[:200]}")

    def visit(self, name: str) -> list[str]:
        """Open a page and return its faults."""
        self.faults.clear()
        # Idle, not merely loaded: the icon comes last, and leaving before it would look like a failed request.
        self.page.goto(f"{self.own}/{name}", wait_until="networkidle")
        self.page.evaluate(OPEN_ALL)
        undrawn = self.page.evaluate(UNDRAWN)
        return [f"{name}: {fault}" for fault in self.faults + [f"undrawn formula: {tex}" for tex in undrawn]]


@pytest.fixture(scope="module")
def names(site: Path) -> list[str]:
    """The pages; a test that walks none would pass for nothing."""
    found = [path.relative_to(site).as_posix() for path in Site(site).pages if path != site / "index.html"]
    expected = {f"{docname}.html" for docname in Book().docnames}
    assert expected <= set(found)
    return found


@pytest.mark.parametrize("scheme", ["http", "file"])
def test_every_page_is_quiet_and_drawn(browser, address: str, site: Path, names: list[str], scheme: str):
    watched = Watched(browser, address if scheme == "http" else site.as_uri())
    assert [fault for name in names for fault in watched.visit(name)] == []


@pytest.mark.parametrize("width", [360, 320])
def test_no_page_scrolls_sideways_on_a_phone(browser, address: str, names: list[str], width: int):
    watched = Watched(browser, address, width=width)
    wide = []
    for name in names:
        watched.visit(name)
        if watched.page.evaluate(SIDEWAYS) > 0:
            wide.append((name, watched.page.evaluate(TOO_WIDE)))
    assert wide == []


def test_the_address_of_the_site_leads_to_the_first_page(browser, address: str):
    page = browser.new_page()
    page.goto(address)
    page.wait_for_url(f"{address}/{Book().docnames[0]}.html", timeout=10_000)


def test_search_finds_a_chapter(browser, address: str):
    watched = Watched(browser, address)
    watched.visit("search.html?q=attention")
    watched.page.wait_for_selector("#search-results li a", timeout=10_000)
    assert watched.faults == []


def test_static_check_finds_no_fault(site: Path):
    assert Site(site).faults() == []


def test_every_chapter_opens_in_colab_and_downloads_its_notebook(site: Path):
    book = Book()
    for path in book.chapters:
        docname = book.docname(path)
        html = (site / f"{docname}.html").read_text("utf-8")
        assert f'href="{book.colab_url(docname)}"' in html
        assert book.colab_url(docname).endswith(f"/blob/{book.notebook_branch}/chapters/notebooks/{path.stem}.ipynb")
        assert f'href="../notebooks/{path.stem}.ipynb"' in html
        assert (site / "notebooks" / f"{path.stem}.ipynb").is_file()
        assert "_sources/" not in html
