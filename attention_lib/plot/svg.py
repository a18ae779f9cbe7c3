"""From matplotlib's SVG to a small inline one: responsive, in the page's ink and font, safe beside others."""

import hashlib
import re
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from attention_lib.plot.style import INK

SCALE = 1.45
"""Most CSS pixels that one point may take, so that text is equally large in every figure on a wide screen."""

ROOT_STYLE = "stroke-linejoin:round;stroke-linecap:butt"
_LONG_NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
_FONT = re.compile(r"font: ([^;]*?)([\d.]+)px [^;]*")
_REFERENCE = re.compile(r"#([A-Za-z][\w.-]*)(?=[\")]|$)")


def inline_svg(source: str, alt: str) -> str:
    """The picture as one `<svg>` element to put into a page.

    Args:
        source: a whole SVG document written by matplotlib.
        alt: the picture in words, read out by screen readers.

    Returns:
        `<svg role="img" aria-label=...>` without prolog, comments, metadata or unused ids. The ids that remain
        begin with a hash of the content, so two pictures on one page never share one. The ink is currentColor.

    Example:
        >>> inline_svg('<svg viewBox="0 0 9 5"><!-- x --><g id="figure_1"/></svg>', "a dot")[:42]
        '<svg viewBox="0 0 9 5" role="img" aria-lab'
    """
    root = ElementTree.fromstring(source)
    _drop_namespaces(root)
    _tidy_attributes(root)
    _rename_ids(root, "a" + hashlib.sha256((alt + source).encode()).hexdigest()[:10])
    _prune(root)
    _dress_root(root, alt)
    return ElementTree.tostring(root, encoding="unicode")


def _drop_namespaces(root: Element) -> None:
    """`{http://...}path` to `path`, `xlink:href` to `href`: HTML needs neither."""
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        for name in [n for n in element.attrib if "}" in n]:
            element.set(name.rpartition("}")[2], element.attrib.pop(name))


def _prune(parent: Element) -> None:
    """Remove, from the leaves up, what draws nothing. A style sheet must go: its `*` would restyle the page."""
    for child in list(parent):
        _prune(child)
        hollow = child.tag in ("g", "defs") and len(child) == 0
        invisible = child.tag == "path" and child.get("style") in ("fill:none", "fill:none;opacity:0")
        if hollow or invisible or child.tag in ("metadata", "style"):
            parent.remove(child)
        elif child.tag == "g" and not child.attrib:
            place = list(parent).index(child)
            parent[place : place + 1] = list(child)


def _tidy_attributes(root: Element) -> None:
    """Two decimals, the page's font, the page's ink."""
    for element in root.iter():
        element.text = element.text if element.tag in ("text", "tspan") else None
        element.tail = element.tail if element.tag == "tspan" else None
        for name, value in list(element.attrib.items()):
            if name == "href":
                element.set(name, "".join(value.split()))
            elif name != "id":
                element.set(name, _tidy(name, value))
        if element.get("transform", "").startswith("rotate(0 "):
            del element.attrib["transform"]


def _tidy(name: str, value: str) -> str:
    if name == "style":
        value = re.sub(r"font-family: [^;]*(; )?", "", _FONT.sub(_font, value))
        value = re.sub(r"\s*([:;])\s*", r"\1", value.replace(INK, "currentColor"))
    value = _LONG_NUMBER.sub(lambda m: f"{float(m[0]):.2f}".rstrip("0").rstrip("."), value)
    value = re.sub(r"(?<![\d.])-0(?![\d.])", "0", value)
    value = re.sub(r"\s+", " ", value).strip()
    return re.sub(r" ?([A-Za-z]) ?", r"\1", value) if name == "d" else value


def _font(match: re.Match[str]) -> str:
    """`font: 700 10px 'DejaVu Sans'` to size, weight and slant: the family is the page's."""
    parts = [f"font-size: {float(match[2]):g}px"]
    for word in match[1].split():
        if word.isdigit() and word != "400":
            parts.append(f"font-weight: {word}")
        elif word in ("italic", "oblique"):
            parts.append("font-style: italic")
    return "; ".join(parts)


def _rename_ids(root: Element, prefix: str) -> None:
    """Keep only ids that something points at, under names that no other picture has."""
    used = {found for e in root.iter() for value in e.attrib.values() for found in _REFERENCE.findall(value)}
    order = [e.get("id", "") for e in root.iter() if e.get("id") in used]
    names = {old: f"{prefix}-{index}" for index, old in enumerate(dict.fromkeys(order))}
    for element in root.iter():
        if element.get("id") not in names:
            element.attrib.pop("id", None)
        for name, value in element.attrib.items():
            if name == "id":
                element.set(name, names[value])
            elif "#" in value:
                element.set(name, _REFERENCE.sub(lambda m: "#" + names.get(m[1], m[1]), value))


def _dress_root(root: Element, alt: str) -> None:
    """Leave the viewBox, drop the fixed size, say what the picture shows."""
    box = root.get("viewBox", "0 0 0 0")
    width = float(box.split()[2])
    root.attrib.clear()
    root.set("viewBox", box)
    root.set("role", "img")
    root.set("aria-label", alt)
    root.set("style", f"width:100%;max-width:{width * SCALE:.0f}px;height:auto;display:block;{ROOT_STYLE}")
