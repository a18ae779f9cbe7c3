"""What a site needs beside its pages: a page for wrong addresses, a list of its pages, a word to robots."""

from pathlib import Path
from xml.sax.saxutils import escape

from bookkit.book import Book

SITEMAP = """<?xml version="1.0" encoding="utf-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
{}
</urlset>
"""


def sitemap(book: Book) -> str:
    """Every page of the book, in order."""
    return SITEMAP.format("\n".join(f"  <url><loc>{escape(book.page_url(name))}</loc></url>" for name in book.docnames))


def _add_pages(app) -> list[tuple[str, dict, str]]:
    """The page that a server shows for a wrong address. It may be shown at any depth, so its links are whole."""
    book = Book(Path(app.srcdir))
    pages = [(book.page_url(name), app.env.titles[name].astext(), book.chapter_number(name)) for name in book.docnames]
    return [("404", {"book_pages": pages, "site_url": book.site_url}, "404.html")]


def _write_files(app, exception) -> None:
    if exception is not None or app.builder.format != "html":
        return
    book, folder = Book(Path(app.srcdir)), Path(app.outdir)
    (folder / "sitemap.xml").write_text(sitemap(book), "utf-8")
    (folder / "robots.txt").write_text(f"User-agent: *\nAllow: /\nSitemap: {book.site_url}sitemap.xml\n", "utf-8")


def setup(app) -> dict:
    """Register the extension."""
    app.connect("html-collect-pages", _add_pages)
    app.connect("build-finished", _write_files)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
