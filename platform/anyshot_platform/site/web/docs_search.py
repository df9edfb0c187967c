"""A search of the documentation: the sections that hold all words of a question, the likeliest first."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from anyshot_core.report.documentation import SECTION, SECTIONS, page_files, reading_order, reproductions
from anyshot_platform.foundation.plain_text import plain
from anyshot_platform.site.web.docs_outline import next_anchor

MOST_WORDS, MOST_FOUND, _EXCERPT = 8, 20, 160
_HEADING = re.compile(r"#{2,4} +(.*)")


@dataclass(frozen=True)
class DocsSection:
    """A section of a page; the first has no heading of its own."""

    page: str  # SECTION/NAME
    title: str
    heading: str
    anchor: str
    text: str


@dataclass(frozen=True)
class DocsFound:
    """A section that was found, and what it says where the first word stands."""

    title: str
    heading: str
    href: str
    excerpt: str


def search_docs(docs: Path, question: str) -> list[DocsFound]:
    """The sections with all words of the question, whatever their case; none for no words."""
    words = question.casefold().split()[:MOST_WORDS]
    if not words:
        return []
    rated = ((_rate(one, words), place, one) for place, one in enumerate(_sections(docs)))
    likeliest = sorted((rate, place, one) for rate, place, one in rated if rate < 0)
    return [
        DocsFound(one.title, one.heading, _address(one), _excerpt(one.text, words[0]))
        for _, _, one in likeliest[:MOST_FOUND]
    ]


def _rate(section: DocsSection, words: list[str]) -> int:
    """Below 0 where it holds every word, the lower the likelier: titles count most, then headings, then how often."""
    title, heading, text = section.title.casefold(), section.heading.casefold(), section.text.casefold()
    rate = 0
    for word in words:
        worth = 20 * (word in title) + 10 * (word in heading) + min(text.count(word), 5)
        if not worth:
            return 0
        rate -= worth
    return rate


def _address(section: DocsSection) -> str:
    folder, _, name = section.page.partition("/")
    path = "/".join(part for part in (folder, "" if name == "index" else name) if part)
    return (f"/docs/{path}/" if path else "/docs") + (f"#{section.anchor}" if section.anchor else "")


def _excerpt(text: str, word: str) -> str:
    at = max(text.casefold().find(word) - _EXCERPT // 3, 0)
    start = text.find(" ", at) + 1 if at else 0
    cut = text[start : start + _EXCERPT]
    return ("… " if start else "") + cut + (" …" if start + _EXCERPT < len(text) else "")


@lru_cache(maxsize=2)
def _sections(docs: Path) -> tuple[DocsSection, ...]:
    """All sections in the order in which the pages are learned."""
    found: list[DocsSection] = []
    drawn = reproductions(docs)
    for folder, _ in SECTIONS:
        files = page_files(docs, folder)
        for name in reading_order(docs, folder):
            if name in files:
                found += _sections_of(f"{folder}/{name}", files[name].read_text(encoding="utf-8"))
            elif folder == SECTION:
                found.append(DocsSection(f"{folder}/{name}", drawn[name], "", "", ""))
    return tuple(found)


def _sections_of(page: str, text: str) -> Iterator[DocsSection]:
    first, _, rest = text.partition("\n")
    title = first.removeprefix("#").strip()
    heading, lines, inside, taken = "", list[str](), False, set[str]()
    for line in [*rest.splitlines(), "## "]:
        inside ^= line.lstrip().startswith("```")
        begins = None if inside else _HEADING.fullmatch(line)
        if begins is None:
            lines.append(line)
            continue
        words = " ".join(re.sub(r"[`|]|-{3,}", " ", plain("\n".join(lines))).split())
        shown = plain(heading)
        yield DocsSection(page, title, shown, next_anchor(shown, taken) if heading else "", words)
        heading, lines = begins[1], []
