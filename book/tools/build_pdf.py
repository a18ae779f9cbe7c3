#!/usr/bin/env python3
"""Build the book as one PDF, _build/pdf/attention-step-by-step.pdf, from the same executed chapters as the site.

Needs a TeX system. On Debian or Ubuntu:
sudo apt-get install latexmk texlive-xetex texlive-latex-recommended texlive-latex-extra texlive-fonts-recommended
texlive-lang-chinese fonts-dejavu-core fonts-wqy-zenhei librsvg2-bin
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from bookkit.book import ROOT, Book
from bookkit.errors import BookError
from bookkit.execution import set_environment, settle_cache
from execute import execute_chapters

NAME = "attention-step-by-step"
PROGRAMS = ("latexmk", "xelatex", "rsvg-convert")
LEFT_OUT = {"sphinx_togglebutton", "sphinx_copybutton", "jupyter_book", "one_stylesheet", "site_files", "previews"}
# DejaVu has the symbols of formulas in text and code; WenQuanYi has the Chinese characters of chapter 13.
PREAMBLE = r"""
\usepackage{xeCJK}
\setCJKmainfont{WenQuanYi Zen Hei}
\setCJKsansfont{WenQuanYi Zen Hei}
\setCJKmonofont{WenQuanYi Zen Hei Mono}
\setmainfont{DejaVu Serif}[Scale=0.9]
\setsansfont{DejaVu Sans}[Scale=0.9]
\setmonofont{DejaVu Sans Mono}[Scale=0.8]
\xeCJKDeclareCharClass{Default}{"2010 -> "2BFF}
"""
# sphinx_proof asks for a package that only a large TeX collection has; its one letter is a bold one.
STUB = r"\ProvidesPackage{bbm}\newcommand{\mathbbm}[1]{\mathbf{#1}}"


def configuration(root: Path) -> dict:
    """Jupyter Book's settings for Sphinx, with those of paper on top."""
    from jupyter_book.config import get_final_config

    settings, _ = get_final_config(
        user_yaml=root / "_config.yml", sourcedir=root, cli_config={"latex_individualpages": False}
    )
    kept = [name for name in settings["extensions"] if name not in LEFT_OUT]
    title = Book(root).config["title"]
    return settings | {
        "extensions": [*kept, "paper"],
        "external_toc_path": str(root / "_toc.yml"),
        "bibtex_bibfiles": [str(root / name) for name in settings["bibtex_bibfiles"]],
        "html_static_path": [],
        "html_favicon": None,
        "templates_path": [],
        "latex_engine": "xelatex",
        "latex_use_xindy": False,
        "latex_documents": [(Book(root).docnames[0], f"{NAME}.tex", title, settings["author"], "manual")],
        "latex_elements": {"papersize": "a4paper", "preamble": PREAMBLE, "fontpkg": "", "figure_align": "H"},
        "latex_show_urls": "no",
        "suppress_warnings": [*settings.get("suppress_warnings", []), "image.not_readable"],
    }


def write_configuration(root: Path, folder: Path) -> None:
    """Write the conf.py for Sphinx, which is no place of Jupyter Book's."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = f"import sys\nsys.path[:0] = [{str(root / 'book/_ext')!r}, {str(root / 'book/tools')!r}]\n"
    lines = [f"{name} = {value!r}" for name, value in sorted(configuration(root).items())]
    (folder / "conf.py").write_text(paths + "\n".join(lines) + "\n", "utf-8")


def write_tex(root: Path, folder: Path) -> None:
    """Run Sphinx up to the TeX source.

    Raises:
        BookError: Sphinx failed; its own words stand above.
    """
    write_configuration(root, folder / "conf")
    (folder / "tex").mkdir(exist_ok=True)
    (folder / "tex" / "bbm.sty").write_text(STUB, "utf-8")
    command = [sys.executable, "-m", "sphinx", "-b", "latex", "-q", "-c", str(folder / "conf")]
    command += ["-d", str(folder / "doctrees"), str(root), str(folder / "tex")]
    if subprocess.run(command, cwd=root, env=os.environ | {"PYTHONUTF8": "1"}, check=False).returncode:
        raise BookError(root / "_config.yml", 0, "Sphinx could not write the TeX source")


def run_tex(folder: Path) -> Path:
    """Set the TeX source.

    Raises:
        BookError: TeX failed; the message has its first complaint.
    """
    command = ["latexmk", "-xelatex", "-interaction=nonstopmode", "-halt-on-error", "-quiet", f"{NAME}.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", check=False)
    log = folder / f"{NAME}.log"
    if done.returncode:
        text = log.read_text("utf-8", "replace") if log.is_file() else done.stdout
        complaint = re.search(r"^!.*(?:\n.*){0,4}", text, re.M)
        raise BookError(log, 0, complaint[0] if complaint else done.stderr[-500:])
    return folder / f"{NAME}.pdf"


def missing_programs() -> list[str]:
    """What this machine lacks."""
    return [name for name in PROGRAMS if shutil.which(name) is None]


def build(root: Path) -> Path:
    """Build the PDF.

    Returns:
        The finished file.
    """
    settle_cache(root)
    execute_chapters(root)
    set_environment(root)
    folder = Book(root).build / "pdf"
    write_tex(root, folder)
    return Path(shutil.copy(run_tex(folder / "tex"), folder / f"{NAME}.pdf"))


def main() -> int:
    """Read the command line; see --help."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=ROOT, help="the book's root (default: this checkout)")
    arguments = parser.parse_args()
    if missing := missing_programs():
        print(f"pdf: {', '.join(missing)} not found.{__doc__.partition('Needs')[2]}", file=sys.stderr)
        return 1
    start = time.perf_counter()
    try:
        path = build(arguments.root.resolve())
    except BookError as error:
        print(f"pdf: FAILED\n{error}", file=sys.stderr)
        return 1
    print(f"pdf: done in {time.perf_counter() - start:.0f} s, {path.stat().st_size / 1e6:.1f} MB; open {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
