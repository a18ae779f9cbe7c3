"""A small book in a temporary folder, built with the real configuration, extensions and tools."""

import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = Path(__file__).with_name("fixtures")


def copy_small_book(target: Path) -> Path:
    """Copy the fixture's pages and the real machinery around them.

    Args:
        target: a folder that does not exist yet.

    Returns:
        The folder, now the root of a book.
    """
    shutil.copytree(FIXTURES, target)
    shutil.copy(ROOT / "_config.yml", target)
    for folder in ("_ext", "_static", "_templates", "tools"):
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "book" / folder, target / "book" / folder, ignore=ignore)
    (target / "attention_lib").mkdir()
    (target / "attention_lib" / "__init__.py").write_text('"""A library that changes."""\n')
    return target
