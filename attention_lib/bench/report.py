"""The report as text: what was measured of each case, then every target with its verdict."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attention_lib.bench.measure import Measured, Variant
from attention_lib.bench.roof import Roof
from attention_lib.bench.run import Report
from attention_lib.bench.verdict import names

__all__ = ["as_columns", "as_text", "megabytes", "milliseconds"]


def as_text(report: Report) -> str:
    """Both tables, with what they were measured on."""
    blocks = [_heading(report)]
    blocks += [_case(case, report.roof) for case in report.cases]
    blocks.append(_verdicts(report))
    return "\n\n".join(blocks)


def milliseconds(variant: Variant) -> str:
    """Median and minimum, for each number of threads."""
    return "  ".join(
        f"{1000 * variant.median(count):.3g} ({1000 * min(taken):.3g})" for count, taken in variant.seconds.items()
    )


def megabytes(size: int | None) -> str:
    """Bytes as MiB."""
    return "" if size is None else f"{size / 2**20:.1f}"


def as_columns(rows: Iterable[Sequence[str]]) -> str:
    """Rows of text, each column as wide as its widest entry."""
    rows = [list(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def share_of_roof(variant: Variant, case: Measured, roof: Roof) -> str:
    """The share with the first number of threads, in per cent."""
    for count in variant.seconds:
        share = roof.share(count, variant.median(count), case.multiplications, case.bytes)
        return f"{share:.0%}" if share else ""
    return ""


def _heading(report: Report) -> str:
    machine, threads = report.machine, " and ".join(map(str, report.threads))
    return (
        f"{report.date}, torch {report.torch}, {machine.get('gpu') or machine['processor']}, {machine['cores']} cores, "
        f"{threads} thread{'s' if report.threads != [1] else ''}, {report.rounds} rounds"
        f"{', quick sizes' if report.quick else ''}; load {report.load[0]} before, {report.load[1]} after\n"
        f"Times: {'milliseconds by events' if 'gpu' in machine else 'milliseconds of processor time'}, median (least), "
        "one column a number of threads. Memory: MiB above the start. Error: against float64. Roof: share of what the "
        "machine can do."
    )


def _case(case: Measured, roof: Roof) -> str:
    rows = [("", "ms", "MiB", "error", "roof")]
    for each in case.variants:
        if each.failure:
            rows.append((each.name, "raised", "", "", each.failure))
            continue
        error = "" if each.error is None else f"{each.error:.1e}"
        rows.append((each.name, milliseconds(each), megabytes(each.peak_bytes), error, share_of_roof(each, case, roof)))
    lines = [f"{case.row}. {case.title}", as_columns(rows)]
    lines += [f"{name}: absent: {why}" for name, why in case.absent.items()]
    return "\n".join(lines)


def _verdicts(report: Report) -> str:
    rows = [("row", "case", "target", "measured", "verdict")]
    for name, each in zip(names(report.verdicts), report.verdicts, strict=True):
        word = f"{each.verdict}: {each.why}" if each.why else each.verdict
        rows.append((name, each.title, each.target, each.measured(), word))
    counts = {
        word: sum(each.verdict == word for each in report.verdicts) for word in ("met", "tie", "missed", "not measured")
    }
    return as_columns(rows) + "\n\n" + ", ".join(f"{number} {word}" for word, number in counts.items())
