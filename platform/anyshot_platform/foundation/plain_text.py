"""Markdown as plain text, for messages that show no markup."""

import re
from collections.abc import Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token

_PARSER = MarkdownIt("commonmark")
_TAG = re.compile(r"<[^>]*>")


def plain(text: str) -> str:
    """The words without marks: of a link its text and its address, of an image what stands for it."""
    written, lists = "", list[int | None]()  # of an ordered list the next number
    mark = ""
    for token in _PARSER.parse(text):
        if token.type.endswith("_list_open"):
            lists.append(int(token.attrGet("start") or 1) if token.type.startswith("ordered") else None)
        elif token.type.endswith("_list_close"):
            lists.pop()
        elif token.type == "list_item_open":
            mark, lists[-1] = _marked(lists)
        elif words := _words(token):
            written += f"{_gap(written, lists)}{mark}{words}"
            mark = ""
    return written


def _marked(lists: Sequence[int | None]) -> tuple[str, int | None]:
    """What stands before an item, and the number of the next one."""
    number, indent = lists[-1], "  " * (len(lists) - 1)
    return (f"{indent}- ", None) if number is None else (f"{indent}{number}. ", number + 1)


def _gap(written: str, lists: Sequence[int | None]) -> str:
    if not written:
        return ""
    return "\n" if lists else "\n\n"


def _words(token: Token) -> str:
    """The text of a block that holds some."""
    if token.type == "inline":
        return _inside(token.children or [])
    if token.type == "html_block":
        return _TAG.sub("", token.content).strip()
    return token.content.rstrip() if token.type in ("fence", "code_block") else ""


def _inside(children: Sequence[Token]) -> str:
    written, links = "", list[tuple[int, str]]()
    for child in children:
        if child.type == "link_open":
            links.append((len(written), str(child.attrGet("href") or "")))
        elif child.type == "link_close":
            start, address = links.pop()
            written += "" if written[start:] == address else f" ({address})"
        elif child.type.endswith("break"):
            written += "\n"
        elif child.type != "html_inline":
            written += child.content
    return written.strip()
