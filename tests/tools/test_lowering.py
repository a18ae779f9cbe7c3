"""MyST to plain Markdown: each construct once, and whatever is unknown fails at its own line."""

import json
from pathlib import Path

import pytest
from bookkit.book import Book
from bookkit.context import Context
from bookkit.errors import BookError
from bookkit.lowering import leftovers, lower
from bookkit.notebook import as_bytes, build_notebook
from bookkit.source import Text

SITE = "https://attention-step-by-step-.github.io/attention/"
CHAPTER = "chapters/02_every_construct"


@pytest.fixture
def context(small_book: Path) -> Context:
    return Context(Book(small_book))


@pytest.fixture
def lowered(context: Context) -> str:
    """All Markdown cells of the fixture's chapter, as one text."""
    notebook = build_notebook(context.book.source(CHAPTER), context, outputs=False)
    return "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def lower_text(context: Context, text: str, line: int = 1) -> str:
    return lower(Text(text, context.book.source(CHAPTER), line), context)


@pytest.mark.parametrize(
    "expected",
    [
        "# 2. Every construct, with $d_k$",
        f"A [query]({SITE}book/glossary.html#term-query) meets [its weights]",
        f"Read [[Hochreiter and Schmidhuber, 1997]({SITE}book/bibliography.html), [Vaswani et al., 2017](",
        "or [Hochreiter and Schmidhuber (1997)](",
        "`{ref}` stays, and so does $a_{ij}$",
        f"[a role that breaks its line]({SITE}{CHAPTER}.html#sec-formulas)",
        "\\sum_j e^{s_j}}\n\\tag{2.1}\n$$",
        "$$\n\\begin{aligned}\nS &= Q K^\\top \\\\",
        "\\end{pmatrix}\n\\tag{2.3}\n$$",
        "$$ \\text{no label} $$",
        f"in another chapter, [(7.1)]({SITE}chapters/07_second.html#equation-eq-second)",
        f"| `code` | [The second chapter]({SITE}chapters/07_second.html#ch-second) and [Formulas](",
        "> **Note**\n>\n> A note with [query](",
        "> **A title of its own**\n>\n> Body with $x$.",
        "<details>\n<summary>Tip</summary>\n\nA folded tip.\n\n</details>",
        "<details>\n<summary>More</summary>",
        "> **Aside**\n>\n> A margin note.",
        "**Loop**\n\nOne step at a time.\n\n**Matrix**\n\nAll at once.",
        "**Theorem 2.1 (Rows)**\n\nEvery row sums to 1.",
        "**Proof**\n\nDivide by the sum.",
        "By [Theorem 2.1](",
        "![A single dot](attachment:dot.png)\n\n**Fig. 2.1** A dot, with a [query](",
        "shows a dot; [picture 2.1](",
        "**Exercise 2.1 (Add)**\n\nWhat is $3 + 4$?",
        "<summary>Solution to Exercise 2.1 (Add)</summary>\n\nIt is 7.",
        "**Exercise 2.2**\n\nAs [Exercise 2.1](",
        f"[chapter 7]({SITE}chapters/07_second.html)",
    ],
)
def test_each_construct_becomes_plain_markdown(lowered: str, expected: str):
    assert expected in lowered


def test_nothing_of_myst_is_left(lowered: str):
    assert leftovers(lowered) == []
    assert "A comment" not in lowered
    assert "(sec-formulas)=" not in lowered


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("one\n\n```{mermaid}\nx\n```", 3, r"directive \{mermaid\} is not in the allowed syntax"),
        ("one\n\n:::{glue} x\n:::", 3, r"directive \{glue\} is not"),
        ("```{note}\n\nan {abbr}`x`\n```", 3, r"role \{abbr\} is not in the allowed syntax"),
        ("one\ntwo {doc}`index`", 2, r"role \{doc\} is not"),
        ("a {ref}`no-such-label`", 1, "unknown label 'no-such-label'"),
        ("a {eq}`sec-formulas`", 1, "is a section, not an equation"),
        ("a {numref}`sec-formulas`", 1, "has no number"),
        ("a {term}`no such term`", 1, "is not in the glossary"),
        ("a {cite:p}`nobody2000`", 1, r"'nobody2000' is not in references.bib"),
        ("[a](no_such_file.md)", 1, "no such file"),
        ("[a](#no-such-label)", 1, "unknown label"),
        ("x\n\n![](dot.png)", 3, "has no alt text"),
        ("```{image} dot.png\n```", 1, "has no :alt: text"),
        ("<div>raw</div>", 1, "raw HTML is not allowed"),
        ("a <kbd>k</kbd>", 1, "raw HTML '<kbd>'"),
        ("a[^1]\n\n[^1]: b", 1, "footnotes do not work in Colab"),
        ("- item\n\n  ```{note}\n  x\n  ```", 3, "inside a list or a quotation"),
        (":::\nno name\n:::", 1, "needs a directive's name"),
    ],
)
def test_what_is_not_allowed_names_file_and_line(context: Context, text: str, line: int, message: str):
    with pytest.raises(BookError, match=message) as caught:
        lower_text(context, text, line=10)
    assert f"02_every_construct.md:{9 + line}:" in str(caught.value)


def test_a_label_used_twice_is_an_error(small_book: Path):
    second = small_book / "chapters" / "07_second.md"
    second.write_text(second.read_text().replace("eq-second", "eq-softmax"))
    with pytest.raises(BookError, match=r"07_second.md:\d+: label 'eq-softmax' is already used in chapters/02"):
        Context(Book(small_book))


def test_a_number_in_a_title_is_an_error(small_book: Path):
    second = small_book / "chapters" / "07_second.md"
    second.write_text(second.read_text().replace("# The second", "# 7. The second"))
    context = Context(Book(small_book))
    with pytest.raises(BookError, match="leave the number out"):
        build_notebook(second, context, outputs=False)


def test_the_notebook_is_the_same_every_time(small_book: Path):
    path = Book(small_book).source(CHAPTER)
    first, second = (as_bytes(build_notebook(path, Context(Book(small_book)), False)) for _ in range(2))
    assert first == second
    assert json.loads(first)["metadata"]["kernelspec"]["name"] == "python3"


def test_ids_stay_when_another_cell_changes(context: Context):
    path = context.book.source(CHAPTER)
    before = [cell.id for cell in build_notebook(path, context, outputs=False).cells]
    path.write_text(path.read_text().replace("seven is", "the sum is"))
    after = [cell.id for cell in build_notebook(path, context, outputs=False).cells]
    assert len(set(before)) == len(before)
    assert sum(a != b for a, b in zip(before, after, strict=True)) == 1


def test_guards_and_solutions_are_folded_and_keep_their_tags(context: Context):
    notebook = build_notebook(context.book.source(CHAPTER), context, outputs=False)
    folded = [cell for cell in notebook.cells if cell.metadata.get("jupyter", {}).get("source_hidden")]
    assert [cell.metadata.tags for cell in folded] == [["remove-cell"], ["hide-cell"]]
    assert {cell.metadata.cellView for cell in folded} == {"form"}


def test_the_first_cells_link_and_install(context: Context, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ATTENTION_REPOSITORY_URL", "https://github.com/Someone/fork.git/")
    links, install = build_notebook(context.book.source(CHAPTER), context, outputs=False).cells[:2]
    assert "github/Someone/fork/blob/gh-pages/chapters/notebooks/02_every_construct.ipynb" in links.source
    assert "https://someone.github.io/fork/chapters/02_every_construct.html" in links.source
    assert '"attention-lib @ git+https://github.com/Someone/fork"' in install.source
    assert "torch" not in install.source
