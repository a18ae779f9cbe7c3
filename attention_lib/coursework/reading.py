"""The code cells of what a student handed in, or a sentence why there are none. Nothing of it is run."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["WITHOUT_CODE", "read_cells", "source_of"]

MAX_CODE, MAX_CELLS = 400_000, 2000
WITHOUT_CODE = "a notebook without code"
_KINDS = {
    b"%PDF": "a PDF",
    b"PK\x03\x04": "a zip or an office document",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"\x1f\x8b": "a gzip archive",
    b"Rar!": "a rar archive",
    b"{\\rt": "a rich text document",
}


def read_cells(content: bytes) -> tuple[list[str], str]:
    """The code cells of a notebook or a Python file, and a sentence where there are none.

    Example:
        >>> read_cells(b'{"cells": [{"cell_type": "code", "source": ["a = 1"]}]}')
        (['a = 1'], '')
        >>> read_cells(b"%PDF-1.7 ...")
        ([], 'a PDF, not a notebook')
    """
    for start, kind in _KINDS.items():
        if content.startswith(start):
            return [], f"{kind}, not a notebook"
    if not content.strip():
        return [], "an empty file"
    if b"\0" in content:
        return [], "not text: neither a notebook nor a Python file"
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return [], "not text: neither a notebook nor a Python file"
    if text.lstrip().startswith(("{", "[")):
        return _notebook_cells(text)
    if text.lstrip().startswith("<"):
        return [], "a web page, not a notebook: download the notebook itself"
    return _within_limits([text])


def _notebook_cells(text: str) -> tuple[list[str], str]:
    try:
        told = json.loads(text)
    except (ValueError, RecursionError) as error:
        where = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        return [], f"broken json{where}: the file was cut off or edited by hand; download it again"
    cells = told.get("cells") if isinstance(told, dict) else None
    if cells is None and isinstance(told, dict) and isinstance(told.get("worksheets"), list):
        cells = [cell for sheet in told["worksheets"] if isinstance(sheet, dict) for cell in sheet.get("cells") or []]
    if not isinstance(cells, list):
        return [], "json, but not a notebook: it has no cells"
    return _within_limits(
        [source_of(cell) for cell in cells if isinstance(cell, dict) and cell.get("cell_type") == "code"]
    )


def source_of(cell: dict[str, Any]) -> str:
    """The text of a cell, however it is stored."""
    source = cell.get("source", cell.get("input", ""))
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    return source if isinstance(source, str) else ""


def _within_limits(cells: list[str]) -> tuple[list[str], str]:
    cells = [cell for cell in cells if cell.strip()]
    if not cells:
        return [], WITHOUT_CODE
    if len(cells) > MAX_CELLS or sum(map(len, cells)) > MAX_CODE:
        return [], f"more than {MAX_CODE:,} characters of code"
    return [cell.encode("utf-8", "replace").decode() for cell in cells], ""
