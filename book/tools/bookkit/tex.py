"""How the TeX of a display formula is completed, for the page and for the notebook alike."""

import re


def complete_display(tex: str) -> str:
    r"""Turn the body of a ``{math}`` block into one complete display formula.

    Blank lines separate formulas that stand below each other. Line breaks and alignment marks need an
    environment around them; an author who already wrote one gets no second.

    Args:
        tex: the body of the block.

    Returns:
        TeX without blank lines.

    Example:
        >>> complete_display("a &= b \\\\ &= c")
        '\\begin{aligned}\na &= b \\\\ &= c\n\\end{aligned}'
    """
    formulas = [part.strip() for part in re.split(r"\n\s*\n", tex.strip()) if part.strip()]
    body = " \\\\\n".join(formulas)
    bare = re.sub(r"\\begin\{(\w+\*?)\}.*?\\end\{\1\}", "", body, flags=re.S)
    if "\\\\" in bare or re.search(r"(?<!\\)&", bare):
        return f"\\begin{{aligned}}\n{body}\n\\end{{aligned}}"
    return body
