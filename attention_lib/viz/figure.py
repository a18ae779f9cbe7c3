"""An element with its data, a table that says the same, and a picture: what every function of `viz` returns."""

import html
import json
import os
import re
from collections.abc import Sequence
from typing import Any

from attention_lib.plot.picture import Picture
from attention_lib.viz.bundle import ELEMENTS, frame, script

_TAG = re.compile(rf"<({'|'.join(ELEMENTS)}) class=")


class Figure:
    """An interactive figure, ready for a notebook or a page.

    A notebook gets the element together with its script, so that each output stands alone. With the environment
    variable ATTENTION_FIGURES=svg (the site's build) the script is left out: the page loads it once.

    Args:
        tag: the element's name.
        data: what the element reads, plain json.
        table: rows of text, the first one the heads: what remains without JavaScript.
        picture: what remains in print; its alternative text describes the figure.

    Example:
        >>> from attention_lib import viz
        >>> viz.read_aloud(["to", "be"])
        Figure: Reading 2 words: a recurrent network takes 2 dependent steps, attention 3 for all words together.
    """

    def __init__(self, tag: str, data: dict[str, Any], table: Sequence[Sequence[str]], picture: Picture) -> None:
        self.tag, self.data, self.table, self.picture = tag, data, table, picture

    def __repr__(self) -> str:
        return f"Figure: {self.picture.alt}"

    def html(self, *, script_inside: bool = True) -> str:
        """The element as HTML: data in an attribute, the table inside, and the script behind it if asked for."""
        text = json.dumps(self.data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        data = html.escape(text, quote=False).replace("'", "&#39;")
        element = f"<{self.tag} class=\"attention-figure\" data='{data}'>{self._table()}</{self.tag}>"
        return with_script(element) if script_inside else element

    def _table(self) -> str:
        head, *body = [[html.escape(str(cell)) for cell in row] for row in self.table]
        heads = "".join(f'<th scope="col">{cell}</th>' for cell in head)
        rows = "".join(
            f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in rest)}</tr>'
            for first, *rest in body
        )
        caption = f"<caption>{html.escape(self.picture.alt)}</caption>"
        return f"<table>{caption}<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict, dict]:
        inside = os.environ.get("ATTENTION_FIGURES") != "svg"
        data = {
            "text/plain": repr(self),
            "text/html": self.html(script_inside=inside),
            "image/png": self.picture.png(),
        }
        return data, {"image/png": {"alt": self.picture.alt}}


def tags_in(text: str) -> list[str]:
    """The elements that a piece of HTML uses, each once.

    Example:
        >>> tags_in("<attn-mask class='attention-figure'></attn-mask><p>text</p>")
        ['attn-mask']
    """
    return list(dict.fromkeys(_TAG.findall(text)))


def with_script(text: str) -> str:
    """HTML with the script of every element it uses behind it; text without one comes back unchanged.

    Example:
        >>> with_script("<p>text</p>")
        '<p>text</p>'
    """
    tags = tags_in(text)
    scripts = [frame(), *map(script, tags)] if tags else []
    return text + "".join(f"<script>{code}</script>" for code in scripts)
