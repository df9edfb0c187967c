"""What a page of the documentation has around its text: addresses of headings, contents, buttons that copy code."""

import html
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup, escape

_HEADING = re.compile(r"<h([2-4])>(.*?)</h\1>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_CODE = '<pre tabindex="0">'


@dataclass(frozen=True)
class DocsHeading:
    """A heading of a page: `level` is 2 to 4, `anchor` what stands behind the # of its address."""

    level: int
    text: str
    anchor: str


@dataclass(frozen=True)
class OutlinedPage:
    """The text with addresses and buttons in it, and its headings."""

    body: Markup
    headings: tuple[DocsHeading, ...]


def outlined_page(body: str) -> OutlinedPage:
    """Give the headings their addresses, the same as on the built site, and code a button that copies it."""
    taken: set[str] = set()
    headings: list[DocsHeading] = []

    def with_address(found: re.Match[str]) -> str:
        text = html.unescape(_TAG.sub("", found[2])).strip()
        anchor = next_anchor(text, taken)
        headings.append(DocsHeading(int(found[1]), text, anchor))
        link = Markup('<a class="headlink" href="#{}" aria-label="{}">#</a>').format(
            anchor, _words(f"Link to “{text}”")
        )
        return f'<h{found[1]} id="{anchor}">{found[2]} {link}</h{found[1]}>'

    return OutlinedPage(Markup(_with_buttons(_HEADING.sub(with_address, body))), tuple(headings))


def next_anchor(text: str, taken: set[str]) -> str:
    """What stands behind the # of a heading's address: the rule of the tool that builds the site.

    `taken` are those of the headings before it on the page; this one is added.
    """
    anchor = next(one for one in _anchors(text) if one not in taken)
    taken.add(anchor)
    return anchor


def _anchor_of(text: str) -> str:
    ascii_only = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", ascii_only).strip().lower())


def _anchors(text: str) -> Iterator[str]:
    first = _anchor_of(text) or "section"
    yield first
    number = 1
    while True:
        yield f"{first}_{number}"
        number += 1


def _with_buttons(body: str) -> str:
    first, *blocks = body.split(_CODE)
    written = first
    for number, block in enumerate(blocks, 1):
        code, _, rest = block.partition("</pre>")
        button = Markup(
            '<button type="button" class="btn btn--small js-only" data-copy="code-{}">{}</button>'
        ).format(number, _words("Copy"))
        written += (
            f'<div class="codebox"><pre tabindex="0" id="code-{number}">{code}</pre>{button}</div>{rest}'
        )
    return written


def _words(said: str) -> str:
    return escape(said)
