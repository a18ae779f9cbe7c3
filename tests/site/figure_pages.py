"""Figures on pages of their own, for the browser: fixed numbers, and the tensors to compare them with."""

from __future__ import annotations

import functools
import html
from dataclasses import dataclass

import torch
from tiny_model import tiny_figure

from attention_lib import viz
from attention_lib.viz.figure import with_script

WORDS = ["The", "animal", "didn't", "cross", "the", "street", "because", "it", "was", "too", "tired"]
QUESTION, OBSERVE = "Which word does “it” look at?", "At “animal”, most of all."


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    """Fixed standard normal numbers."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


QKV = normal(2, 11, 8, seed=1), normal(2, 11, 8, seed=2), normal(2, 11, 3, seed=3)
KEYS, VALUES, QUERY = (
    torch.tensor([[1.0, 0.0], [0.6, 0.8], [-0.5, 0.5]]),
    torch.tensor([10.0, 20.0, 30.0]),
    torch.tensor([0.9, 0.3]),
)
DRAWS = normal(2, 64, seed=4), normal(2, 5, 64, seed=5), normal(2, 5, seed=6)


def explorer(tokens=WORDS, **options) -> viz.Figure:
    """Two heads over eleven words, or another number of words with one head."""
    if tokens is WORDS:
        q, k, v = QKV
        return viz.explore(
            tokens,
            query=q,
            key=k,
            value=v,
            names=["first", "second"],
            row=7,
            question=QUESTION,
            observe=OBSERVE,
            **options,
        )
    n = len(tokens)
    return viz.explore(
        tokens, query=normal(n, 16, seed=7), key=normal(n, 16, seed=8), value=normal(n, 3, seed=9), **options
    )


FIGURES = {
    "attn-explorer": explorer,
    "attn-vectors": lambda: viz.move_query(QUERY, KEYS, VALUES, question=QUESTION, observe=OBSERVE),
    "attn-saturation": lambda: viz.saturate(*DRAWS, question=QUESTION, observe=OBSERVE),
    "attn-mask": lambda: viz.paint_masks(8, causal=True, length=6, question=QUESTION, observe=OBSERVE),
    "rnn-vs-attention": lambda: viz.read_aloud(WORDS, remember=1, question=QUESTION, observe=OBSERVE),
    "tiny-transformer": lambda: tiny_figure(QUESTION, OBSERVE),
}


@functools.lru_cache(None)
def made(tag: str) -> viz.Figure:
    """Each figure once a session."""
    return FIGURES[tag]()


def page(*bodies: str, lang: str = "en", theme: str | None = "light") -> str:
    """A whole page around some HTML, quiet enough that every finding of axe is the figures' own."""
    themed = f' data-theme="{theme}"' if theme else ""
    return (
        f'<!doctype html><html lang="{lang}"{themed}><head><meta charset="utf-8"><title>Figures</title>'
        '<meta name="viewport" content="width=device-width,initial-scale=1"><link rel="icon" href="data:,"><style>'
        "body{margin:8px;background:#fff;color:#111}html[data-theme=dark] body{background:#121212;color:#eee}</style>"
        f"</head><body><main><h1>Figures</h1>{''.join(bodies)}</main></body></html>"
    )


def sandboxed(body: str) -> str:
    """A page that shows HTML as Colab does: in a frame of no origin, scripts allowed and nothing else."""
    inside = html.escape(page(body), quote=True)
    frame = '<iframe title="output" sandbox="allow-scripts" style="width:100%;height:700px"'
    return page(f'{frame} srcdoc="{inside}"></iframe>')


@dataclass
class Opened:
    """A page with figures, and what went wrong on it.

    Args:
        browser: the browser.
        body: HTML of the page's main part; whole pages begin with a doctype.
        width: of the window.
    """

    browser: object
    body: str
    width: int = 1280
    lang: str = "en"
    theme: str | None = "light"
    scheme: str = "light"

    def __enter__(self):
        self.faults: list[str] = []
        self.page = self.browser.new_page(viewport={"width": self.width, "height": 900}, color_scheme=self.scheme)
        self.page.on("console", lambda m: m.type in ("error", "warning") and self.faults.append(f"console: {m.text}"))
        self.page.on("pageerror", lambda error: self.faults.append(f"uncaught: {error}"))
        self.page.on(
            "request", lambda r: r.url.startswith(("data:", "about:")) or self.faults.append(f"request: {r.url}")
        )
        whole = self.body if self.body.startswith("<!doctype") else page(self.body, lang=self.lang, theme=self.theme)
        self.page.set_content(whole)
        return self

    def __exit__(self, *_):
        self.page.close()

    def said(self, tag: str) -> str:
        """The live region of a figure; playwright's selectors reach into open shadow roots."""
        return self.page.locator(f"{tag} [role=status]").first.text_content()

    def set(self, tag: str, label: str, value: float) -> None:
        """Move a slider as a reader would: its value, then the event."""
        self.page.locator(tag).get_by_label(label).evaluate(
            "(e, value) => { e.value = value; e.dispatchEvent(new Event('input', {bubbles: true})); }", value
        )

    def cells(self, tag: str) -> list[list[str]]:
        """What each cell of a figure's matrix says to a screen reader, after the arrow and the colon."""
        return self.page.locator(tag).evaluate(
            "e => e.grid.cells.map(row => row.map(cell => cell.getAttribute('aria-label').split(': ').pop()))"
        )


def both(*tags: str) -> str:
    """Some figures as a notebook would show them, one below the other, each with its own script."""
    return "".join(with_script(made(tag).html(script_inside=False)) for tag in tags)
