"""The icons that the site's pages use, as one small style sheet.

The theme ships Font Awesome whole: a style sheet and two fonts of 296 kB compressed, for some twenty icons.
Here the fonts are cut down to the glyphs in use and put into the style sheet itself, so that no request is
left, and so that browsers which refuse fonts from ``file://`` show icons too.
"""

import base64
import io
import re
from collections.abc import Iterable
from pathlib import Path

LICENCE = """/*! Icons: a subset of Font Awesome Free 6, https://fontawesome.com/license/free
 * (icons CC BY 4.0, fonts SIL OFL 1.1, code MIT) */"""
FONTS = {"fa-solid-900": ("Font Awesome 6 Free", 900), "fa-brands-400": ("Font Awesome 6 Brands", 400)}
CLASS = re.compile(r"\bfa-[a-z0-9-]+")
RULE = re.compile(r"((?:\.fa-[a-z0-9-]+:before,?)+)\{content:\"\\([0-9a-f]+)\"\}")
CONTENT = re.compile(r"[\"']\\(f[0-9a-f]{3})[\"']|([\ue000-\uf8ff])", re.I)
# What the theme's own rules lean on: the families' variables, the shapes of an icon's box.
BASE = """\
:root {
  --fa-font-solid: normal 900 1em/1 "Font Awesome 6 Free";
  --fa-font-brands: normal 400 1em/1 "Font Awesome 6 Brands";
}
.fa, .fas, .far, .fab, .fa-solid, .fa-regular, .fa-brands {
  display: inline-block; font-family: "Font Awesome 6 Free"; font-style: normal; font-variant: normal; font-weight: 900;
  line-height: 1; text-rendering: auto; -webkit-font-smoothing: antialiased;
}
.fab, .fa-brands { font-family: "Font Awesome 6 Brands"; font-weight: 400; }
.fa-lg { font-size: 1.25em; line-height: 0.05em; vertical-align: -0.075em; }
"""


def code_points(style_sheet: str) -> dict[str, int]:
    """Every icon's class name in Font Awesome's style sheet, with its place in the font."""
    found = {}
    for names, code in RULE.findall(style_sheet):
        found.update({name: int(code, 16) for name in CLASS.findall(names)})
    return found


def used_icons(known: dict[str, int], texts: Iterable[str]) -> dict[str, int]:
    """The icons that pages and scripts name."""
    names = {name for text in texts for name in CLASS.findall(text)}
    return {name: known[name] for name in sorted(names & known.keys())}


def used_in_styles(styles: str) -> set[int]:
    """The icons that style sheets put in front of an element by their code."""
    return {int(code, 16) if code else ord(character) for code, character in CONTENT.findall(styles)}


def subset(font: Path, codes: set[int]) -> tuple[bytes, set[int]]:
    """Cut a font down.

    Args:
        font: a TrueType file.
        codes: the wanted characters.

    Returns:
        The small font as WOFF, and the characters it really has.
    """
    from fontTools.subset import Options, Subsetter
    from fontTools.ttLib import TTFont

    # The date in the file would otherwise be now, and two builds would differ.
    small = TTFont(font, recalcTimestamp=False)
    kept = codes & set(small.getBestCmap())
    cutter = Subsetter(Options(layout_features=[], hinting=False, notdef_outline=False, name_IDs=[]))
    cutter.populate(unicodes=kept)
    cutter.subset(small)
    small.flavor = "woff"
    out = io.BytesIO()
    small.save(out)
    return out.getvalue(), kept


def icon_styles(vendor: Path, texts: Iterable[str], styles: str) -> str:
    """The style sheet that replaces Font Awesome's.

    Args:
        vendor: the folder of Font Awesome, with ``css/all.min.css`` and ``webfonts/``.
        texts: every page and script of the site.
        styles: the site's other style sheets.
    """
    icons = used_icons(code_points((vendor / "css" / "all.min.css").read_text("utf-8")), texts)
    wanted = set(icons.values()) | used_in_styles(styles)
    parts = [LICENCE, BASE]
    for name, (family, weight) in FONTS.items():
        data, kept = subset(vendor / "webfonts" / f"{name}.ttf", wanted)
        wanted -= kept
        address = f"data:font/woff;base64,{base64.b64encode(data).decode()}"
        parts.append(
            f'@font-face {{ font-family: "{family}"; font-weight: {weight}; font-display: block; '
            f'src: url({address}) format("woff"); }}'
        )
    parts += [f'.{name}::before {{ content: "\\{code:x}"; }}' for name, code in icons.items()]
    return "\n".join(parts) + "\n"
