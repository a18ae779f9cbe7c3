"""The static check sees each fault it promises to see."""

from pathlib import Path

import pytest
from check_site import Site

GOOD = '<a href="#here">x</a><p id="here"><img src="a.png" alt="A dot"></p><code>$$ and \\(</code>'


def faults(folder: Path, body: str) -> list[str]:
    (folder / "a.png").write_bytes(b"")
    (folder / "index.html").write_text(f"<html><body>{body}</body></html>")
    return Site(folder).faults()


def test_a_good_page_has_no_fault(tmp_path: Path):
    assert faults(tmp_path, GOOD) == []


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('<script src="https://cdn.example.com/x.js"></script>', "another host: <script> https://cdn"),
        ('<link rel="stylesheet" href="//fonts.example.com/a.css">', "another host: <link> //fonts"),
        ('<img src="http://example.com/a.png" alt="a">', "another host: <img>"),
        ("<style>@import 'https://example.com/a.css';</style>", "another host: <style>"),
        ('<p style="background: url(https://example.com/a.png)">', "another host: <p>"),
        ('<script>const u = "https://unpkg.com/thebe";</script>', "another host: <script>"),
        ('<a href="gone.html">x</a>', "broken link: gone.html"),
        ('<a href="#gone">x</a>', "broken anchor: #gone"),
        ('<img src="a.png" alt=" ">', "without alt text"),
        ('<svg role="img"></svg>', "without aria-label"),
        ("<p>$$ x $$</p>", "TeX left in the text"),
        ("<p>\\(x\\)</p>", "TeX left in the text"),
        ("<math><merror></merror></math>", "could not be drawn"),
    ],
)
def test_each_fault_is_named(tmp_path: Path, body: str, expected: str):
    found = faults(tmp_path, body)
    assert any(expected in line and line.startswith("index.html: ") for line in found), found


def test_style_sheets_are_read_too(tmp_path: Path):
    (tmp_path / "a.css").write_text("@font-face { src: url('https://fonts.example.com/a.woff2') }")
    assert faults(tmp_path, GOOD) == ["a.css: asset from another host: https://fonts.example.com/a.woff2"]
