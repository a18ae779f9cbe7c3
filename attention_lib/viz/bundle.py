"""From the ES modules in `elements/` to small scripts that run wherever a page lets scripts run.

A module cannot import its neighbour from the disk (`file://`) or inside a notebook's output. So modules are joined
into plain scripts: imports, `export`, comments and indents go, nothing is renamed. What all figures share is one
script, the frame; each element is another. A page loads the frame once, a notebook's output carries both.
"""

import hashlib
import re
from functools import lru_cache
from importlib.resources import files

from attention_lib.errors import OptionError

ELEMENTS = {
    "attn-explorer": "AttnExplorer",
    "attn-vectors": "AttnVectors",
    "attn-saturation": "AttnSaturation",
    "attn-mask": "AttnMask",
    "rnn-vs-attention": "RnnVsAttention",
    "tiny-transformer": "TinyTransformer",
}
"""Tag -> class of its module."""

FRAME = ("maths", "base", "grid")
"""The modules that all figures share, in the order in which they need each other."""

_IMPORT = re.compile(r'^import \{ ([^}]*) \} from "\./([\w-]+)\.js";\n', re.M)
_EXPORT = re.compile(r"^export (?:const|class|function) (\w+)", re.M)
_COMMENT = re.compile(r"^[ \t]*//[^\n]*\n|^[ \t]*/\*\*.*?\*/\n|[ \t]+// [^\"'`\n]*$", re.M | re.S)


def source(name: str) -> str:
    """The readable text of one module of `elements/`."""
    return files("attention_lib.viz").joinpath("elements", f"{name}.js").read_text("utf-8")


def modules(name: str) -> list[str]:
    """A module and all it imports, each once, after what it needs.

    Example:
        >>> modules("saturation-maths")
        ['maths', 'saturation-maths']
    """
    order: list[str] = []
    for needed in [*(module for _, module in _IMPORT.findall(source(name))), None]:
        order += [part for part in (modules(needed) if needed else [name]) if part not in order]
    return order


def strip(text: str) -> str:
    """A module without imports, `export`, comments, indents and empty lines.

    Comments are whole lines, `/** */` blocks of their own, or begin with ` // ` behind code and hold no quote.

    Example:
        >>> strip('import { a } from "./a.js";\\n// why\\nexport const b = 2; // two\\n')
        'const b = 2;'
    """
    bare = re.sub(r"^export ", "", _COMMENT.sub("", _IMPORT.sub("", text)), flags=re.M)
    return "\n".join(line.strip() for line in bare.splitlines() if line.strip())


@lru_cache(None)
def frame() -> str:
    """The script of what all figures share. It runs once on a page, however often it is put there."""
    body = "\n".join(strip(source(name)) for name in FRAME)
    names = ",".join(name for module in FRAME for name in _EXPORT.findall(source(module)))
    return f"{_home()}??=(()=>{{{body}\nreturn{{{names}}}}})();".replace("</", "<\\/")


def _home() -> str:
    """Where the frame lives; the name changes with its text, so that an old output does not serve a new element."""
    text = "".join(source(name) for name in FRAME)
    return f"globalThis.attention_{hashlib.sha256(text.encode()).hexdigest()[:8]}"


@lru_cache(None)
def script(tag: str) -> str:
    """The script that defines one element, after the frame; once on a page, however often it is put there.

    Args:
        tag: the element's name.

    Returns:
        Plain JavaScript, no module, safe inside `<script>`.

    Raises:
        OptionError: there is no such element.

    Example:
        >>> script("attn-mask")[:44]
        '(()=>{if(customElements.get("attn-mask"))ret'
    """
    if tag not in ELEMENTS:
        raise OptionError(f"tag={tag!r} is no figure; choose one of {', '.join(ELEMENTS)}")
    own = [name for name in modules(tag) if name not in FRAME]
    shared = dict.fromkeys(
        name for part in own for names, module in _IMPORT.findall(source(part)) if module in FRAME
        for name in names.split(", ")
    )  # fmt: skip
    body = "\n".join(strip(source(name)) for name in own)
    text = (
        f'(()=>{{if(customElements.get("{tag}"))return;\nconst {{{",".join(shared)}}}={_home()};\n{body}\n'
        f'customElements.define("{tag}",{ELEMENTS[tag]});}})();'
    )
    return text.replace("</", "<\\/")
