"""What a first visit costs: every page against its budget, compressed as a host sends it."""

import base64
import gzip
import io
import re
from pathlib import Path

import pytest
from bookkit.book import Book
from fontTools.ttLib import TTFont

pytestmark = pytest.mark.site

PAGE_BUDGET = 300_000
FIGURE_BUDGET = 30_000
CARD_BUDGET = 30_000
PACKED = (".png", ".jpg", ".woff", ".woff2", ".zip")
SVG = re.compile(r"<svg\b.*?</svg>", re.S)


def weight(address: str, body: bytes) -> int:
    """Bytes on the wire."""
    return len(body) if address.endswith(PACKED) else len(gzip.compress(body, 6))


def visit(browser, address: str) -> dict[str, int]:
    """Everything that a browser with an empty cache fetches for one page, with its weight."""
    context = browser.new_context()
    page = context.new_page()
    answers = []
    page.on("response", lambda response: answers.append(response))
    page.goto(address, wait_until="networkidle")
    found = {answer.url.split("?")[0]: weight(answer.url.split("?")[0], answer.body()) for answer in answers}
    context.close()
    return found


def test_a_cold_page_stays_within_its_budget(browser, address: str):
    weights = {name: visit(browser, f"{address}/{name}.html") for name in Book().docnames}
    assert all(len(found) > 3 for found in weights.values())
    heavy = {name: found for name, found in weights.items() if sum(found.values()) > PAGE_BUDGET}
    assert heavy == {}


def test_no_icon_font_is_fetched_and_every_icon_is_drawn(browser, address: str):
    page = browser.new_page()
    fetched = []
    page.on("request", lambda request: fetched.append(request.url))
    page.goto(f"{address}/{Book().docnames[-8]}.html", wait_until="networkidle")
    assert not [url for url in fetched if "fontawesome" in url or url.split("?")[0].endswith((".woff2", ".ttf"))]
    icons = page.evaluate(
        """() => [...document.querySelectorAll('i[class*="fa-"], span[class*="fa-"]')].map(element => {
          const style = getComputedStyle(element, '::before');
          return [element.className, style.content, getComputedStyle(element).fontFamily];
        })"""
    )
    assert len(icons) > 10
    assert [icon for icon in icons if icon[1] in ("none", "normal") or "Font Awesome" not in icon[2]] == []
    page.close()


def test_the_icon_fonts_hold_the_icons_that_pages_use(site: Path):
    styles = (site / "_static" / "site.css").read_text("utf-8")
    fonts = [base64.b64decode(data) for data in re.findall(r"data:font/woff;base64,([\w+/=]+)", styles)]
    assert len(fonts) == 2
    assert sum(map(len, fonts)) < 12_000
    held = {code for font in fonts for code in TTFont(io.BytesIO(font)).getBestCmap()}
    named = {int(code, 16) for code in re.findall(r'\.fa-[\w-]+::before \{ content: "\\([0-9a-f]+)"', styles)}
    used = {
        name for path in (site / "chapters").glob("*.html") for name in re.findall(r"\bfa-[a-z-]+", path.read_text())
    }
    assert named <= held
    assert len(used) > 10
    assert all(f".{name}::before" in styles for name in used - {"fa-solid", "fa-lg"})


def test_every_figure_stays_within_its_budget(site: Path):
    pages = [site / f"{name}.html" for name in Book().docnames]
    figures = [(path.name, svg) for path in pages for svg in SVG.findall(path.read_text("utf-8"))]
    assert len(figures) > 50
    files = [path for path in (site / "_images").iterdir() if path.suffix in (".svg", ".png")]
    heavy = [(name, weight("", svg.encode())) for name, svg in figures if weight("", svg.encode()) > FIGURE_BUDGET]
    heavy += [(path.name, 0) for path in files if weight(path.name, path.read_bytes()) > FIGURE_BUDGET]
    assert heavy == []


def test_every_card_stays_within_its_budget(site: Path):
    cards = list((site / "_static" / "cards").glob("*.png"))
    assert len(cards) == len(Book().docnames)
    assert [path.name for path in cards if path.stat().st_size > CARD_BUDGET] == []


def test_the_math_font_has_every_character_of_every_formula(site: Path):
    from math_font import FONT, formula_characters

    font = TTFont(FONT)
    wanted = formula_characters(site)
    assert len(wanted) > 50
    missing = "".join(chr(code) for code in sorted(wanted - set(font.getBestCmap())))
    assert missing == "", "run book/tools/math_font.py again"
    assert "MATH" in font
    assert (site / "_static" / "math.woff").read_bytes() == FONT.read_bytes()
