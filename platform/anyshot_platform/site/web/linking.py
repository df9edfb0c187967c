"""Links in texts that nobody marked as links: addresses, references such as `#12` and `@ada`, images of other hosts."""

import re
from collections.abc import Iterable, Iterator, Mapping

from markdown_it.token import Token

# A reference to a submission: its number, or where phases count anew the short name of the phase too.
REFERENCE = re.compile(r"(?<![\w&/#])#((?:[a-z0-9][a-z0-9-]*/)?[1-9]\d{0,5})\b(?!/)")
MENTION = re.compile(r"(?<![\w@/.-])@([A-Za-z0-9][A-Za-z0-9._-]{1,30}[A-Za-z0-9])\b")
_ADDRESS = re.compile(r"https?://[^\s<>\"]+")
_PLACES = re.compile(f"{_ADDRESS.pattern}|{REFERENCE.pattern}|{MENTION.pattern}")
_AFTER = ".,;:!?'*_)"  # behind an address, this belongs to the sentence


def add_links(tokens: Iterable[Token], references: Mapping[str, str]) -> list[Token]:
    """The inline tokens with links for addresses, for `references` (`#12` or `@ada` -> address), and in place
    of images of other hosts, which pages do not show."""
    made: list[Token] = []
    inside = 0
    for token in tokens:
        inside += {"link_open": 1, "link_close": -1}.get(token.type, 0)
        if token.type == "image" and _ADDRESS.match(source := str(token.attrGet("src") or "")) and not inside:
            made += _link(source, token.content or source)
        elif token.type == "text" and not inside:
            made += _linked(token.content, references)
        else:
            made.append(token)
    return made


def is_foreign(source: str) -> bool:
    """Whether an address is not one of this site."""
    return not source.startswith("/") or source.startswith("//")


def _linked(text: str, references: Mapping[str, str]) -> Iterator[Token]:
    end = 0
    for found in _PLACES.finditer(text):
        words = found[0] if found[0][0] in "#@" else _trimmed(found[0])
        href = references.get(words, "") if words[0] in "#@" else words
        if href:
            yield _text(text[end : found.start()])
            yield from _link(href, words)
            end = found.start() + len(words)
    yield _text(text[end:])


def _trimmed(address: str) -> str:
    """The address without the sentence's marks; a bracket that was opened in it stays."""
    short = address.rstrip(_AFTER)
    return (
        short + ")"
        if address[len(short) :].startswith(")") and short.count("(") > short.count(")")
        else short
    )


def _link(href: str, words: str) -> list[Token]:
    begin = Token("link_open", "a", 1, attrs={"href": href})
    return [begin, _text(words), Token("link_close", "a", -1)]


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)
