#!/usr/bin/env python3
"""Cut a mathematical font down to the characters of the book's formulas, for systems that have none (Android, Linux).

Needs the built site, and Latin Modern Math, which Debian and Ubuntu ship in the package fonts-lmodern. Run it again
when the site's test says that a character is missing.
"""

import argparse
import html
import re
import sys
from pathlib import Path

from bookkit.book import ROOT, Book

SOURCE = Path("/usr/share/texmf/fonts/opentype/public/lm-math/latinmodern-math.otf")
FONT = ROOT / "book" / "_static" / "math.woff"
# Browsers draw a letter of a formula as its mathematical italic, a character of its own: h has an older one.
ITALIC = {*range(0x1D434, 0x1D468), *range(0x1D6E2, 0x1D71C), 0x210E}


def formula_characters(site: Path) -> set[int]:
    """Every character inside a formula of the site, as its code point."""
    texts = [path.read_text("utf-8") for path in sorted(site.rglob("*.html"))]
    formulas = [formula for text in texts for formula in re.findall(r"<math\b.*?</math>", text, re.S)]
    words = "".join(html.unescape(re.sub(r"<[^>]+>", "", formula)) for formula in formulas)
    return {ord(character) for character in words if not character.isspace()}


def cut(source: Path, characters: set[int], target: Path) -> None:
    """Write the small font. Taller brackets and roots come along: the font's MATH table names them."""
    from fontTools.subset import Options, Subsetter
    from fontTools.ttLib import TTFont

    font = TTFont(source, recalcTimestamp=False)
    cutter = Subsetter(Options(hinting=False, drop_tables=["FFTM"]))
    cutter.populate(unicodes=characters | ITALIC)
    cutter.subset(font)
    font.flavor = "woff"
    font.save(target)


def main() -> int:
    """Read the command line; see --help."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("font", type=Path, nargs="?", default=SOURCE, help=f"default: {SOURCE}")
    arguments = parser.parse_args()
    if not arguments.font.is_file():
        print(
            f"math_font: {arguments.font} not found; on Debian or Ubuntu: apt-get install fonts-lmodern",
            file=sys.stderr,
        )
        return 1
    cut(arguments.font, formula_characters(Book().build / "html"), FONT)
    print(f"math_font: {FONT.relative_to(ROOT)}, {FONT.stat().st_size / 1e3:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
