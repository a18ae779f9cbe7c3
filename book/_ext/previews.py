"""What a link leads to, shown where the link stands: equations, terms, citations, figures, sections.

The previews are cut out of the built pages into one script, ``_static/previews.js``, which a page fetches when the
first link is pointed at. A script, not JSON: pages opened from the disk may load no other kind of file.
"""

import json
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urljoin, urlsplit

from bookkit.book import Book

if TYPE_CHECKING:
    from bs4 import BeautifulSoup

NAME = "previews.js"
LONGEST = 600
DROPPED = "a.headerlink, .eqno, script, style, svg, .backrefs, button, .admonition-title"


def targets(pages: dict[str, "BeautifulSoup"]) -> set[tuple[str, str]]:
    """Every place inside the book that the text of some page links to: (page, anchor)."""
    found = set()
    for docname, page in pages.items():
        for link in page.select("article a.reference.internal[href*='#']"):
            parts = urlsplit(urljoin(f"{docname}.html", link["href"]))
            name = parts.path.removesuffix(".html").lstrip("/")
            if parts.fragment and name in pages:
                found.add((name, unquote(parts.fragment)))
    return found


def preview(page: "BeautifulSoup", anchor: str) -> str | None:
    """The piece of a page that stands for an anchor, as harmless HTML.

    Args:
        page: the parsed page.
        anchor: the id that links name.

    Returns:
        HTML without links and ids; None if there is nothing to show.
    """
    element = page.find(id=anchor)
    if element is None:
        return None
    if element.name == "span" and not element.get_text(strip=True):  # a label, inside a section or before a box
        element = element.parent if element.parent.name == "section" else element.find_next(["figure", "div", "table"])
    if element is None:
        return None
    if element.name == "dt":
        return _clean(element.find_next_sibling("dd") or element)
    if "math" in element.get("class", []) or "citation" in element.get("class", []):
        return _clean(element)
    if element.name == "figure":
        return _clean(element.find("figcaption") or element)
    return _section(element)


def _section(element) -> str | None:
    """The heading and the first paragraph of a section or a box."""
    heading = element.find(["h1", "h2", "h3", "h4"]) or element.find(class_="admonition-title")
    paragraph = next((p for p in element.find_all("p") if "admonition-title" not in p.get("class", [])), None)
    name = _clean(heading) if heading and heading.name != "p" else escape(heading.get_text()) if heading else ""
    parts = [f"<p><strong>{name}</strong></p>" if name else "", _clean(paragraph) if paragraph else ""]
    return "".join(parts) or None


def _clean(element) -> str:
    """An element's inside (a formula's and a paragraph's outside too) without links, ids and scripts."""
    from bs4 import BeautifulSoup

    copy = BeautifulSoup(str(element), "html.parser")
    outer = copy.find(True)
    for extra in copy.select(DROPPED):
        if extra is not outer:
            extra.decompose()
    for link in copy.find_all("a"):
        link.unwrap()
    for tag in copy.find_all(True):
        tag.attrs.pop("id", None)
    text = str(outer) if outer.name in ("p", "div") else outer.decode_contents()
    return text if len(copy.get_text()) <= LONGEST else f"<p>{copy.get_text()[:LONGEST].rsplit(' ', 1)[0]} …</p>"


def _write(app, exception) -> None:
    if exception is not None or app.builder.format != "html":
        return
    from bs4 import BeautifulSoup

    folder = Path(app.outdir)
    files = {name: folder / f"{name}.html" for name in Book(Path(app.srcdir)).docnames}
    pages = {
        name: BeautifulSoup(path.read_text("utf-8"), "html.parser") for name, path in files.items() if path.is_file()
    }
    found = {f"{name}#{anchor}": preview(pages[name], anchor) for name, anchor in sorted(targets(pages))}
    data = json.dumps({key: text for key, text in found.items() if text}, ensure_ascii=False, indent=0)
    (folder / "_static" / NAME).write_text(f"window.bookPreviews = {data};\n", "utf-8")


def setup(app) -> dict:
    """Register the extension."""
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
