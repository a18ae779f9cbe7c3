"""Finds a student's code by the names it defines, whatever happened to the notebook around it.

Kept are the definitions, imports and constants that the wanted names need, in their order. Calls that only print,
plot or train are left out, and so are the teacher's cells: deleting, doubling or renaming them changes nothing.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Sequence

__all__ = ["bound_names", "needed_statements", "statements_of"]

_MAGIC = re.compile(r"(\s*)([%!?].*|[\w.]+\?{1,2}\s*)")
_JOINED = 4  # a definition may have been split over this many cells
_BUILT_IN = frozenset(dir(builtins))


def statements_of(cells: Sequence[str]) -> tuple[list[ast.stmt], list[str]]:
    """All statements of the cells that can be read, and a sentence for each cell that cannot.

    Args:
        cells: Sources of the code cells, in order.
    """
    groups: list[tuple[str, list[ast.stmt]]] = []
    troubles: list[str] = []
    sources = [_without_magics(cell) for cell in cells]
    number = 0
    while number < len(sources):
        used, dropped, group = _readable(sources, number, groups)
        if group is None:
            troubles.append(f"cell {number + 1} cannot be read: {_parsed(sources[number])}")
        else:
            groups[len(groups) - dropped :] = [group]
        number += used
    return [statement for _, found in groups for statement in found], troubles


def _readable(
    sources: Sequence[str], number: int, groups: Sequence[tuple[str, list[ast.stmt]]]
) -> tuple[int, int, tuple[str, list[ast.stmt]] | None]:
    """The cell as a group, joined with cells behind it, or before it, where a definition was split in two.

    Returns:
        How many cells it took, how many groups before it became part of it, and the group.
    """
    for dropped in (0, 1):
        if dropped > len(groups):
            break
        before = [groups[-1][0]] if dropped else []
        for used in range(1, min(_JOINED, len(sources) - number) + 1):
            text = "\n".join([*before, *sources[number : number + used]])
            found = _parsed(text)
            if isinstance(found, list):
                return used, dropped, (text, found)
    return 1, 0, None


def _without_magics(cell: str) -> str:
    """The cell with ``pass`` for IPython's own lines (one may be all that an ``if`` holds); of %%time goes the line."""
    lines = cell.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    matches = [_MAGIC.fullmatch(line) for line in lines]
    return "\n".join(line if match is None else f"{match[1]}pass" for line, match in zip(lines, matches, strict=True))


def _parsed(source: str) -> list[ast.stmt] | str:
    try:
        return ast.parse(source).body
    except SyntaxError as error:
        return f"{error.msg} (line {error.lineno})"
    except (ValueError, RecursionError, MemoryError) as error:
        return f"{type(error).__name__}: {error}"


def bound_names(statement: ast.stmt) -> set[str]:
    """The names that a top-level statement binds in its module."""
    bound: set[str] = set()
    todo: list[ast.AST] = [statement]
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            bound.add(node.name)
            continue
        if isinstance(node, ast.Lambda):
            continue
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            bound.update((alias.asname or alias.name.split(".")[0]) for alias in node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            bound.add(node.id)
        elif isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, ast.Store):
            bound.update(_base(node))  # Layer.forward = forward belongs to Layer
        todo.extend(ast.iter_child_nodes(node))
    return bound


def _base(node: ast.expr) -> Iterable[str]:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    if isinstance(node, ast.Name):
        yield node.id


def _used_names(statement: ast.stmt) -> set[str]:
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)} - _BUILT_IN


def is_open(statement: ast.stmt) -> bool:
    """Whether it is still the stub of the notebook: nothing but ``...``, ``pass`` or NotImplementedError."""
    if not isinstance(statement, ast.FunctionDef):
        return False
    return all(_says_nothing(part) for part in statement.body)


def _says_nothing(part: ast.stmt) -> bool:
    if isinstance(part, ast.Raise):
        called = part.exc.func if isinstance(part.exc, ast.Call) else part.exc
        return isinstance(called, ast.Name) and called.id == "NotImplementedError"
    return isinstance(part, ast.Pass) or (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))


def needed_statements(statements: Sequence[ast.stmt], wanted: Iterable[str]) -> list[ast.stmt]:
    """The statements that the wanted names need, in their order.

    A stub never replaces an answer that stands above it (a cell that was copied and left empty).
    """
    bound = [bound_names(statement) for statement in statements]
    answered: set[str] = set()
    dropped = set()
    for number, statement in enumerate(statements):
        if is_open(statement) and bound[number] <= answered:
            dropped.add(number)
        elif isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.Assign)) and not is_open(statement):
            answered |= bound[number]
    needed, kept, more = set(wanted), set[int](), True
    while more:
        more = False
        for number, statement in enumerate(statements):
            if number in kept or number in dropped or not (_star(statement) or bound[number] & needed):
                continue
            kept.add(number)
            needed |= _used_names(statement)
            more = True
    return [statements[number] for number in sorted(kept)]


def _star(statement: ast.stmt) -> bool:
    """Imports that may bind anything, and those that change how the rest is read."""
    return isinstance(statement, ast.ImportFrom) and (
        statement.module == "__future__" or any(alias.name == "*" for alias in statement.names)
    )
