"""Chapter numbers from file names: ``chapters/04_...`` is chapter 4, its second equation is (4.2).

Sphinx would count pages, so that chapter 4 were number 3 until chapter 2 is written, and every printed
reference moved with it. The notebooks (``bookkit.labels``) count the same way.
"""

from bookkit.book import Book
from sphinx import addnodes
from sphinx.environment import BuildEnvironment


def _renumber(app, env: BuildEnvironment) -> list[str]:
    """Replace the numbers that Sphinx has just given out. Runs after Sphinx's own counting."""
    for docname in env.found_docs:
        chapter = Book.chapter_number(docname)
        if chapter:
            _number_title(env, docname, (chapter,))
        for kind, numbers in env.toc_fignumbers.get(docname, {}).items():
            ordered = sorted(numbers, key=lambda anchor: numbers[anchor])
            prefix = (chapter,) if chapter else ()
            env.toc_fignumbers[docname][kind] = {
                anchor: (*prefix, count) for count, anchor in enumerate(ordered, start=1)
            }
    return []


def _number_title(env: BuildEnvironment, docname: str, number: tuple[int, ...]) -> None:
    """Number a page's title, on the page and in the table of contents; its sections stay unnumbered."""
    env.titles[docname]["secnumber"] = number
    references = list(env.tocs[docname].findall(addnodes.nodes.reference))
    env.toc_secnumbers[docname] = {reference["anchorname"]: None for reference in references}
    env.toc_secnumbers[docname][""] = number
    references[0]["secnumber"] = number


def setup(app) -> dict:
    """Register the extension."""
    app.connect("env-get-updated", _renumber, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
