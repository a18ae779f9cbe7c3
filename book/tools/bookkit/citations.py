"""Author-year text for citations, as on the site."""

from pathlib import Path

from pybtex.database import parse_file


class Citations:
    """The entries of a BibTeX file by key.

    Args:
        path: the ``.bib`` file; a book without one has no entries.
    """

    def __init__(self, path: Path):
        self.path = path
        self.entries = parse_file(str(path)).entries if path.is_file() else {}

    def authors_year(self, key: str) -> tuple[str, str]:
        """("Vaswani et al.", "2017").

        Raises:
            KeyError: the file has no such entry.
        """
        entry = self.entries[key]
        people = entry.persons.get("author") or entry.persons.get("editor") or []
        names = [" ".join(person.prelast_names + person.last_names).strip("{}") for person in people]
        return _shorten(names) or entry.fields.get("title", key), entry.fields.get("year", "n.d.")


def _shorten(names: list[str]) -> str:
    return f"{names[0]} et al." if len(names) > 2 else " and ".join(names)
