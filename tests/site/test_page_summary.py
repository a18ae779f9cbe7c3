"""What others see of a page: description, card, canonical address; and the files beside the pages."""

import html
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from bookkit.book import Book

pytestmark = pytest.mark.site

TAG = re.compile(r'<meta (?:property|name)="([^"]+)" content="([^"]*)" />')
PNG = b"\x89PNG\r\n\x1a\n"


def tags(site: Path, docname: str) -> dict[str, str]:
    """The meta tags of a page."""
    found = TAG.findall((site / f"{docname}.html").read_text("utf-8"))
    names = [name for name, _ in found if name != "viewport"]
    assert len(names) == len(set(names)), names
    return {name: html.unescape(value) for name, value in found}


@pytest.mark.parametrize("docname", Book().docnames)
def test_a_page_has_a_description_and_a_card(site: Path, docname: str):
    book, found = Book(), tags(site, docname)
    text = (site / f"{docname}.html").read_text("utf-8")
    assert len(re.findall(r'name="description"', text)) == 1
    description = found["og:description"]
    assert 40 < len(description) <= 200
    assert "\\" not in description
    assert found["og:url"] == book.page_url(docname)
    assert f'<link rel="canonical" href="{book.page_url(docname)}" />' in text
    card = site / found["og:image"].removeprefix(book.site_url)
    assert card.read_bytes()[:8] == PNG
    assert int.from_bytes(card.read_bytes()[16:20], "big") == 1200
    assert int.from_bytes(card.read_bytes()[20:24], "big") == 630


def test_descriptions_and_cards_differ_from_page_to_page(site: Path):
    found = [tags(site, docname) for docname in Book().docnames]
    assert len({page["og:description"] for page in found}) == len(found)
    assert len({page["og:image"] for page in found}) == len(found)


def test_the_sitemap_lists_every_page_and_robots_name_it(site: Path):
    book = Book()
    root = ElementTree.parse(site / "sitemap.xml").getroot()
    assert [element.text for element in root.iter() if element.tag.endswith("loc")] == [
        book.page_url(name) for name in book.docnames
    ]
    assert f"Sitemap: {book.site_url}sitemap.xml" in (site / "robots.txt").read_text("utf-8")


def test_the_page_for_wrong_addresses_needs_no_other_file(site: Path):
    text = (site / "404.html").read_text("utf-8")
    addresses = re.findall(r'(?:href|src|action)="([^"]+)"', text)
    assert len(addresses) > len(Book().docnames)
    assert [address for address in addresses if not address.startswith((Book().site_url, "data:"))] == []
    assert "<script" not in text
