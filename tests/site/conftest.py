"""A browser, a server and the pages of the built site, shared by all tests of a session."""

import functools
import http.server
import os
import shutil
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "_build" / "html"
sys.path[:0] = [str(ROOT / "book" / "tools")]

BROWSERS = (
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"),
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    os.path.expandvars(r"%ProgramFiles%\Google\Chrome\Application\chrome.exe"),
)
# No sandbox: the tests also run as root. The rest keeps the browser itself from calling anybody.
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--no-first-run"),
]
# Every fold open, and sections laid out that nobody has come near: what is not laid out is not too wide either.
OPEN_ALL = """() => {
  document.querySelectorAll('details').forEach(element => element.open = true);
  document.querySelectorAll('.toggle-hidden').forEach(element => element.classList.remove('toggle-hidden'));
  document.querySelectorAll('section').forEach(element => element.style.contentVisibility = 'visible');
}"""


def find_browser() -> str | None:
    """The path of the Chromium or Chrome on this machine; ATTENTION_CHROMIUM comes first."""
    named = os.environ.get("ATTENTION_CHROMIUM")
    return named or next((path for path in map(shutil.which, BROWSERS) if path), None)


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
