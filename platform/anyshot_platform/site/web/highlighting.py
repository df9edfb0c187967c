"""Code of texts in colour: blocks of Markdown that name their language.

Only languages whose lexers stay quick on text that is made to be slow (that of YAML does not), and only so much:
a text is drawn while people wait.
"""

from functools import cache

from markupsafe import escape
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import STANDARD_TYPES

LONGEST = 20_000  # characters of one block
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
PREFIX = "hl-"
CLASSES = {PREFIX + short for short in STANDARD_TYPES.values() if short}
_HTML = HtmlFormatter(nowrap=True, classprefix=PREFIX)


@cache
def _lexer(name: str) -> Lexer:
    return get_lexer_by_name(name, stripnl=False)


def highlighted(text: str, language: str, _attributes: str = "") -> str:
    """The block as HTML: with colours where the language is known, else only escaped."""
    name = _LEXERS.get(language.casefold())
    if name is None or len(text) > LONGEST:
        return str(escape(text))
    return highlight(text, _lexer(name), _HTML)
