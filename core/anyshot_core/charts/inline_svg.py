"""Turn matplotlib's SVG into markup that can stand inside any page.

No style element and no style attribute (a strict content security policy forbids both), no metadata, no fixed
colour for text and axes (`currentColor` instead), ids that do not clash with those of another chart.
"""

import hashlib
import re
from xml.etree import ElementTree as ET

INK = "#010203"  # what matplotlib is told to draw text and axes in; it becomes currentColor
_SVG = "http://www.w3.org/2000/svg"
_XLINK = "{http://www.w3.org/1999/xlink}href"
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_DECLARATION = re.compile(r"\s*([a-z-]+)\s*:\s*([^;]+?)\s*(?:;|$)")


def make_inline(svg: str, title: str, description: str) -> str:
    """The inline form of one of our own charts, with its title and text alternative."""
    root = ET.fromstring(svg)
    for name in ("metadata", "title"):
        for element in root.findall(f"{{{_SVG}}}{name}"):
            root.remove(element)
    _drop_styles(root)
    prefix = "c" + hashlib.sha256(f"{svg}{title}".encode()).hexdigest()[:10]
    for element in root.iter():
        _inline_style(element)
        _rename(element, prefix)
    _drop_unused_ids(root)
    _describe(root, title, description, prefix)
    return _serialize(root)


def _drop_styles(root: ET.Element) -> None:
    for parent in root.iter():
        for child in [c for c in parent if c.tag == f"{{{_SVG}}}style"]:
            parent.remove(child)


def _inline_style(element: ET.Element) -> None:
    """Turn a style attribute into presentation attributes."""
    for name, value in _DECLARATION.findall(element.attrib.pop("style", "")):
        element.set(name, "sans-serif" if name == "font-family" else value)
    for name in ("fill", "stroke"):
        if element.get(name) == INK:
            element.set(name, "currentColor")
    if (path := element.get("d")) is not None:
        element.set("d", " ".join(path.split()))


def _rename(element: ET.Element, prefix: str) -> None:
    """Make ids and references to them this chart's own; `href` without its old namespace."""
    if "id" in element.attrib:
        element.set("id", f"{prefix}-{element.get('id')}")
    if (target := element.attrib.pop(_XLINK, None)) is not None:
        element.set("href", f"#{prefix}-{target.removeprefix('#')}")
    for name, value in element.attrib.items():
        if "url(#" in value:
            element.set(name, _REFERENCE.sub(rf"url(#{prefix}-\1)", value))


def _drop_unused_ids(root: ET.Element) -> None:
    used = {e.get("href", "").removeprefix("#") for e in root.iter()}
    used |= {match for e in root.iter() for value in e.attrib.values() for match in _REFERENCE.findall(value)}
    for element in root.iter():
        if element.get("id") not in used:
            element.attrib.pop("id", None)


def _describe(root: ET.Element, title: str, description: str, prefix: str) -> None:
    for position, (tag, text) in enumerate((("title", title), ("desc", description))):
        element = ET.Element(f"{{{_SVG}}}{tag}", {"id": f"{prefix}-{tag}"})
        element.text = text
        root.insert(position, element)
    width = root.attrib.pop("width").removesuffix("pt")
    root.attrib.pop("height")
    root.attrib.pop("version", None)
    root.attrib.update(
        {
            "class": "anyshot-chart",
            "role": "img",
            "aria-labelledby": f"{prefix}-title {prefix}-desc",
            "width": "100%",
            "preserveAspectRatio": "xMinYMin meet",
            "stroke-linejoin": "round",
            "data-width": width,
        }
    )


def _serialize(root: ET.Element) -> str:
    """Without prefixes for the namespace, as HTML wants it."""
    for element in root.iter():
        element.tag = element.tag.removeprefix(f"{{{_SVG}}}")
        if element.tag in ("g", "defs", "svg", "use") and not (element.text or "").strip():
            element.text = None
        element.tail = "\n" if element.tag in ("g", "text", "title", "desc") else None
    root.set("xmlns", _SVG)
    return ET.tostring(root, encoding="unicode").strip()
