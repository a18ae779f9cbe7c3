"""One style sheet for the whole site, in place of fourteen requests that each hold up the first picture.

The pages' templates ask for ``_static/site.css`` alone (``book/_templates/static/webpack-macros.html``). It is
the theme's sheets, the icons in use, and whatever extensions and the book add, in the order in which the pages
would have loaded them.
"""

import re
import shutil
from pathlib import Path

from icon_font import icon_styles

NAME = "site.css"
THEME = ("basic.css", "styles/bootstrap.css", "styles/pydata-sphinx-theme.css")
ICONS = "vendor/fontawesome/6.5.2"
# What only Font Awesome's script and full style sheet would have fetched.
UNUSED = ("vendor", "scripts/fontawesome.js", "scripts/fontawesome.js.LICENSE.txt", "webpack-macros.html")
RELATIVE_URL = re.compile(r"url\((?!\s*[\"']?(?:data:|#|https?:))")
SOURCE_MAP = re.compile(r"/\*# sourceMappingURL=.*?\*/|^//# sourceMappingURL=.*$", re.M)


def _take_over(app, pagename: str, templatename: str, context: dict, doctree) -> None:
    """Note the style sheets that a page asks for, and take them off the page."""
    wanted = app.builder.__dict__.setdefault("book_style_sheets", [])
    for sheet in context.get("css_files", []):
        name = str(sheet.filename).removeprefix("_static/").split("?")[0]
        if name not in wanted:
            wanted.append(name)
    context["css_files"] = []


def _write(app, exception) -> None:
    """Put the sheets together. Runs last, since the theme writes the highlighter's colours at the end."""
    if exception is not None or app.builder.format != "html":
        return
    static = Path(app.outdir) / "_static"
    added = app.builder.__dict__.get("book_style_sheets", [])
    if not added:  # no page was written in this build
        return
    below, above = ("\n".join(_read(static, name) for name in names) for names in (THEME, added))
    icons = icon_styles(static / ICONS, _texts(Path(app.outdir)), below + above)
    (static / NAME).write_text("\n".join(['@charset "utf-8";', below, icons, above]), "utf-8")
    for name in UNUSED:
        path = static / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def _read(static: Path, name: str) -> str:
    text = SOURCE_MAP.sub("", (static / name).read_text("utf-8"))
    if "/" in name and RELATIVE_URL.search(text):
        raise ValueError(f"{name}: an address relative to this sheet would change its meaning in {NAME}")
    return f"/* {name} */\n{text.strip()}"


def _texts(folder: Path) -> list[str]:
    """Every page, and every script that may add an icon."""
    pages = [path for path in folder.rglob("*.html") if "_static" not in path.parts]
    scripts = [path for path in (folder / "_static").rglob("*.js") if "fontawesome" not in path.name]
    return [path.read_text("utf-8") for path in sorted(pages + scripts)]


def setup(app) -> dict:
    """Register the extension."""
    app.connect("html-page-context", _take_over, priority=950)
    app.connect("build-finished", _write, priority=950)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
