"""Each allowed directive as plain Markdown, for readers without MyST (Colab, GitHub, JupyterLab).

A directive that has no entry here is an error: the table below *is* the allowed syntax.
"""

from collections.abc import Callable

from bookkit.context import Context
from bookkit.labels import PROOF_KINDS
from bookkit.source import Directive, Text
from bookkit.tex import complete_display

ADMONITIONS = ["note", "tip", "important", "warning", "caution", "attention", "danger", "error", "hint", "seealso"]
Lower = Callable[[Text], str]


def lower_directive(directive: Directive, context: Context, lower: Lower) -> str:
    """The plain Markdown of a directive.

    Args:
        directive: the directive.
        context: labels and addresses.
        lower: lowers a piece of Markdown; called for titles and bodies.

    Raises:
        BookError: the directive is not in the allowed syntax.
    """
    renderer = DIRECTIVES.get(directive.name)
    if renderer is None:
        allowed = ", ".join(sorted(DIRECTIVES))
        raise directive.error(f"directive {{{directive.name}}} is not in the allowed syntax; use one of {allowed}")
    return renderer(directive, context, lower)


def _title(directive: Directive, lower: Lower) -> str:
    """The directive's argument, lowered as one line."""
    return lower(Text(directive.argument, directive.at.path, directive.at.line)) if directive.argument else ""


def _quote(title: str, body: str) -> str:
    lines = [f"**{title}**", "", *body.split("\n")] if body else [f"**{title}**"]
    return "\n".join(f"> {line}".rstrip() for line in lines)


def _fold(title: str, body: str) -> str:
    return f"<details>\n<summary>{title}</summary>\n\n{body}\n\n</details>"


def _admonition(directive: Directive, context: Context, lower: Lower) -> str:
    """A block quote with a bold title; a folded one when its class is ``dropdown``."""
    named = directive.name != "admonition"
    title = "See also" if directive.name == "seealso" else directive.name.capitalize()
    # On the site a fixed admonition has no title of its own: words beside its name begin its body.
    first = _title(directive, lower)
    body = lower(directive.body)
    if named:
        body = "\n\n".join(part for part in (first, body) if part)
    else:
        title = first
    folded = "dropdown" in str(directive.options.get("class", ""))
    return _fold(title, body) if folded else _quote(title, body)


def _dropdown(directive: Directive, context: Context, lower: Lower) -> str:
    return _fold(_title(directive, lower) or "Show", lower(directive.body))


def _margin(directive: Directive, context: Context, lower: Lower) -> str:
    return _quote(_title(directive, lower) or "Aside", lower(directive.body))


def _block(directive: Directive, context: Context, lower: Lower) -> str:
    """An exercise, a theorem and the like: a bold heading with its number, then the body."""
    label = context.labels.at(directive.at.path, directive.at.line)
    title = _title(directive, lower)
    heading = f"**{label.name}" + (f" ({title})" if title else "") + "**"
    return f"{heading}\n\n{lower(directive.body)}".rstrip()


def _solution(directive: Directive, context: Context, lower: Lower) -> str:
    """The solution of the exercise that the argument names, folded if its class is ``dropdown``."""
    label = context.labels.find(directive.argument, directive.at, 0)
    title = f"Solution to {label.name}" + (f" ({label.title})" if label.title else "")
    body = lower(directive.body)
    if "dropdown" in str(directive.options.get("class", "")):
        return _fold(title, body)
    return f"**{title}**\n\n{body}"


def _tab_set(directive: Directive, context: Context, lower: Lower) -> str:
    return lower(directive.body)


def _tab_item(directive: Directive, context: Context, lower: Lower) -> str:
    return f"**{_title(directive, lower)}**\n\n{lower(directive.body)}"


def _math(directive: Directive, context: Context, lower: Lower) -> str:
    tex = complete_display("\n".join(part for part in (directive.argument, directive.body.text) if part))
    label = directive.options.get("label")
    number = f"\n\\tag{{{context.labels.find(label, directive.at, 0).number}}}" if label else ""
    return f"$$\n{tex}{number}\n$$"


def _image(directive: Directive, context: Context, lower: Lower) -> str:
    alt = str(directive.options.get("alt", "")).strip()
    if not alt:
        raise directive.error(f"{{{directive.name}}} {directive.argument} has no :alt: text; say what it shows")
    return context.embed(directive.argument, alt, directive.at)


def _figure(directive: Directive, context: Context, lower: Lower) -> str:
    image, caption = _image(directive, context, lower), lower(directive.body)
    if not caption:
        return image
    label = context.labels.at(directive.at.path, directive.at.line)
    return f"{image}\n\n**{label.name}** {caption}"


DIRECTIVES: dict[str, Callable[[Directive, Context, Lower], str]] = {
    **dict.fromkeys([*ADMONITIONS, "admonition"], _admonition),
    **dict.fromkeys([f"prf:{kind}" for kind in PROOF_KINDS], _block),
    "exercise": _block,
    "solution": _solution,
    "dropdown": _dropdown,
    "margin": _margin,
    "tab-set": _tab_set,
    "tab-item": _tab_item,
    "math": _math,
    "figure": _figure,
    "image": _image,
}
