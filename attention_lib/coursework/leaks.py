"""Looks for solutions in what is about to be published: in code, prose, outputs, metadata, attachments, archives.

What counts as a solution is read from the assignment's folder: its marks, the lines of every answer and hidden check,
and their shape with the names taken out, so that renamed variables hide nothing.
"""

from __future__ import annotations

import base64
import binascii
import io
import json
import keyword
import re
import tokenize
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attention_lib.coursework.release import BEGIN, END, cells_of, stubbed, tags_of

__all__ = ["Leak", "Secrets", "secrets_of", "texts_in"]

_MARK = re.compile(r"course-secret: ([\w-]+)")
_PACKED = re.compile(r"[A-Za-z0-9+/_-]{40,}={0,2}")
_SHORTEST = 22  # characters of a line, without spaces, that say something
_WINDOW = 18  # tokens
_DEPTH = 3


@dataclass(frozen=True)
class Leak:
    """A piece of a solution, and where it stands."""

    where: str
    what: str


class Secrets:
    """What must not be published of one assignment.

    Args:
        marks: Words that stand in secret files only.
        secret: Sources of answers and hidden checks.
        given: What students are given anyway.
    """

    def __init__(self, marks: Iterable[str], secret: Iterable[str], given: Iterable[str]) -> None:
        self.marks = sorted(set(marks))
        open_lines, open_shapes = set[str](), set[tuple[str, ...]]()
        for text in given:
            open_lines |= set(_lines(text))
            open_shapes |= set(_shapes(text))
        self.lines, self.shapes = set[str](), set[tuple[str, ...]]()
        for text in secret:
            self.lines |= set(_lines(text)) - open_lines
            self.shapes |= {shape for shape in _shapes(text) if _tells(shape)} - open_shapes

    def leaks(self, content: bytes | str, where: str, *, marks_only: bool = False) -> list[Leak]:
        """What a file gives away.

        Args:
            content: A notebook, a page, an archive, or any text.
            where: How to call it.
            marks_only: Look for marks alone, as in the library, whose code the assignments are about.
        """
        found: dict[str, Leak] = {}
        for place, text in texts_in(content, where):
            for what in self._in_text(text, marks_only):
                found.setdefault(f"{place}: {what}", Leak(place, what))
        return list(found.values())

    def _in_text(self, text: str, marks_only: bool) -> Iterator[str]:
        for mark in self.marks:
            if mark in text:
                yield f"mark of a secret file: {mark}"
        if BEGIN in text or END in text:
            yield "marker of a solution"
        if marks_only:
            return
        for line in _lines(text):
            if line in self.lines:
                yield f"line of a solution: {line[:60]}"
        joined = re.sub(r"\s+", "", text)
        if any(line in joined for line in self.lines if len(line) >= 34):
            yield "a line of a solution inside a longer text"
        if any(shape in self.shapes for shape in _shapes(text)):
            yield "a solution with other names"


def secrets_of(folder: Path) -> Secrets:
    """The secrets of an assignment, from its folder."""
    secret, given = [], []
    for cell in cells_of(folder):
        tags = tags_of(cell)
        if "hidden-check" in tags:
            secret.append(cell.node.source)
        elif "answer" in tags:
            secret.append(_solutions(cell.node.source))
            given.append(stubbed(cell.node.source))
        else:
            given.append(cell.node.source)
    files = [folder / "checks.py", *sorted((folder / "correct").glob("*.py"))]
    texts = [path.read_text(encoding="utf-8") for path in files if path.is_file()]
    marks = {mark for text in texts for mark in _MARK.findall(text)}
    # Titles, goals and points of checks.py are published; its reference and its checks are not.
    public = {line for text in texts[:1] for line in _lines(text[text.find("ASSIGNMENT =") :])}
    return Secrets(marks, [*secret, *(_without(text, public) for text in texts)], given)


def _solutions(code: str) -> str:
    parts = re.findall(rf"{re.escape(BEGIN)}\n(.*?){re.escape(END)}", code, flags=re.S)
    return "\n".join(parts)


def _without(text: str, public: set[str]) -> str:
    return "\n".join(line for line in text.split("\n") if not public.intersection(_lines(line)))


def _lines(text: str) -> Iterator[str]:
    """Lines without spaces and comment signs, where they are long enough to say something."""
    for line in text.split("\n"):
        bare = re.sub(r"\s+", "", line).lstrip("#>-*`").rstrip("`")
        if len(bare) >= _SHORTEST and any(c in bare for c in "=(.") and not bare.startswith(("import", "from", "def")):
            yield bare


def _shapes(text: str) -> Iterator[tuple[str, ...]]:
    """Windows of tokens from the start of each line on, every plain name replaced by the same word."""
    tokens: list[str] = []
    starts: list[int] = []
    for line in text.split("\n"):
        starts.append(len(tokens))
        previous = ""
        for kind, word in _tokens(line):
            plain = kind == tokenize.NAME and previous != "." and not keyword.iskeyword(word)
            tokens.append("name" if plain else word)
            previous = word
    for start in dict.fromkeys(starts):
        if start + _WINDOW <= len(tokens):
            yield tuple(tokens[start : start + _WINDOW])


def _tells(shape: tuple[str, ...]) -> bool:
    """A window of brackets, commas and names alone could stand anywhere."""
    telling = [
        word
        for word in shape
        if word not in ("name", ",", "(", ")", "=", ".", "[", "]", ":", "in", "for", "return", "torch")
    ]
    return len(telling) >= 5 and len(set(telling)) >= 4 and not all(word[:1] in "\"'" for word in telling)


def _tokens(line: str) -> list[tuple[int, str]]:
    """Python's tokens of one line of any text, without the signs of comments and quotations in front."""
    wanted = (tokenize.NAME, tokenize.OP, tokenize.NUMBER, tokenize.STRING)
    bare = re.sub(r"^[\s#>*`]+", "", line)
    try:
        found = tokenize.generate_tokens(io.StringIO(bare).readline)
        return [(token.type, token.string) for token in found if token.type in wanted]
    except (tokenize.TokenError, IndentationError, SyntaxError):
        return [(tokenize.NAME if w.isidentifier() else tokenize.OP, w) for w in re.findall(r"\w+|[^\w\s]", bare)]


def texts_in(content: bytes | str, where: str, depth: int = 0) -> Iterator[tuple[str, str]]:
    """Every text in a file: strings of json at any depth, members of archives, what is base64, hex or zlib."""
    if depth > _DEPTH:
        return
    if isinstance(content, bytes):
        yield from _in_bytes(content, where, depth)
        return
    stripped = content.lstrip()
    if stripped.startswith(("{", "[")):
        try:
            told = json.loads(content)
        except (ValueError, RecursionError):
            told = None
        if told is not None:
            yield from _in_json(told, where, depth)
            return
    yield where, content
    yield from _packed(content, where, depth)


def _in_bytes(content: bytes, where: str, depth: int) -> Iterator[tuple[str, str]]:
    if content.startswith(b"PK\x03\x04"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for name in archive.namelist():
                yield where, name
                yield from texts_in(archive.read(name), f"{where}!{name}", depth + 1)
        return
    if content[:2] in (b"x\x9c", b"x\xda", b"\x1f\x8b"):
        try:
            yield from texts_in(zlib.decompress(content, 47), f"{where} (compressed)", depth + 1)
            return
        except zlib.error:
            pass
    yield from texts_in(content.decode("utf-8", "replace"), where, depth)


def _in_json(told: Any, where: str, depth: int) -> Iterator[tuple[str, str]]:
    if isinstance(told, dict):
        for name, value in told.items():
            yield f"{where} / key", str(name)
            yield from _in_json(value, f"{where} / {str(name)[:30]}", depth)
    elif isinstance(told, list):
        if told and all(isinstance(part, str) for part in told):
            yield from texts_in("".join(told), where, depth + 1)
            yield where, "\n".join(told)
        else:
            for number, value in enumerate(told):
                yield from _in_json(value, f"{where}[{number}]", depth)
    elif isinstance(told, str):
        yield from texts_in(told, where, depth + 1)


def _packed(text: str, where: str, depth: int) -> Iterator[tuple[str, str]]:
    flat = re.sub(r"\n", "", text) if len(text) < 2_000_000 else text
    for word in {*_PACKED.findall(text), *_PACKED.findall(flat)}:
        for unpack in (_base64, bytes.fromhex):
            try:
                raw = unpack(word)
            except (ValueError, binascii.Error):
                continue
            if raw[:2] in (b"x\x9c", b"x\xda", b"\x1f\x8b", b"PK") or _readable(raw):
                yield from texts_in(raw, f"{where} (packed)", depth + 1)


def _base64(word: str) -> bytes:
    word = word.rstrip("=").replace("-", "+").replace("_", "/")
    return base64.b64decode(word + "=" * (-len(word) % 4), validate=True)


def _readable(raw: bytes) -> bool:
    return sum(32 <= byte < 127 or byte in (9, 10, 13) for byte in raw) >= 0.9 * len(raw)
