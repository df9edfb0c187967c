"""The gaps of a page that is made for many: where each reads something of their own."""

import re
import secrets
from collections.abc import Callable, Mapping, Sequence

from markupsafe import Markup, escape

Own = Callable[[str], Mapping[str, str]]  # from a team's id to what a page's gaps hold for it

_NONCE = secrets.token_hex(8)  # nobody can write a gap into a text
_GAP = re.compile(rf"{_NONCE}([a-z]+):([\w-]*);")


class Gaps:
    """What a template prints where a page of a cohort has something of a person's own."""

    def text(self, name: str) -> Markup:
        """A text: what the page's `Own` says, or nothing."""
        return Markup(f"{_NONCE}text:{name};")

    def begin(self, name: str) -> Markup:
        """What follows is shown to those whose `Own` has that name, as far as the `end`."""
        return Markup(f"{_NONCE}begin:{name};")

    def end(self) -> Markup:
        """The end of what some alone are shown."""
        return Markup(f"{_NONCE}end:;")


GAPS = Gaps()


def split(page: str) -> tuple[str, ...]:
    """A page in parts: text, then again and again kind and name of a gap and the text behind it."""
    return tuple(_GAP.split(page))


def fill(parts: Sequence[str], own: Mapping[str, str]) -> bytes:
    """The page with somebody's own texts, by their names, in its gaps; what is not `Markup` is escaped."""
    found, hidden = [parts[0]], False
    for kind, name, after in zip(*(parts[start::3] for start in (1, 2, 3)), strict=True):
        if kind == "text" and not hidden:
            found.append(str(escape(own.get(name, ""))))
        hidden = name not in own if kind == "begin" else hidden and kind != "end"
        if not hidden:
            found.append(after)
    return "".join(found).encode()
