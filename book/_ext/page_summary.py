"""What search engines and chats show of a page: a description, and a card with a picture.

The description is the page's own ``html_meta`` or, without one, its first sentences. Addresses are those of the
published site, which follow the repository (see ``bookkit.book``).
"""

import html
import re
import shutil
from pathlib import Path

from bookkit.book import Book
from docutils import nodes
from social_card import draw_card

LONGEST = 200
CARDS = "cards"
SENTENCE = re.compile(r"(?<=[.?!:])\s+")
GIVEN = re.compile(r'<meta[^>]*\bname="description"[^>]*\bcontent="([^"]*)"|'
                   r'<meta[^>]*\bcontent="([^"]*)"[^>]*\bname="description"')  # fmt: skip


def first_sentences(doctree: nodes.document, longest: int = LONGEST) -> str:
    """The beginning of a page's text, cut at the end of a sentence if one is near enough.

    Args:
        doctree: the page.
        longest: characters.
    """
    for paragraph in doctree.findall(nodes.paragraph):
        text = re.sub(r"\s+", " ", paragraph.astext()).replace("\\sqrt{d_k}", "√d_k").strip()
        if isinstance(paragraph.parent, nodes.section | nodes.document) and len(text) > 40:
            return _shorten(text, longest)
    return ""


def _shorten(text: str, longest: int) -> str:
    kept = ""
    for sentence in SENTENCE.split(text):
        if len(f"{kept} {sentence}") > longest:
            break
        kept = f"{kept} {sentence}".strip()
    return kept or text[: longest - 1].rsplit(" ", 1)[0] + "…"


def _use_site_address(app, config) -> None:
    """Pages name their published address as the canonical one."""
    config.html_baseurl = Book(Path(app.srcdir)).site_url


def _add_tags(app, pagename: str, templatename: str, context: dict, doctree) -> None:
    book = Book(Path(app.srcdir))
    if doctree is None or pagename not in book.docnames:
        return
    given = GIVEN.search(context["metatags"])
    description = html.unescape(given[1] or given[2]) if given else first_sentences(doctree)
    title = html.unescape(re.sub(r"<[^>]+>", "", context["title"]))
    if not description:
        description = f"{title}: a page of {book.config['title']}."
    card = draw_card(book, pagename, re.sub(r"^\d+\. ", "", title), description)
    tags = {
        "og:type": "article" if book.chapter_number(pagename) else "website",
        "og:site_name": book.config["title"],
        "og:title": title,
        "og:description": description,
        "og:url": book.page_url(pagename),
        "og:image": f"{book.site_url}_static/{CARDS}/{card.name}",
        "og:image:width": "1200",
        "og:image:height": "630",
        "og:image:alt": f"The title, {title}, beside a map of attention weights",
    }
    lines = [f'<meta property="{name}" content="{html.escape(value)}" />' for name, value in tags.items()]
    lines.append('<meta name="twitter:card" content="summary_large_image" />')
    if not given:
        lines.append(f'<meta name="description" content="{html.escape(description)}" />')
    context["metatags"] += "\n    " + "\n    ".join(lines)


def _copy_cards(app, exception) -> None:
    book = Book(Path(app.srcdir))
    source = book.build / CARDS
    if exception is None and app.builder.format == "html" and source.is_dir():
        target = Path(app.outdir) / "_static" / CARDS
        shutil.rmtree(target, ignore_errors=True)  # cards of an earlier build would stay for ever
        shutil.copytree(source, target)


def setup(app) -> dict:
    """Register the extension."""
    app.connect("config-inited", _use_site_address)
    app.connect("html-page-context", _add_tags)
    app.connect("build-finished", _copy_cards)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
