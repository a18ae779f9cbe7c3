"""The buttons of a page: run it in Colab, download its notebook or the whole book, edit it, report an error.

Jupyter Book points Colab at the ``.md`` source, which Colab cannot open, and offers a notebook full of raw
MyST. Here both are the generated notebook. The repository's address can be overridden by the environment
(see ``bookkit.book``), so that a fork's buttons point at the fork.
"""

import shutil
from pathlib import Path

from bookkit.book import Book
from bookkit.offline import ARCHIVE

NOTEBOOKS = "notebooks"


def _use_repository(app, config) -> None:
    config.html_theme_options["repository_url"] = Book(Path(app.srcdir)).repository_url


def _set_buttons(app, pagename: str, templatename: str, context: dict, doctree) -> None:
    """Put the notebook where the theme put the source. Runs after the theme has made its buttons."""
    book = Book(Path(app.srcdir))
    buttons = context.get("header_buttons", [])
    for button in buttons:
        if button.get("label") == "download-buttons":
            button["buttons"] = [b for b in button["buttons"] if b["label"] != "download-source-button"]
            if book.chapter_number(pagename):
                button["buttons"].insert(0, _download(pagename, context["pathto"]))
            button["buttons"].append(_offline(context["pathto"]))
    if book.chapter_number(pagename):
        buttons.insert(0, _colab(book.colab_url(pagename)))


def _download(pagename: str, pathto) -> dict:
    return {
        "type": "link",
        "url": pathto(f"{NOTEBOOKS}/{Path(pagename).name}.ipynb", 1),
        "text": ".ipynb",
        "icon": "fas fa-code",
        "tooltip": "Download this chapter as a notebook",
        "label": "download-notebook-button",
    }


def _offline(pathto) -> dict:
    return {
        "type": "link",
        "url": pathto(ARCHIVE, 1),
        "text": "Whole book, .zip",
        "icon": "fas fa-file-zipper",
        "tooltip": "Download this site to read it offline",
        "label": "download-archive-button",
    }


def _colab(url: str) -> dict:
    return {
        "type": "link",
        "url": url,
        "text": "Colab",
        "icon": "fas fa-rocket",
        "tooltip": "Run this chapter in Colab",
        "label": "colab-button",
    }


def _copy_notebooks(app, exception) -> None:
    source = Book(Path(app.srcdir)).build / NOTEBOOKS
    if exception is None and app.builder.format == "html" and source.is_dir():
        shutil.copytree(source, Path(app.outdir) / NOTEBOOKS, dirs_exist_ok=True)


def setup(app) -> dict:
    """Register the extension."""
    app.add_config_value("notebook_branch", "gh-pages", "html")
    app.connect("config-inited", _use_repository)
    app.connect("html-page-context", _set_buttons, priority=900)
    app.connect("build-finished", _copy_notebooks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
