"""Every number in a chapter's prose stands in a cell of that chapter, or here with the reason why it need not.

A number is looked for in the code (guards among it) and in the printed output of the chapter's notebook, to
the digits that the prose shows; "80 %" is also found as 0.8, and the exponent of a power of ten as itself.
"""

import re
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "book" / "tools")]

from bookkit.book import Book  # noqa: E402 - the line above makes it importable

STEMS = [path.stem for path in Book().chapters]
IN_PROSE = re.compile(r"-?10\^-?\d+|(?<![\w.])-?\d(?:[\d,]*\d)?(?:\.\d+)?(?!\w)")
IN_CODE = re.compile(r"(?<![A-Za-z\d.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
NOT_A_MEASUREMENT = [
    r"\]\([^)]*\)",  # the target of a link
    r"`[^`]*`",  # code
    r"^#+ .*$",  # a heading
    r"\\tag\{[^}]*\}",  # the number of an equation
    r"\b(?:19|20)\d\d(?=\s*[);,\]])",  # the year of a source
    r"\b(?:[Cc]hapters?|[Ee]quations?|[Ss]ections?|[Ee]xercises?) \(?[\d.]+(?:(?: to | and |, )[\d.]+)*\)?",
    r"\b(?:float|bfloat|int)\d+",  # a number format
    r"\b\d+[- ]bits?\b",
]
# stem -> number as the prose writes it -> why no cell needs to hold it
EXEMPT = {
    "01_rnn_bottleneck": {"49": "a neighbour of token 50, named to compare distances"},
    "13_transformer_and_mobilevit": {"1203": "an example of a numeral", "2021": "a year in an example of a date"},
    "11_training": {"25": "half of the 50 batches of a straight rise"},
    "12_long_sequences": {"23": "81 cells with the two columns, less the 58 without; both are printed"},
    "09_meaning_in_context": {"84": "megabytes of the package, as pip shows them"},
    "05_softmax": {"12": "the next whole score above the limit 11.09"},
}


def prose_numbers(notebook: nbformat.NotebookNode) -> list[str]:
    """The numbers of the Markdown cells, as they are written."""
    numbers = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            text = cell.source
            for pattern in NOT_A_MEASUREMENT:
                text = re.sub(pattern, " ", text, flags=re.M)
            numbers += IN_PROSE.findall(text.replace("{", "").replace("}", ""))
    return numbers


def measured_numbers(notebook: nbformat.NotebookNode) -> list[float]:
    """The numbers of the code cells and of what they printed."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    outputs = [output for cell in code for output in cell.outputs]
    printed = [output.get("text", "") or output.get("data", {}).get("text/plain", "") for output in outputs]
    text = "\n".join([cell.source.replace("_", "") for cell in code] + printed)
    return [float(number) for number in IN_CODE.findall(re.sub(r"(?<=\d),(?=\d{3}\b)", "", text))]


def stands_in_a_cell(written: str, measured: list[float]) -> bool:
    """Whether some number of a cell is this one, rounded as the prose rounds."""
    if "10^" in written:
        return any(_is_power_of_ten(int(written.partition("^")[2]), found) for found in measured)
    number = float(written.replace(",", ""))
    decimals = len(written.partition(".")[2])
    slack = 0.5 * 10**-decimals if decimals else 0.01
    return any(
        abs(abs(found) - abs(number)) <= slack + 1e-9  # itself
        or (number >= 1 and abs(100 * found - number) <= 0.5)  # 0.8 as 80 %
        for found in measured
    )


def _is_power_of_ten(exponent: int, found: float) -> bool:
    """1e-14 as 10^-14; or the power itself, measured as a logarithm: -17.5 as 10^-17."""
    return f"{found:e}".endswith(f"e{exponent:+03d}") or (found != int(found) and abs(found - exponent) <= 0.5)


@pytest.mark.parametrize("stem", STEMS)
def test_every_number_of_the_prose_stands_in_a_cell(stem: str):
    notebook = nbformat.read(Book().notebooks / f"{stem}.ipynb", as_version=4)
    written, measured = prose_numbers(notebook), measured_numbers(notebook)
    exempt = EXEMPT.get(stem, {})
    assert [number for number in exempt if number not in written] == [], "exempt, but no longer in the prose"
    assert [number for number in written if number not in exempt and not stands_in_a_cell(number, measured)] == []


def test_a_number_that_no_cell_holds_is_found():
    cells = [
        nbformat.v4.new_markdown_cell("The best of 32 keys gets 0.16, so 80 % of $10^{-14}$ in float16 is 7,301."),
        nbformat.v4.new_code_cell("assert 0.8 < x < 1e-14, 32", outputs=[]),
    ]
    notebook = nbformat.v4.new_notebook(cells=cells)
    measured = measured_numbers(notebook)
    missing = [number for number in prose_numbers(notebook) if not stands_in_a_cell(number, measured)]
    assert missing == ["0.16", "7,301"]
