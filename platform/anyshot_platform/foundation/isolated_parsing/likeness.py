"""What the code of submissions is compared by. Runs in a confined process.

Two zips of the same files have the same digest. Code that was copied and changed a little, or whose names were, still
shares nearly all of its token sequences: tokens without names, numbers, texts and comments.
"""

import hashlib
import io
import keyword
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from anyshot_core.bundle.members import read_member
from anyshot_core.bundle.pack import is_left_out
from anyshot_core.bundle.zipsafety import ZipMember, ZipRefused, is_clutter, read_listing

SEQUENCE = 12  # tokens
MOST_SOURCE = 512 << 10  # bytes of Python that are compared
_PLAIN = {tokenize.NUMBER: "0", tokenize.STRING: "s"}
_UNSAID = frozenset(
    (
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    )
)


def fingerprint(path: Path) -> dict[str, Any]:
    """`files` is a digest of what the zip's files hold, whatever they are called; `sequences` hashes of its Python."""
    try:
        members = [
            one for one in read_listing(path).files if not (is_clutter(one.path) or is_left_out(one.path))
        ]
        contents = sorted(f"{one.size}:{one.crc:08x}" for one in members)
        digest = hashlib.sha256("\n".join(contents).encode()).hexdigest()
        return {"files": digest, "sequences": sorted(set(_sequences(path, members)))}
    except ZipRefused:
        return {"files": "", "sequences": []}


def _sequences(path: Path, members: list[ZipMember]) -> Iterator[int]:
    room = MOST_SOURCE
    for one in sorted(members, key=lambda member: member.path):
        if one.path.endswith(".py") and (source := read_member(path, one, room)) is not None:
            room -= len(source)
            tokens = list(_tokens(source.decode("utf-8", errors="replace")))
            for start in range(len(tokens) - SEQUENCE + 1):
                words = " ".join(tokens[start : start + SEQUENCE]).encode()
                yield int.from_bytes(hashlib.blake2b(words, digest_size=7).digest())


def _tokens(source: str) -> Iterator[str]:
    """The tokens, as far as it is Python."""
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.NAME:
                yield token.string if keyword.iskeyword(token.string) else "n"
            elif token.type not in _UNSAID:
                yield _PLAIN.get(token.type, token.string)
    except (tokenize.TokenError, SyntaxError):
        return
