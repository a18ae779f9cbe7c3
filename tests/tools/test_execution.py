"""The cache's key sees the library; a chapter that raises is reported with file, line and traceback."""

import subprocess
import sys
from pathlib import Path

from bookkit.execution import cache_path, execution_key, forget_old_caches


def test_a_changed_library_changes_the_key(small_book: Path):
    before = execution_key(small_book)
    assert execution_key(small_book) == before
    module = small_book / "attention_lib" / "__init__.py"
    module.write_text(module.read_text() + "SCALE = 1\n")
    assert execution_key(small_book) != before


def test_a_changed_result_of_a_long_run_changes_the_key(small_book: Path):
    before = execution_key(small_book)
    (small_book / "book" / "results").mkdir()
    (small_book / "book" / "results" / "run.json").write_text("{}")
    assert execution_key(small_book) != before


def test_compiled_files_do_not_change_the_key(small_book: Path):
    before = execution_key(small_book)
    (small_book / "attention_lib" / "__init__.pyc").write_bytes(b"1")
    assert execution_key(small_book) == before


def test_only_the_current_cache_is_kept(small_book: Path):
    current = cache_path(small_book)
    for folder in (current, current.parent / "0123456789ab"):
        folder.mkdir(parents=True)
    forget_old_caches(small_book)
    assert [path.name for path in current.parent.iterdir()] == [current.name]


def test_a_cell_that_raises_fails_with_file_line_and_traceback(small_book: Path):
    chapter = small_book / "chapters" / "07_second.md"
    chapter.write_text(chapter.read_text().replace("[number**2", "1 / 0\n[number**2"))
    line = chapter.read_text().split("\n").index("1 / 0") + 1
    toc = small_book / "_toc.yml"
    toc.write_text(toc.read_text().replace("      - file: chapters/02_every_construct\n", ""))
    command = [sys.executable, str(small_book / "book/tools/execute.py"), "--root", str(small_book)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"07_second.md:{line}:" in done.stderr
    assert "ZeroDivisionError: division by zero" in done.stderr
