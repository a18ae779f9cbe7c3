"""The PDF: what it needs is named; where TeX is installed, a small book becomes one, Chinese and figures included."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import build_pdf
import pytest
from small_book import copy_small_book

BLANK = 1  # grey levels of a picture with nothing but paper


def test_missing_programs_are_named_with_the_packages(monkeypatch: pytest.MonkeyPatch, capsys):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(sys, "argv", ["build_pdf.py"])
    assert build_pdf.main() == 1
    message = capsys.readouterr().err
    assert "latexmk, xelatex, rsvg-convert not found" in message
    assert "sudo apt-get install latexmk texlive-xetex" in message


def test_the_settings_of_paper_leave_out_what_is_for_the_site(tmp_path: Path):
    root = copy_small_book(tmp_path / "book")
    settings = build_pdf.configuration(root)
    assert settings["latex_engine"] == "xelatex"
    assert not build_pdf.LEFT_OUT & set(settings["extensions"])
    build_pdf.write_configuration(root, tmp_path / "conf")
    namespace: dict = {}
    exec((tmp_path / "conf" / "conf.py").read_text("utf-8"), namespace)
    assert namespace["latex_documents"][0][0] == "book/index"


@pytest.mark.slow
def test_a_small_book_becomes_a_pdf(tmp_path: Path):
    if missing := build_pdf.missing_programs():
        pytest.skip(f"{', '.join(missing)} not found; book/tools/build_pdf.py names the packages")
    root = copy_small_book(tmp_path / "book")
    index = root / "book" / "index.md"
    index.write_text(index.read_text("utf-8") + "\n\nChinese numerals: 三百零五.\n", "utf-8")
    command = [sys.executable, str(root / "book/tools/build_pdf.py"), "--root", str(root)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    path = root / "_build" / "pdf" / f"{build_pdf.NAME}.pdf"
    assert path.read_bytes().startswith(b"%PDF")
    log = (root / "_build" / "pdf" / "tex" / f"{build_pdf.NAME}.log").read_text("utf-8", "replace")
    assert re.findall(r"Missing character: There is no (\S+)", log) == []
    figures = list((root / "_build" / "pdf" / "tex").glob("*.png"))
    assert figures
    assert all(len(set(pixels(figure))) > BLANK for figure in figures)


def pixels(path: Path) -> bytes:
    """The grey levels of a picture."""
    from PIL import Image

    return Image.open(path).convert("L").tobytes()
