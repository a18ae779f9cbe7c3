#!/usr/bin/env python3
"""Write the student notebooks and the site's pages of the coursework, or check that they are in step.

The notebooks in chapters/coursework/ are those of the open course key; a course draws its own with
`python -m attention_lib.coursework release`.
"""

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from attention_lib.coursework.leaks import secrets_of  # noqa: E402
from attention_lib.coursework.model import load_assignment  # noqa: E402
from attention_lib.coursework.release import OPEN_KEY, release  # noqa: E402

COURSE = ROOT / "tests" / "coursework"
ORDER = ("scores", "softmax", "attention", "masks", "heads", "window", "written")


def files():
    """Every generated file with its content.

    Raises:
        SystemExit: A solution would be published.
    """
    made = {}
    for name in ORDER:
        folder = COURSE / name
        released = release(folder, load_assignment(folder).variant(OPEN_KEY))
        secrets = secrets_of(folder)
        for path, content in (
            (ROOT / "chapters" / "coursework" / f"{name}.ipynb", released.notebook),
            (ROOT / "book" / "coursework" / f"{name}.md", released.page.encode()),
        ):
            leaks = secrets.leaks(content, path.name)
            if leaks:
                raise SystemExit(f"{path.name} would publish a solution: {leaks[0].where}: {leaks[0].what}")
            made[path] = content
    return made


def main():
    """Read the command line; see --help."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file is out of step")
    check = parser.parse_args().check
    made = files()
    changed = [path for path, content in made.items() if not path.is_file() or path.read_bytes() != content]
    extra = [path for folder, kind in (("chapters/coursework", "ipynb"), ("book/coursework", "md"))
             for path in sorted((ROOT / folder).glob(f"*.{kind}")) if path not in made]  # fmt: skip
    for path in [*changed, *extra]:
        if check:
            print(f"{path.relative_to(ROOT)}: out of step; run python book/tools/coursework.py", file=sys.stderr)
        elif path in extra:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(made[path])
    print(f"coursework: {len(made)} files, {len(changed) + len(extra)} {'out of step' if check else 'changed'}")
    return 1 if check and (changed or extra) else 0


if __name__ == "__main__":
    sys.exit(main())
