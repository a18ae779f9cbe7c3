"""All rows, in the order of the table, and the choice among them."""

from __future__ import annotations

from attention_lib.bench import rows_dense, rows_kernels, rows_layer, rows_sparse
from attention_lib.bench.case import Case
from attention_lib.errors import OptionError

__all__ = ["CASES", "GROWTH", "ROW_NUMBERS", "chosen_cases"]

GROWTH = 13  # errors and slopes; it has no cases of its own
CASES = sorted(
    (*rows_dense.ROWS, *rows_layer.ROWS, *rows_sparse.ROWS, *rows_kernels.ROWS), key=lambda case: case.row
)  # fmt: skip
ROW_NUMBERS = sorted({*(case.row for case in CASES), GROWTH})


def chosen_cases(rows: list[int] | None, *, quick: bool) -> list[Case]:
    """The cases of these rows, all without ``rows``; with ``quick``, the heavy ones only where asked for by row.

    Raises:
        OptionError: A row that is not in the table.

    Example:
        >>> [case.title for case in chosen_cases([5], quick=True)]
        ['window 256, n = 16,384, 1 head']
    """
    unknown = [row for row in rows or [] if row not in ROW_NUMBERS]
    if unknown:
        raise OptionError(f"row {unknown[0]} is not in the table; choose from 1 to {ROW_NUMBERS[-1]}")
    if rows is not None:
        return [case for case in CASES if case.row in rows]
    return [case for case in CASES if not (quick and case.heavy)]
