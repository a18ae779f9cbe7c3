"""Every number in a chapter's prose stands in a cell of that chapter, or here with the reason why it need not.

A number is looked for in what the chapter's notebook printed, then in its guards, then in its other code, to the digits
that the prose shows; "80 %" is also found as 0.8, and the exponent of a power of ten as itself. The two ends of a
guarded interval and a tolerance are not measured values: they say how far one may be off. Where each number was
found is kept in ``_build/numbers_in_prose``.
"""

import ast
import re
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "book" / "tools")]

from bookkit.book import Book  # noqa: E402 - the line above makes it importable

KEPT = ROOT / "_build" / "numbers_in_prose"
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


def measured_numbers(notebook: nbformat.NotebookNode) -> dict[str, list[float]]:
    """Where a number may stand -> the numbers there."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    outputs = [output for cell in code for output in cell.outputs]
    printed = [output.get("text", "") or output.get("data", {}).get("text/plain", "") for output in outputs]
    trees = [ast.parse(re.sub(r"^(\s*)[%!].*$", r"\1pass", cell.source, flags=re.M)) for cell in code]
    guards = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Assert)]
    guarded = {id(node) for guard in guards for node in ast.walk(guard)}
    bounds = {id(node) for guard in guards for part in ast.walk(guard) for node in _bounds(part)}
    plain = [node for tree in trees for node in ast.walk(tree) if id(node) not in guarded]
    kept = [node for guard in guards for node in ast.walk(guard) if id(node) not in bounds]
    numbers = re.sub(r"(?<=\d),(?=\d{3}\b)", "", "\n".join(printed))
    return {
        "printed": [float(number) for number in IN_CODE.findall(numbers)],
        "guarded": _literals(kept),
        "set in code": _literals(plain),
    }


def _bounds(part: ast.AST) -> list[ast.AST]:
    """What surrounds a measured value in a guard: low < x < high, abs(x - y) < tolerance, atol=tolerance."""
    if isinstance(part, ast.keyword) and part.arg in ("atol", "rtol"):
        return list(ast.walk(part.value))
    if not isinstance(part, ast.Compare) or not all(isinstance(op, ast.Lt | ast.LtE) for op in part.ops):
        return []
    ends = [part.left, part.comparators[-1]]
    if len(part.ops) == 2:
        return [node for end in ends for node in ast.walk(end)]
    return list(ast.walk(ends[1])) if ast.unparse(part.left).startswith("abs(") else []


def _literals(nodes: list[ast.AST]) -> list[float]:
    """The numbers among these nodes, in words and f-strings too."""
    values = [node.value for node in nodes if isinstance(node, ast.Constant)]
    numbers = [float(value) for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    return numbers + [float(n) for value in values if isinstance(value, str) for n in IN_CODE.findall(value)]


def place_of(written: str, measured: dict[str, list[float]]) -> str:
    """Where this number stands, "" if nowhere."""
    return next((place for place, numbers in measured.items() if _is_among(written, numbers)), "")


def _is_among(written: str, measured: list[float]) -> bool:
    """Whether some number is this one, rounded as the prose rounds."""
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
    places = [(number, exempt.get(number) or place_of(number, measured)) for number in written]
    KEPT.mkdir(parents=True, exist_ok=True)
    (KEPT / f"{stem}.txt").write_text("".join(f"{number:>10}  {place}\n" for number, place in places), encoding="utf-8")
    assert [number for number in exempt if number not in written] == [], "exempt, but no longer in the prose"
    assert [number for number, place in places if not place] == []


def test_a_number_that_no_cell_holds_is_found():
    prose = "The best of 32 keys gets 0.16, so 80 % of $10^{-14}$ in float16 is 7,301: 1.4 to 1.6 by 0.05, 2 or 12."
    guard = "assert 0.8 < x < y\nassert y == 1e-14, 32\nassert 1.4 < x < 1.6 and abs(x - 12) < 0.05\nn = 80"
    cells = [
        nbformat.v4.new_markdown_cell(prose),
        nbformat.v4.new_code_cell(guard, outputs=[nbformat.v4.new_output("stream", text="x is 1.9999")]),
    ]
    notebook = nbformat.v4.new_notebook(cells=cells)
    measured = measured_numbers(notebook)
    places = {number: place_of(number, measured) for number in prose_numbers(notebook)}
    assert [number for number, place in places.items() if not place] == ["0.16", "7,301", "1.4", "1.6", "0.05"]
    assert (places["2"], places["12"], places["80"]) == ("printed", "guarded", "set in code")
