"""Where things are: the book's folders, its chapters in order, and every address it publishes.

The repository's address is written once, in ``_config.yml`` (``repository: url``). A publishing workflow
overrides it with the environment variable ``ATTENTION_REPOSITORY_URL``, so a fork's buttons, install cells
and links point at the fork without an edit.
"""

import os
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Book:
    """A book on disk.

    Args:
        root: the folder that holds ``_config.yml`` and ``_toc.yml``.

    Example:
        >>> Book(ROOT).chapter_number("chapters/04_scores_and_scaling")
        4
    """

    root: Path = ROOT

    @cached_property
    def config(self) -> dict:
        """``_config.yml`` as a dictionary."""
        return yaml.safe_load((self.root / "_config.yml").read_text("utf-8"))

    @cached_property
    def docnames(self) -> list[str]:
        """Every page of the table of contents, in order, without its suffix."""
        toc = yaml.safe_load((self.root / "_toc.yml").read_text("utf-8"))
        parts = toc.get("parts", [toc])
        return [toc["root"]] + [entry["file"] for part in parts for entry in part.get("chapters", [])]

    @property
    def chapters(self) -> list[Path]:
        """The executable chapters, in order."""
        return [self.source(name) for name in self.docnames if name.startswith("chapters/")]

    @property
    def notebooks(self) -> Path:
        """The folder of the generated notebooks."""
        return self.root / "chapters" / "notebooks"

    @property
    def build(self) -> Path:
        """The folder of everything that can be thrown away."""
        return self.root / "_build"

    def source(self, docname: str) -> Path:
        """The Markdown file of a page."""
        return self.root / f"{docname}.md"

    def docname(self, path: Path) -> str:
        """The page's name of a Markdown file: its path from the root, without the suffix."""
        return path.resolve().relative_to(self.root.resolve()).with_suffix("").as_posix()

    @staticmethod
    def chapter_number(docname: str) -> int | None:
        """The number in front of a chapter's file name; None for a page that is no chapter."""
        match = re.fullmatch(r"chapters/(\d+)_\w+", docname)
        return int(match[1]) if match else None

    @property
    def repository_url(self) -> str:
        """The repository, without a trailing slash; ``ATTENTION_REPOSITORY_URL`` comes first."""
        url = os.environ.get("ATTENTION_REPOSITORY_URL") or self.config["repository"]["url"]
        return url.removesuffix("/").removesuffix(".git")

    @property
    def branch(self) -> str:
        """The branch that holds the sources."""
        return self.config["repository"].get("branch", "main")

    @property
    def notebook_branch(self) -> str:
        """The branch to which the publishing workflow pushes the notebooks that Colab opens."""
        return self.config["sphinx"]["config"]["notebook_branch"]

    @property
    def site_url(self) -> str:
        """The published site with a trailing slash; ``ATTENTION_SITE_URL`` comes first."""
        owner, name = self.repository_url.split("/")[-2:]
        url = os.environ.get("ATTENTION_SITE_URL") or f"https://{owner.lower()}.github.io/{name}/"
        return url if url.endswith("/") else url + "/"

    def page_url(self, docname: str, anchor: str = "") -> str:
        """The address of a page of the published site."""
        return f"{self.site_url}{docname}.html" + (f"#{anchor}" if anchor else "")

    def colab_url(self, docname: str) -> str:
        """The address that opens a chapter's notebook in Colab."""
        owner, name = self.repository_url.split("/")[-2:]
        path = f"{self.notebooks.relative_to(self.root).as_posix()}/{Path(docname).name}.ipynb"
        return f"https://colab.research.google.com/github/{owner}/{name}/blob/{self.notebook_branch}/{path}"
