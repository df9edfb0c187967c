"""Markdown written by organizers and participants, as HTML that cannot do harm."""

from __future__ import annotations

from functools import lru_cache

import nh3
from markdown_it import MarkdownIt
from markupsafe import Markup

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
_PARSER = MarkdownIt("commonmark", {"html": True, "linkify": False}).enable(["table", "strikethrough"])


def _own_images_only(tag: str, attribute: str, value: str) -> str | None:
    """Pages show no content of other hosts: an image from elsewhere loses its address."""
    if (tag, attribute) == ("img", "src") and (not value.startswith("/") or value.startswith("//")):
        return None
    return value


@lru_cache(maxsize=512)
def markdown(text: str | None) -> Markup:
    """CommonMark with tables and harmless HTML (imported competitions have pages in it).

    Headings start at level 2, below the page's own.
    """
    rendered = _PARSER.render(text or "")
    for level in range(5, 0, -1):
        for bracket in ("<", "</"):
            rendered = rendered.replace(f"{bracket}h{level}>", f"{bracket}h{level + 1}>")
    return Markup(
        nh3.clean(
            rendered,
            tags=_TAGS,
            attributes=_ATTRIBUTES,
            attribute_filter=_own_images_only,
            url_schemes={"http", "https", "mailto"},
            link_rel="noopener nofollow ugc",
        )
    )
