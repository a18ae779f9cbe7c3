#!/usr/bin/env python3
"""Read every built page and report what needs no browser to be seen.

Assets from other hosts, links and anchors that lead nowhere, pictures without alternative text, formulas
left as TeX. Prints one line a fault; the exit status is 1 if there is any.
"""

import argparse
import re
import sys
from dataclasses import dataclass, field
from functools import cached_property
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from bookkit.book import ROOT, Book

FOREIGN = re.compile(r"^\s*(https?:)?//", re.I)
CSS_URL = re.compile(r"(?:url\(|@import\s+)\s*['\"]?((?:https?:)?//[^'\")\s]+)", re.I)
# Elements whose address the browser fetches by itself, and the attributes that hold it.
ASSETS = {
    **dict.fromkeys(["script", "img", "iframe", "embed", "audio", "video", "source", "track"], ("src", "srcset")),
    "object": ("data",),
    "image": ("href", "xlink:href"),
    "use": ("href", "xlink:href"),
}
FETCHED_LINKS = {"stylesheet", "icon", "preload", "prefetch", "preconnect", "dns-prefetch", "manifest", "modulepreload"}
CODE = {"code", "pre", "script", "style", "textarea"}
RAW_TEX = re.compile(r"\$\$|\\\(|\\\[|\\begin\{")


@dataclass
class Page(HTMLParser):
    """One page: its ids, its links, its faults.

    Args:
        path: the HTML file.
    """

    path: Path
    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)

    def __post_init__(self):
        super().__init__(convert_charrefs=True)

    def read(self) -> "Page":
        """Parse the file."""
        self.feed(self.path.read_text("utf-8"))
        return self

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what an element refers to and what it lacks."""
        values = {name: value or "" for name, value in attrs}
        if tag in CODE:
            self.open.append(tag)
        self.ids.update(value for name, value in values.items() if name in ("id", "name") and value)
        self._assets(tag, values)
        self._names(tag, values)
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])

    def _assets(self, tag: str, values: dict[str, str]) -> None:
        addresses = [values.get(name, "") for name in ASSETS.get(tag, ())]
        if tag == "link" and FETCHED_LINKS & set(values.get("rel", "").lower().split()):
            addresses.append(values.get("href", ""))
        addresses += CSS_URL.findall(values.get("style", ""))
        self.faults += [f"asset from another host: <{tag}> {url}" for url in addresses if FOREIGN.match(url)]
        self.links += [url for url in addresses if url and not FOREIGN.match(url) and "," not in url]

    def _names(self, tag: str, values: dict[str, str]) -> None:
        if tag == "img" and not values.get("alt", "").strip():
            self.faults.append(f"picture without alt text: {values.get('src', '')[:80]}")
        if tag == "svg" and values.get("role") == "img" and not values.get("aria-label", "").strip():
            self.faults.append("svg role=img without aria-label")
        if tag == "merror" or "katex-error" in values.get("class", ""):
            self.faults.append("a formula that could not be drawn")

    def handle_endtag(self, tag: str) -> None:
        """Leave code again."""
        if self.open and self.open[-1] == tag:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        """Look for TeX that nobody drew, and for addresses that styles and scripts would fetch."""
        if not self.open:
            self.faults += [f"TeX left in the text: {found!r}" for found in RAW_TEX.findall(data)]
        elif self.open[-1] == "style":
            self.faults += [f"asset from another host: <style> {url}" for url in CSS_URL.findall(data)]
        elif self.open[-1] == "script":
            addresses = re.findall(r"""['"`](https?://[^'"`\s]+)""", data)
            self.faults += [f"asset from another host: <script> {url}" for url in addresses]


@dataclass(frozen=True)
class Site:
    """A built site on disk.

    Args:
        folder: the folder with index.html.
    """

    folder: Path

    @cached_property
    def pages(self) -> dict[Path, Page]:
        """Every page by its file; the theme's own templates are no pages."""
        files = sorted(self.folder.rglob("*.html"))
        return {path: Page(path).read() for path in files if "_static" not in path.parts}

    def faults(self) -> list[str]:
        """Every fault of every page and style sheet, one line each."""
        found = [f"{self._name(path)}: {fault}" for path, page in self.pages.items() for fault in page.faults]
        for path, page in self.pages.items():
            found += [f"{self._name(path)}: {fault}" for fault in map(self._link(path), page.links) if fault]
        for path in sorted(self.folder.rglob("*.css")):
            addresses = CSS_URL.findall(path.read_text("utf-8"))
            found += [f"{self._name(path)}: asset from another host: {url}" for url in addresses]
        return list(dict.fromkeys(found))

    def _name(self, path: Path) -> str:
        return path.relative_to(self.folder).as_posix()

    def _link(self, page: Path):
        def fault(href: str) -> str | None:
            parts = urlsplit(href)
            if parts.scheme or parts.netloc:
                return None
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            if target.is_dir():
                target /= "index.html"
            if not target.is_file():
                return f"broken link: {href}"
            known = self.pages.get(target)
            if known and parts.fragment and unquote(parts.fragment) not in known.ids:
                return f"broken anchor: {href}"
            return None

        return fault


def main() -> int:
    """Read the command line; see --help."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=Book(ROOT).build / "html", help="default: _build/html")
    arguments = parser.parse_args()
    site = Site(arguments.folder.resolve())
    faults = site.faults()
    for line in faults:
        print(line, file=sys.stderr)
    print(f"check_site: {len(site.pages)} pages, {len(faults)} faults")
    return 1 if faults or not site.pages else 0


if __name__ == "__main__":
    sys.exit(main())
