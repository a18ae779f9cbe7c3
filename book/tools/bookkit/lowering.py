"""MyST Markdown to plain Markdown.

Whatever is not known is an error that names file and line, and the result is parsed again: a notebook
never shows a raw directive, and the allowed syntax is a contract that a tool checks.
"""

import re

from markdown_it.token import Token

from bookkit.context import Context
from bookkit.directives import lower_directive
from bookkit.inline import Edit, inline_edits
from bookkit.labels import normalise
from bookkit.source import Text, directive_of, parse

DROPPED = {"myst_target", "myst_line_comment", "myst_block_break"}


def lower(text: Text, context: Context) -> str:
    """The plain Markdown of a piece of a chapter.

    Args:
        text: MyST Markdown with its place in the file.
        context: what the book's other pages hold.

    Returns:
        Markdown without any MyST construct.

    Raises:
        BookError: a construct outside the allowed syntax, or a target that does not exist.
    """
    tokens = parse(text.text)
    edits = inline_edits(tokens, text, context)
    last = 0
    for token in tokens:
        replacement = _block(token, text, context)
        if replacement is not None:
            edits.append(_line_edit(text.text, token.map, replacement, after_text=token.map[0] > last))
            last = token.map[1]
    result = _apply(text.text, edits).strip("\n")
    return result


def _block(token: Token, text: Text, context: Context) -> str | None:
    """What takes the place of a block; None for a block that stays."""
    line = token.map[0] if token.map else 0
    if token.type in DROPPED:
        return ""
    if token.type == "html_block":
        if re.fullmatch(r"<!--.*?-->", token.content.strip(), flags=re.S):
            return ""
        raise text.error(line, "raw HTML is not allowed; use Markdown or an allowed directive")
    if token.type == "footnote_reference_open":
        raise text.error(line, "footnotes do not work in Colab; write a {margin} note or a sentence")
    if token.type == "math_block_label":
        number = context.labels.by_name[normalise(token.info)].number
        return f"$$\n{token.content.strip()}\n\\tag{{{number}}}\n$$"
    if token.type in ("fence", "colon_fence"):
        return _fence(token, text, context)
    return None


def _fence(token: Token, text: Text, context: Context) -> str | None:
    directive = directive_of(token, text)
    if directive is None:
        return None
    if token.level:
        raise directive.error(f"{{{directive.name}}} stands inside a list or a quotation; move it to the left margin")
    return lower_directive(directive, context, lambda inner: lower(inner, context))


def _line_edit(text: str, lines: list[int], replacement: str, after_text: bool) -> Edit:
    """The edit that replaces whole lines: a block stands between blank lines, a dropped one leaves none."""
    parts = text.split("\n")
    start, end = lines
    follows = end < len(parts) and bool(parts[end].strip())
    if replacement:
        before = "\n" if after_text and parts[start - 1].strip() else ""
        replacement = before + replacement + ("\n\n" if follows else "\n")
    elif end < len(parts) and not follows:
        end += 1
    first = sum(len(part) + 1 for part in parts[:start])
    last = min(sum(len(part) + 1 for part in parts[:end]), len(text))
    return first, last, replacement


def _apply(text: str, edits: list[Edit]) -> str:
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def leftovers(markdown: str) -> list[str]:
    """The MyST constructs that a plain Markdown text still holds; empty is as it should be.

    Example:
        >>> leftovers("plain $x$ and `code`")
        []
        >>> leftovers("see {ref}`there`")
        ['{ref}`there`']
    """
    found = []
    for token in parse(markdown):
        if token.type in DROPPED | {"math_block_label", "colon_fence"}:
            found.append(token.content.strip() or token.type)
        elif token.type == "fence" and token.info.strip().startswith("{"):
            found.append(token.info.strip())
        for child in token.children or []:
            if child.type == "myst_role":
                found.append(f"{{{child.meta['name']}}}`{child.content}`")
    return found
