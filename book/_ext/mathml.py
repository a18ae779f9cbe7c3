"""Formulas as MathML, made while the site is built: no JavaScript, no CDN, no Node.

KaTeX is JavaScript, but it needs no browser: the ``quickjs`` package runs the ``katex.min.js`` that the
wheel of sphinxcontrib-katex carries. A formula that KaTeX refuses is a warning at its own line, and the site
is built with warnings as errors.
"""

import json
import re
from functools import lru_cache
from importlib.resources import files

from bookkit.tex import complete_display
from docutils import nodes
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

LOGGER = logging.getLogger(__name__)
ANNOTATION = re.compile(r"<annotation.*?</annotation>", re.S)
ALIGNED = re.compile(r'<mtable([^>]*columnalign="right left)')


@lru_cache(1)
def _katex():
    import quickjs

    context = quickjs.Context()
    context.eval(files("sphinxcontrib").joinpath("katex.min.js").read_text("utf-8"))
    context.eval(
        # JSON, because long strings are ropes inside quickjs, which its Python side cannot read.
        "function render(tex, display) { return JSON.stringify(katex.renderToString(tex, "
        "{displayMode: display, output: 'mathml', throwOnError: true, strict: 'error'})); }"
    )
    return context.get("render")


@lru_cache(None)
def render(tex: str, display: bool) -> str:
    """The MathML element of a formula.

    Args:
        tex: the formula.
        display: True for one that stands on its own line.

    Raises:
        ValueError: KaTeX's own words about what is wrong.
    """
    import quickjs

    try:
        html = json.loads(_katex()(tex, display))
    except quickjs.JSException as error:
        message = str(error).split("\n")[0].removeprefix("ParseError: ")
        raise ValueError(f"formula {json.dumps(tex)}: {message}") from None
    html = html.removeprefix('<span class="katex">').removesuffix("</span>")
    html = html.replace("\u02c9", "\u00af")  # the bar over a letter: this macron is in mathematical fonts and stretches
    # Browsers ignore MathML's columnalign; a class lets the style sheet align "a &= b" at its sign.
    return ALIGNED.sub(r'<mtable class="aligned"\1', ANNOTATION.sub("", html))


def _render_node(node: nodes.Node, display: bool) -> str:
    tex = node.astext()
    try:
        return render(complete_display(tex) if display and not node.get("nowrap") else tex, display)
    except ValueError as error:
        LOGGER.warning(str(error), location=node, type="math")
        return f"<code>{tex}</code>"


def _visit_inline(translator, node) -> None:
    translator.body.append(f'<span class="math">{_render_node(node, display=False)}</span>')
    raise nodes.SkipNode


def _visit_block(translator, node) -> None:
    translator.body.append(translator.starttag(node, "div", CLASS="math display"))
    translator.body.append(_render_node(node, display=True))
    if node["number"]:
        number = get_node_equation_number(translator, node)
        translator.body.append(f'<span class="eqno">({number})')
        translator.add_permalink_ref(node, "Link to this equation")
        translator.body.append("</span>")
    translator.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app) -> dict:
    """Register the extension."""
    app.add_html_math_renderer("mathml", (_visit_inline, None), (_visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
