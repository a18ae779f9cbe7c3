#!/usr/bin/env python3
"""Start a chapter: copy the skeleton to chapters/NN_stem.md and add it to _toc.yml."""

import argparse
import re
import sys
from pathlib import Path

from bookkit.book import ROOT

SKELETON = Path(__file__).with_name("skeleton_chapter.md")
ENTRY = re.compile(r"^(\s*)- file: chapters/(\d+)_\w+\n", re.M)


def new_chapter(root: Path, name: str) -> Path:
    """Create the chapter and its line in the table of contents.

    Args:
        root: the book's root.
        name: "05_softmax": two digits, an underscore, a stem.

    Returns:
        The new file.

    Raises:
        SystemExit: the name is malformed, or the chapter exists.
    """
    if not re.fullmatch(r"\d\d_[a-z0-9_]+", name):
        sys.exit(f"new-chapter: NAME={name!r} is not two digits, an underscore and a stem, as in NAME=05_softmax")
    target = root / "chapters" / f"{name}.md"
    if target.exists():
        sys.exit(f"new-chapter: {target.relative_to(root)} exists already; choose another name")
    stem = name[3:]
    text = SKELETON.read_text("utf-8").replace("@LABEL@", stem.replace("_", "-"))
    target.write_text(text.replace("@TITLE@", stem.replace("_", " ").capitalize()), "utf-8")
    toc = root / "_toc.yml"
    toc.write_text(add_to_toc(toc.read_text("utf-8"), name), "utf-8")
    return target


def add_to_toc(toc: str, name: str) -> str:
    """The table of contents with the chapter at its place among the others.

    Raises:
        SystemExit: the table of contents lists no chapter yet, so the place is unknown.
    """
    entries = list(ENTRY.finditer(toc))
    if not entries:
        sys.exit(f"new-chapter: _toc.yml lists no chapter; add '- file: chapters/{name}' by hand")
    line = f"{entries[0][1]}- file: chapters/{name}\n"
    later = [entry for entry in entries if entry[2] > name[:2]]
    place = later[0].start() if later else entries[-1].end()
    return toc[:place] + line + toc[place:]


def main() -> None:
    """Read the command line; see --help."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", help="NN_stem, as in 05_softmax")
    parser.add_argument("--root", type=Path, default=ROOT, help="the book's root (default: this checkout)")
    arguments = parser.parse_args()
    target = new_chapter(arguments.root.resolve(), arguments.name)
    print(f"new-chapter: wrote {target.relative_to(arguments.root.resolve())} and its line in _toc.yml")


if __name__ == "__main__":
    main()
