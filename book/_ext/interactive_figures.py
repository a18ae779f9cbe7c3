"""The scripts of interactive figures: once a page, and only on pages that have such a figure.

The figures' HTML holds their data alone (``attention_lib.viz``). The frame and one script for each kind of figure are
written to ``_static/figures`` and named at the end of the page, as plain scripts: they also run from ``file://``.
``{real-heads}`` is the figure of the landing page, computed while the site is built.
"""

import hashlib
from pathlib import Path

from bookkit.notebook import INTERACTIVE
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

FOLDER = "_static/figures"


def _add_scripts(app, pagename: str, templatename: str, context: dict, doctree) -> None:
    body = context.get("body", "")
    if INTERACTIVE not in body:
        return
    from attention_lib.viz.bundle import frame, script
    from attention_lib.viz.figure import tags_in

    scripts = {"frame": frame()} | {tag: script(tag) for tag in tags_in(body)}
    for name, text in scripts.items():
        _write(Path(app.outdir) / FOLDER / f"{name}.js", text)
        address = f"{context['pathto'](f'{FOLDER}/{name}.js', 1)}?v={hashlib.sha256(text.encode()).hexdigest()[:8]}"
        context["body"] += f'<script defer src="{address}"></script>'


def _write(path: Path, text: str) -> None:
    if not path.is_file() or path.read_text("utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


class RealHeads(SphinxDirective):
    """``{real-heads}``: heads of the pretrained encoder of chapter 9 on the sentence about the tired animal."""

    def run(self) -> list[nodes.Node]:
        """Compute the figure. In a book without HTML nothing stands here: the page's drawing says the same."""
        from bookkit.real_heads import figure

        return [nodes.raw("", figure().html(script_inside=False), format="html")]


def setup(app) -> dict:
    """Register the extension."""
    app.add_directive("real-heads", RealHeads)
    app.connect("html-page-context", _add_scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
