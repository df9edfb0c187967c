"""Formulas: LaTeX between dollars to MathML, which browsers draw without a script."""

import html
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import islice
from xml.etree.ElementTree import Element

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markupsafe import Markup, escape

LONGEST = 2000  # characters of a formula
MOST, MOST_CHARACTERS = (
    200,
    20_000,
)  # formulas of one text, and what they hold together: drawing 20,000 takes 10 s
LARGEST = 20.0  # of a size in its own unit: nobody's formula covers a page
# Pandoc's rule: the first dollar stands before no space, the second behind none and before no digit, so that prices
# stay prices.
_FORMULA = re.compile(
    r"\$\$(?P<block>.+?)\$\$|\$(?![\s$])(?P<inline>(?:\\.|[^$\\])+?)(?<!\s)\$(?![0-9$])", re.DOTALL
)
_TAG = re.compile(r"(</?[A-Za-z][^<>]*>)")
_TAGS = {
    "math",
    "mrow",
    "mi",
    "mo",
    "mn",
    "ms",
    "mtext",
    "mspace",
    "mfrac",
    "msqrt",
    "mroot",
    "mstyle",
    "mpadded",
    "mphantom",
    "menclose",
    "msub",
    "msup",
    "msubsup",
    "munder",
    "mover",
    "munderover",
    "mmultiscripts",
    "mprescripts",
    "none",
    "mtable",
    "mtr",
    "mtd",
    "mlabeledtr",
}
_ATTRIBUTES = {
    "display",
    "mathvariant",
    "stretchy",
    "fence",
    "form",
    "separator",
    "lspace",
    "rspace",
    "minsize",
    "maxsize",
    "movablelimits",
    "accent",
    "accentunder",
    "linethickness",
    "columnalign",
    "rowalign",
    "columnspacing",
    "rowspacing",
    "columnlines",
    "rowlines",
    "displaystyle",
    "scriptlevel",
    "width",
    "height",
    "depth",
    "voffset",
    "notation",
    "mathcolor",
    "mathsize",
}
_VALUE = re.compile(r"[\w#.%+ -]{0,64}")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)(?:r?em|ex|p[xtc]|[cm]m|in|v[wh])")


def read_formulas(parser: MarkdownIt) -> None:
    """A plugin: `$x$` and `$$x$$` become tokens `formula`, whose content is the LaTeX and whose markup the dollars."""
    parser.inline.ruler.before("escape", "formula", _read)


def _read(state: StateInline, silent: bool) -> bool:
    found = _FORMULA.match(state.src, state.pos) if state.src[state.pos] == "$" else None
    if found is None or found.end() > state.posMax:
        return False
    if not silent:
        token = state.push("formula", "math", 0)
        token.markup = "$$" if found["block"] is not None else "$"
        token.content = (found["block"] or found["inline"]).strip()
    state.pos = found.end()
    return True


def with_formulas(text: str) -> Markup:
    """Plain text, as HTML, with its formulas drawn."""
    found, end = Markup(), 0
    for formula in islice(_FORMULA.finditer(text), MOST):
        found += text[end : formula.start()]
        found += Markup(mathml((formula["block"] or formula["inline"]).strip(), block=False))
        end = formula.end()
    return found + text[end:]


def formulas_in_html(text: str, draw: Callable[[str, bool], str]) -> str:
    """HTML whose formulas are what `draw` makes of their LaTeX, and of whether each stands alone; code stays code."""
    code, parts, drawn = 0, _TAG.split(text), list[str]()
    for part in parts:
        tag = part.startswith("<") and _TAG.fullmatch(part) is not None
        if tag and (name := re.match(r"</?(\w+)", part)) and name[1].lower() in ("pre", "code", "kbd"):
            code += -1 if part.startswith("</") else 1
        drawn.append(part if tag or code > 0 else _FORMULA.sub(lambda found: _drawn(found, draw), part))
    return "".join(drawn)


def _drawn(found: re.Match[str], draw: Callable[[str, bool], str]) -> str:
    latex = html.unescape(found["block"] or found["inline"]).strip()
    return draw(latex, found["block"] is not None) or found[0]


@lru_cache(maxsize=4096)
def mathml(latex: str, *, block: bool) -> str:
    """The formula as MathML without any link or script; as code where it is none.

    What the library makes is written anew, element by element: its own text form does not escape what stands in
    `\\text{...}`.
    """
    from latex2mathml.converter import convert_to_element  # a page without formulas loads nothing

    try:
        if len(latex) > LONGEST:
            raise ValueError("too long")
        made = convert_to_element(latex, display="block" if block else "inline")
        return "".join(_write(made))
    except Exception:  # noqa: BLE001 - the library raises what it likes: IndexError, KeyError, RecursionError, its own
        return f"<code>{escape(latex)}</code>"


def _write(element: Element) -> Iterator[str]:
    tag = element.tag if element.tag in _TAGS else "mrow"
    known = [(name, value) for name, value in element.attrib.items() if name in _ATTRIBUTES]
    kept = [f' {name}="{value}"' for name, value in known if _VALUE.fullmatch(value) and _is_small(value)]
    yield f"<{tag}{''.join(kept)}>"
    yield str(escape(html.unescape(element.text or "")))
    for child in element:
        yield from _write(child)
        yield str(escape(html.unescape(child.tail or "")))
    yield f"</{tag}>"


def _is_small(value: str) -> bool:
    """Whether no size in an attribute is beyond the largest; percentages and colours are no sizes."""
    return all(float(number) <= LARGEST for number in _SIZE.findall(value))
