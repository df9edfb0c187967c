"""Markdown written by organizers and participants, as HTML that cannot do harm."""

import re
import secrets
from functools import cache, lru_cache, partial

import nh3
from markdown_it import MarkdownIt
from markupsafe import Markup, escape
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import STANDARD_TYPES

from anyshot_platform.site.web.formulas import MOST, MOST_CHARACTERS, formulas_in_html, mathml, read_formulas
from anyshot_platform.site.web.linking import add_links, is_foreign

LONGEST = 20_000  # characters of one block of code in colour
_LEXERS = {
    "python": "python",
    "py": "python",
    "pytb": "pytb",
    "traceback": "pytb",
    "json": "json",
    "toml": "toml",
    "bash": "bash",
    "sh": "bash",
    "shell": "bash",
    "diff": "diff",
}
_PREFIX = "hl-"
_CLASSES = {_PREFIX + short for short in STANDARD_TYPES.values() if short}
_HTML = HtmlFormatter(nowrap=True, classprefix=_PREFIX)
_TAGS = {
    "div",
    "span",
    "section",
    "p",
    "br",
    "hr",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "strong",
    "em",
    "s",
    "del",
    "code",
    "pre",
    "blockquote",
    "ul",
    "ol",
    "li",
    "a",
    "img",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "sup",
    "sub",
    "kbd",
    "dl",
    "dt",
    "dd",
}
_ATTRIBUTES = {"a": {"href", "title"}, "img": {"src", "alt", "title"}, "ol": {"start"}}


@cache
def _lexer(name: str) -> Lexer:
    return get_lexer_by_name(name, stripnl=False)


def highlighted(text: str, language: str, _attributes: str = "") -> str:
    """A block of code as HTML: with colours where the language is known, else only escaped.

    Only languages whose lexers stay quick on text that is made to be slow (that of YAML does not), and only so much:
    a text is drawn while people wait.
    """
    name = _LEXERS.get(language.casefold())
    if name is None or len(text) > LONGEST:
        return str(escape(text))
    return highlight(text, _lexer(name), _HTML)


_PARSER = MarkdownIt("commonmark", {"html": True, "linkify": False, "highlight": highlighted}).enable(
    ["table", "strikethrough"]
)
_PARSER.use(read_formulas)
_FILES = "files/"


def _own_images_only(tag: str, attribute: str, value: str, files: str) -> str | None:
    """Pages show no content of other hosts: an image from elsewhere loses its address. `files/x` is one of `files`."""
    if files and attribute in ("src", "href") and value.startswith(_FILES):
        return files + value.removeprefix(_FILES)
    if (tag, attribute) == ("img", "src") and is_foreign(value):
        return None
    return value


@lru_cache(maxsize=512)
def markdown(text: str | None, files: str = "", references: tuple[tuple[str, str], ...] = ()) -> Markup:
    """CommonMark with tables, formulas (`$x$`, `$$x$$`) and harmless HTML (imported competitions have pages in it).

    Headings start at level 2, below the page's own, and leave no level out. Code that names its language has colours,
    addresses are links. `files` is the address below which the competition's files lie, `references` are words
    such as `#12` and `@ada`, each with its address.
    """
    tokens, formulas = _PARSER.parse(text or ""), list[str]()
    sources = list[str]()
    place = secrets.token_hex(8)  # where a formula goes once all else is cleaned; nobody can write it before

    def draw(latex: str, block: bool) -> str:
        if len(formulas) >= MOST or sum(map(len, sources)) + len(latex) > MOST_CHARACTERS:
            return ""
        sources.append(latex)
        formulas.append(mathml(latex, block=block))
        return f"{place}-{len(formulas) - 1}-"

    for block in tokens:
        if block.type == "html_block":
            block.content = formulas_in_html(block.content, draw)
        block.children = add_links(block.children, dict(references)) if block.children else block.children
        for token in block.children or ():
            if token.type == "formula":
                drawn = draw(token.content, token.markup == "$$")
                token.type, token.content = "text", drawn or f"{token.markup}{token.content}{token.markup}"
    rendered = _PARSER.renderer.render(tokens, _PARSER.options, {})
    cleaned = nh3.clean(
        rendered,
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        allowed_classes={"span": _CLASSES},
        attribute_filter=partial(_own_images_only, files=files),
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener nofollow ugc",
    )
    # Code scrolls sideways where it is wide: those without a mouse reach it by the keyboard.
    # Pictures are fetched when they come into view.
    outlined = (
        outline(cleaned).replace("<pre>", '<pre tabindex="0">').replace("<img ", '<img loading="lazy" ')
    )
    return Markup(re.sub(f"{place}-([0-9]+)-", lambda found: formulas[int(found[1])], outlined))


def outline(page: str) -> str:
    """The page with headings from level 2 on, and no level left out: each is one below the one that it stands under."""
    open_levels: list[int] = []

    def renumber(found: re.Match[str]) -> str:
        level = int(found[2])
        if not found[1]:
            while open_levels and open_levels[-1] >= level:
                open_levels.pop()
            open_levels.append(level)
        return f"<{found[1]}h{min(len(open_levels) + 1, 6)}>"

    return re.sub(r"<(/?)h([1-6])>", renumber, page)
