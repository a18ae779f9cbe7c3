#!/usr/bin/env python3
"""Writes the gallery of known mistakes, each shown broken, diagnosed and repaired, from the doctor's own corpus.

python book/tools/doctor_gallery.py            writes book/doctor_gallery.md
python book/tools/doctor_gallery.py --check    fails when the page is not what would be written
"""

import argparse
import sys
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "doctor")]

from specimens import load  # noqa: E402

from attention_lib.doctor import CATALOGUE, diagnose  # noqa: E402
from attention_lib.doctor.catalogue import families  # noqa: E402

PAGE = ROOT / "book" / "doctor_gallery.md"
NOT_SHOWN = {"not-callable", "doctor-failed"}  # no implementation can show them
HEAD = """# Gallery of mistakes

Every mistake below was found in public code, most of them many times. The code was written anew for this page; the
doctor's own tests run on the same lines. Under each you see what the doctor says, word for word, and the repair.

Try it on your own attention: `diagnose(my_attention)` in a notebook, or in a terminal

```text
python -m attention_lib.doctor my_file.py:MyAttention
```

"""
NAMES = {
    "scores": "Scores", "softmax": "Softmax", "values": "Values", "masks": "Masks", "heads": "Heads",
    "modes": "Training and evaluation", "conduct": "Conduct", "variants": "Variants, not mistakes",
}  # fmt: skip
ALONE = {"raises", "mask-raises", "time-limit", "exits"}  # tracebacks and times are not the same everywhere


def page():
    """The whole page as Markdown."""
    chosen = _chosen()
    parts = [HEAD]
    for family, codes in families():
        shown = [code for code in codes if code in chosen]
        if shown:
            parts.append(f"## {NAMES[family]}\n\n" + "\n".join(_entry(code, chosen[code]) for code in shown))
    return "\n".join(parts).rstrip() + "\n"


def _chosen():
    """One specimen a code: with a repair if there is one, with this mistake alone if possible."""
    chosen = {}
    for specimen in sorted(load("wrong"), key=lambda s: (not s.repair, len(s.codes), len(s.source))):
        for code in specimen.codes:
            if code not in ALONE:
                chosen.setdefault(code, specimen)
    return chosen


def _entry(code, specimen):
    diagnosis = diagnose(specimen.fresh(), specimen.kind, **specimen.options)
    chapter = CATALOGUE[code].chapter
    parts = [
        f"### {CATALOGUE[code].title}\n",
        f"```python\n{specimen.source}\n```\n",
        f"`{_call(specimen)}` says:\n",
        f"```text\n{diagnosis}\n```\n",
    ]
    if specimen.repair:
        parts.append(f"Repaired:\n\n```python\n{specimen.repaired}\n```\n")
    parts.append(f"Explained in [chapter {int(chapter[:2])}](../chapters/{chapter}.md).\n")
    return "\n".join(parts)


def _call(specimen):
    words = [specimen.name]
    if specimen.kind != "attention":
        words.append(repr(specimen.kind))
    return f"diagnose({', '.join(words + [f'{k}={v!r}' for k, v in specimen.options.items()])})"


def main():
    """Read the command line; see --help."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    parser.add_argument("--output", type=Path, default=PAGE)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    text = page()
    if not arguments.check:
        arguments.output.write_text(text, encoding="utf-8")
        return 0
    same = arguments.output.exists() and arguments.output.read_text(encoding="utf-8") == text
    if not same:
        print(f"{arguments.output} is not up to date: run {Path(__file__).name}", file=sys.stderr)
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
