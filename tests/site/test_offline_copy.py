"""The site as a zip file: whole, working from the disk, the same bytes for the same pages."""

import zipfile
from pathlib import Path

import pytest
from bookkit.book import Book
from bookkit.offline import ARCHIVE, write_archive
from check_site import Site

pytestmark = pytest.mark.site


@pytest.fixture(scope="module")
def unpacked(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The copy as a reader has it after unpacking."""
    folder = tmp_path_factory.mktemp("offline")
    with zipfile.ZipFile(site / ARCHIVE) as archive:
        assert archive.testzip() is None
        archive.extractall(folder)
    [copy] = folder.iterdir()
    return copy


def test_every_page_and_notebook_is_in_it(unpacked: Path):
    book = Book()
    assert [name for name in book.docnames if not (unpacked / f"{name}.html").is_file()] == []
    assert len(list((unpacked / "notebooks").glob("*.ipynb"))) == len(book.chapters)
    assert [path for path in unpacked.rglob("*.zip")] == []


def test_its_links_lead_somewhere(unpacked: Path):
    faults = [fault for fault in Site(unpacked).faults() if not fault.endswith(ARCHIVE)]
    assert faults == []


def test_a_page_of_it_opens_without_a_server(browser, unpacked: Path):
    page = browser.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: request.url.startswith(("file:", "data:")) or wrong.append(request.url))
    page.goto((unpacked / "index.html").as_uri())
    page.wait_for_url("**/book/index.html")
    page.locator("table a[href*='03_query']").first.click()
    page.wait_for_url("**/chapters/03_query_key_value.html")
    assert page.locator("math").count() > 10
    assert wrong == []
    page.close()


def test_packing_twice_gives_the_same_bytes(tmp_path: Path):
    (tmp_path / "chapters").mkdir()
    (tmp_path / "index.html").write_text("<p>words</p>")
    (tmp_path / "chapters" / "a.html").write_text("<p>more</p>")
    first = write_archive(tmp_path).read_bytes()
    assert write_archive(tmp_path).read_bytes() == first
    assert zipfile.ZipFile(tmp_path / ARCHIVE).namelist() == [
        f"{Path(ARCHIVE).stem}/{name}" for name in ("chapters/a.html", "index.html")
    ]
