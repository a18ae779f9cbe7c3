"""A browser, a server and the pages of the built site, shared by all tests of a session."""

import functools
import http.server
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from chromium import FLAGS, find_browser

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "_build" / "html"
sys.path[:0] = [str(ROOT / "book" / "tools")]


@pytest.fixture(scope="session")
def browser() -> Iterator:
    """One headless browser for all pages."""
    path = find_browser()
    if path is None:
        reason = "no Chromium or Chrome found; on Debian or Ubuntu: sudo apt-get install chromium"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def site() -> Path:
    """The folder of the built site."""
    if not (SITE / "index.html").is_file():
        pytest.fail("the site is not built; run `make book` first")
    return SITE


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    """The site served on this machine alone, at a free port."""
    handler = functools.partial(_Quiet, directory=str(site))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    """A server that does not write a line for each request."""

    def log_message(self, *_) -> None:
        """Say nothing."""
