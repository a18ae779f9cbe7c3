"""What lies in a folder of submissions: whose it is, which one counts, and the code cells in it."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from attention_lib.coursework.reading import read_cells

__all__ = ["MAX_BYTES", "Submission", "collect", "doubts", "read_submission", "safe_name"]

MAX_BYTES = 30 << 20
_COPY = re.compile(r"(?:[ _]\(\d+\)| - copy(?: \d+)?|-\d)+$", re.I)
_CANVAS = re.compile(r"^(?P<name>[^_]+?)(?P<late>_LATE)?_(?P<id>\d+)_(?P<file>\d+)_.+$", re.I)
_MOODLE = re.compile(r"^(?P<name>.+)_(?P<id>\d+)_assignsubmission_(?:file|onlinetext)_?$")
_SUBMISSION = re.compile(r"\.submission$", re.I)
_SEVERAL = 4  # files with as many different names in one folder are hardly one student's
CALLED_LATE = "Canvas calls it late"
NAMELESS = "the file does not say whose it is"
# What systems and this grader leave beside submissions. A name with a dot in front may be a student's.
_IGNORED = re.compile(
    r"^(\._.*|\.DS_Store|\.ipynb_checkpoints|\.git|~\$.*|__MACOSX|__pycache__|Thumbs\.db|desktop\.ini"
    r"|submission_metadata\.yml|.*\.csv(\.journal)?(\.new)?)$"
)


@dataclass(frozen=True)
class Submission:
    """One file that a student handed in.

    Attributes:
        student: Name, as the file or its folder says it.
        id: Number in the learning management system, where the name of the file has one.
        file: Path within the folder.
        cells: Sources of its code cells; empty where ``problem`` says why.
        problem: Why it cannot be graded.
        digest: Fingerprint of its content.
        moment: When the file was last written, in seconds.
        others: Older files of the same student.
        note: What the teacher should know about it; it stands before the reason.
    """

    student: str
    id: str
    file: str
    cells: tuple[str, ...] = ()
    problem: str = ""
    digest: str = ""
    moment: float = 0.0
    others: tuple[str, ...] = ()
    note: str = ""


def safe_name(name: str) -> str:
    """A name that is safe as a single folder or file: no separators, no dots in front, not empty.

    Example:
        >>> safe_name("../../etc/passwd"), safe_name("Müller, 伟"), safe_name("..")
        ('etc_passwd', 'Müller, 伟', 'unnamed')
    """
    text = unicodedata.normalize("NFC", name)
    text = "".join("_" if c in '/\\:*?"<>|' or not c.isprintable() else c for c in text)
    text = re.sub(r"(?:^|_)\.+(?=_|$)", "_", text).strip(" ._")
    return text[:120] or "unnamed"


def collect(folder: Path, assignment: str = "") -> list[Submission]:
    """The submission of every student in a folder: the newest file counts, the others are named.

    Files may lie side by side (``Ada Lovelace.ipynb``, Canvas' ``lovelaceada_12_34_x.ipynb``) or in a folder for each
    student (Moodle, nbgrader, or plain names). A folder with nothing in it is a student too.

    Args:
        folder: Where they lie.
        assignment: Id of the assignment: a file that only bears its name says nothing about whose it is, so that each
            such file is a row of its own.
    """
    found: dict[str, list[Submission]] = {}
    for path in _files(folder):
        one = _identified(path, folder, assignment)
        owner = one.file if one.note == NAMELESS else one.id or unicodedata.normalize("NFC", one.student).casefold()
        found.setdefault(owner, []).append(one)
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.is_symlink() and not _IGNORED.search(path.name) and not any(_files(path)):
            one = replace(_identified(path / "-", folder), file=_one_line(path.name), problem="an empty folder")
            found.setdefault(one.id or unicodedata.normalize("NFC", one.student).casefold(), [one])
    chosen = []
    for candidates in found.values():
        candidates.sort(key=lambda one: (_may_be_notebook(one.file), one.moment, one.file))
        newest = candidates[-1]
        chosen.append(replace(newest, others=tuple(one.file for one in candidates[:-1])))
    return sorted(chosen, key=lambda one: (one.student.casefold(), one.file))


def doubts(found: Iterable[Submission]) -> list[str]:
    """What looks wrong about whose files these are, a sentence for each kind."""
    told, found = [], list(found)
    nameless = [one.file for one in found if one.note == NAMELESS]
    if nameless:
        named = ", ".join(nameless[:3]) + ", ..." * (len(nameless) > 3)
        told.append(
            f"{len(nameless)} files do not say whose they are ({named}): "
            "rename them, or put each into a folder with the student's name"
        )
    for one in found:
        names = {_COPY.sub("", Path(name).stem) for name in (one.file, *one.others)}
        if len(names) >= _SEVERAL:
            told.append(
                f"{len(names)} files with different names count as those of one student, {one.student!r}; "
                "if that is a folder of several students, give that folder to the command"
            )
    return told


def _may_be_notebook(name: str) -> bool:
    """A report beside a notebook never takes its place, however new it is."""
    return name.lower().endswith((".ipynb", ".py"))


def _files(folder: Path) -> Iterable[Path]:
    for place, folders, names in os.walk(folder, followlinks=False):
        folders[:] = sorted(name for name in folders if not _IGNORED.search(name))
        for name in sorted(names):
            if not _IGNORED.search(name):
                yield Path(place) / name


def _identified(path: Path, folder: Path, assignment: str = "") -> Submission:
    inside = path.relative_to(folder)
    note = ""
    text = os.fsencode(str(inside)).decode("utf-8", "replace")
    if len(inside.parts) > 1:
        named = os.fsencode(inside.parts[0]).decode("utf-8", "replace")
        match = _MOODLE.match(named)
    else:
        named = os.fsencode(inside.stem).decode("utf-8", "replace")
        match = _CANVAS.match(named)
        named, note = _without_assignment(named, assignment)
    student, number = (match["name"], match["id"]) if match else (named, "")
    moment = (path if path.exists() or path.is_symlink() else path.parent).lstat().st_mtime
    if match:
        note = CALLED_LATE if match.groupdict().get("late") else ""
    return Submission(_one_line(student) or "unnamed", number, _one_line(text), moment=moment, note=note)


def _without_assignment(stem: str, assignment: str) -> tuple[str, str]:
    """The part of a file's name that says whose it is: "Ada - attention.submission (1)" is Ada's."""
    whole, stem = stem, _COPY.sub("", stem)
    said = _SUBMISSION.sub("", stem)
    if assignment and said.casefold().endswith(assignment):
        before = said[: -len(assignment)]
        if not before.strip(" _-"):
            return whole, NAMELESS
        if before[-1] in " _-":
            said = before.rstrip(" _-")
    return (whole, NAMELESS) if not said else (said, "")


def _one_line(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text).strip()


def read_submission(one: Submission, folder: Path) -> Submission:
    """The submission with its cells, or with the reason why there are none. Never raises."""
    if one.problem:
        return one
    try:
        path = folder / one.file
        if not path.exists():  # a name that is not text
            path = next((p for p in _files(folder) if _identified(p, folder).file == one.file), path)
        about = path.lstat()
        if not stat.S_ISREG(about.st_mode):
            return replace(one, problem="not a file but a link or a device")
        if about.st_size > MAX_BYTES:
            size = about.st_size / (1 << 20)
            return replace(
                one,
                problem=f"{size:.0f} MB, more than {MAX_BYTES >> 20} MB: clear the outputs and hand in again",
                digest=f"size {about.st_size}",
            )
        content = path.read_bytes()
    except OSError as error:
        return replace(one, problem=f"cannot be read: {error.strerror or error}")
    digest = hashlib.sha256(content).hexdigest()
    cells, problem = read_cells(content)
    return replace(one, cells=tuple(cells), problem=problem, digest=digest)
