"""The browser of the tests: where it is, how it is started, and what is done to a page before it is looked at."""

import os
import shutil

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
