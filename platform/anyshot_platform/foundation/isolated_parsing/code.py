"""The texts of a submission's zip, highlighted, and how they differ from another's. Runs in a confined process.

Pygments reads a stranger's text by regular expressions, and difflib compares line by line. Both can be made to take
long, so both happen where the kernel ends what does.
"""

import difflib
from pathlib import Path
from typing import Any

from markupsafe import escape
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_for_filename
from pygments.lexers.special import TextLexer
from pygments.util import ClassNotFound

from anyshot_core.bundle.members import read_member
from anyshot_core.bundle.zipsafety import ZipMember, ZipRefused, folder_of, is_clutter, read_listing

MOST_FILES = 300
LARGEST_TEXT = 200 << 10  # bytes of one file
ALL_TEXTS = 2 << 20
_AROUND = 3  # lines around a change
_COLOURED = 60 << 10  # characters beyond which a text is shown plain
_HTML = HtmlFormatter(nowrap=True, classprefix="hl-")
Text = dict[str, str | None]


def read_code(path: Path, shown: str) -> dict[str, Any]:
    """All files with their sizes, and the lines of one of them as HTML; `shown` empty: the first text that there is."""
    members, texts = _read(path)
    readable = [name for name, text in texts.items() if text is not None]
    chosen = shown if shown in members else next(iter(sorted(readable, key=_main_first)), "")
    text = texts.get(chosen)
    return {
        "files": [
            {"path": name, "size": member.size, "text": texts.get(name) is not None}
            for name, member in members.items()
        ],
        "shown": chosen,
        "lines": None if text is None else _lines(chosen, text),
        "text": text,
    }


def compare_code(path: Path, other: Path) -> dict[str, Any]:
    """Each file that is not the same in both: what became of it, and the changed lines with some around them."""
    (members, texts), (old_members, old_texts) = _read(path), _read(other)
    found = []
    for name in sorted(members.keys() | old_members.keys()):
        member, old_member = members.get(name), old_members.get(name)
        new, old = texts.get(name), old_texts.get(name)
        if member is not None and old_member is not None and _is_same(member, old_member, new, old):
            continue
        what = "added" if old_member is None else "removed" if member is None else "changed"
        known = (new is not None or member is None) and (old is not None or old_member is None)
        found.append({"path": name, "what": what, "parts": _parts(old or "", new or "") if known else None})
    return {"files": found}


def _is_same(member: ZipMember, old_member: ZipMember, new: str | None, old: str | None) -> bool:
    """Whether a file is the same in both zips: by its text, or by size and checksum where a text is not at hand."""
    if new is not None and old is not None:
        return new == old
    return (member.size, member.crc) == (old_member.size, old_member.crc)


def _main_first(name: str) -> tuple[bool, int, str]:
    return name != "model.py", name.count("/"), name


def _read(path: Path) -> tuple[dict[str, ZipMember], Text]:
    """The files below the one top folder, and the texts of those that are short enough and UTF-8."""
    try:
        listing = read_listing(path)
        top = folder_of(listing)
        files = [one for one in listing.files if not is_clutter(one.path)][:MOST_FILES]
        members, texts, room = dict[str, ZipMember](), Text(), ALL_TEXTS
        for one in sorted(files, key=lambda member: member.path):
            name = one.path.removeprefix(top)
            members[name] = one
            if (content := read_member(path, one, min(LARGEST_TEXT, room))) is not None:
                texts[name] = _decode(content)
                room -= len(content)
        return members, texts
    except ZipRefused:
        return {}, {}


def _decode(content: bytes) -> str | None:
    if b"\0" in content:
        return None
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError:
        return None


def _lines(name: str, text: str) -> list[str]:
    """HTML a line; Pygments closes what is open at the end of each."""
    if len(text) > _COLOURED:
        return [str(escape(line)) for line in text.split("\n")]
    try:
        lexer = get_lexer_for_filename(name, stripnl=False)
    except ClassNotFound:
        lexer = TextLexer(stripnl=False)
    return highlight(text, lexer, _HTML).removesuffix("\n").split("\n")


def _parts(old: str, new: str) -> list[list[tuple[str, int | None, int | None, str]]]:
    """The changed places: lines as (sign, number before, number now, text)."""
    before, now = old.split("\n"), new.split("\n")
    matcher = difflib.SequenceMatcher(None, before, now, autojunk=True)
    parts = []
    for group in matcher.get_grouped_opcodes(_AROUND):
        lines: list[tuple[str, int | None, int | None, str]] = []
        for tag, i, j, k, m in group:
            if tag == "equal":
                lines += [(" ", i + n + 1, k + n + 1, before[i + n]) for n in range(j - i)]
                continue
            lines += [("-", n + 1, None, before[n]) for n in range(i, j)]
            lines += [("+", None, n + 1, now[n]) for n in range(k, m)]
        parts.append(lines)
    return parts
