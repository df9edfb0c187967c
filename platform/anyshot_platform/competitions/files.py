"""The images and files of a competition's pages: what may be kept, under which name, and how it is sent."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from xml.parsers import expat

from PIL import Image
from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.artifacts.service import store_bytes
from anyshot_platform.competitions.models import Competition, CompetitionFile
from anyshot_platform.errors import Conflict, Invalid, NotFound
from anyshot_platform.kernel.filters import size
from anyshot_platform.kernel.language import Amount, say
from anyshot_platform.kernel.storage import Storage

MOST_BYTES, MOST_FILES, MOST_IN_ALL = 10 << 20, 200, 100 << 20
LOGO_LIMIT = 2 << 20
MOST_PIXELS = 40_000_000  # a small file may unpack to gigabytes
IMAGES = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "svg": "image/svg+xml",
}
# What is no image is downloaded, never shown: a page of somebody else's making gets no place on this site.
OTHERS = {
    "pdf": "application/pdf",
    "txt": "text/plain",
    "md": "text/plain",
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    "bib": "text/plain",
    "py": "text/plain",
    "yaml": "text/plain",
    "json": "application/json",
    "ipynb": "application/json",
    "zip": "application/zip",
}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def media_type(name: str) -> str | None:
    """What a file of this name is sent as; None for what is not taken."""
    return (IMAGES | OTHERS).get(_ending(name))


def is_image(name: str) -> bool:
    """Whether a page shows it, instead of offering it for download."""
    return _ending(name) in IMAGES


def _ending(name: str) -> str:
    return name.rpartition(".")[2].lower()


def is_picture(name: str, content: bytes) -> bool:
    """Whether a browser shows this content where a page has an image of this name."""
    if not is_image(name):
        return False
    return _is_drawing(content) if IMAGES[_ending(name)] == IMAGES["svg"] else _is_bitmap(content)


def _is_bitmap(content: bytes) -> bool:
    """Whether it is decoded to its end; of which of the kinds says the content itself, to browsers too."""
    kinds = ("PNG", "JPEG", "GIF", "WEBP")
    try:
        Image.open(io.BytesIO(content), formats=kinds).verify()  # its sums and its end
        with Image.open(io.BytesIO(content), formats=kinds) as image:
            if image.width * image.height > MOST_PIXELS:
                return False
            image.load()
    except (
        OSError,
        SyntaxError,
        ValueError,
        EOFError,
        Image.DecompressionBombError,
        Image.DecompressionBombWarning,
    ):
        return False
    return True


def _is_drawing(content: bytes) -> bool:
    """Whether it is XML to its end, with SVG's own root: anything else a browser shows as broken."""
    roots: list[str] = []
    reader = expat.ParserCreate(namespace_separator=" ")
    reader.StartElementHandler = lambda name, _: roots.append(name) if not roots else None
    try:
        reader.Parse(content, True)
    except expat.ExpatError:
        return False
    return roots == ["http://www.w3.org/2000/svg svg"]


def give_logo(
    session: Session, storage: Storage, competition: Competition, name: str, content: bytes
) -> None:
    """Give a competition its logo; raises `Invalid` for what is too large, or no picture."""
    if not is_image(name):
        raise Invalid(say("A logo is a PNG, JPEG, GIF, WebP or SVG image."), field="logo")
    if len(content) > LOGO_LIMIT:
        raise Invalid(say("A logo has at most %(most)s.", most=size(LOGO_LIMIT)), field="logo")
    _require_picture(name, content, "logo")
    competition.logo_digest = store_bytes(session, storage, content)
    competition.logo_media_type = IMAGES[_ending(name)]


def _require_picture(name: str, content: bytes, field: str) -> None:
    if not is_picture(name, content):
        words = say(
            "%(name)s is no picture that browsers can show: it is of another kind, damaged, or over 40 million pixels.",
            name=name,
        )
        raise Invalid(words, field=field)


def list_files(session: Session, competition: Competition) -> Sequence[CompetitionFile]:
    """The files, by name."""
    query = select(CompetitionFile).where(CompetitionFile.competition_id == competition.id)
    return session.scalars(query.order_by(CompetitionFile.name)).all()


def find_file(session: Session, competition: Competition, name: str) -> CompetitionFile:
    """A file by its name; raises `NotFound`."""
    found = session.get(CompetitionFile, (competition.id, name))
    if found is None:
        raise NotFound(say("There is no such file."))
    return found


def put_file(
    session: Session, storage: Storage, competition: Competition, name: str, content: bytes
) -> CompetitionFile:
    """Keep a file, in the place of one of the same name.

    Raises:
        Invalid: a name or a kind that is not taken, too large, or empty.
        Conflict: the competition has no room left.
    """
    _require_taken(name, content)
    others = [row for row in list_files(session, competition) if row.name != name]
    if len(others) >= MOST_FILES or sum(row.size for row in others) + len(content) > MOST_IN_ALL:
        raise Conflict(
            say(
                "A competition has at most %(most_files)s files of %(most_in_all)s MiB together.",
                most_files=MOST_FILES,
                most_in_all=MOST_IN_ALL >> 20,
            )
        )
    digest = store_bytes(session, storage, content)
    row = session.get(CompetitionFile, (competition.id, name))
    if row is None:
        row = CompetitionFile(competition_id=competition.id, name=name, digest=digest, size=len(content))
        session.add(row)
    row.digest, row.size = digest, len(content)
    session.flush()
    return row


def _require_taken(name: str, content: bytes) -> None:
    if _NAME.fullmatch(name) is None:
        words = say(
            "The name of a file has at most 100 letters, digits, dots, dashes and underscores; found “%(name)s”.",
            name=name[:100],
        )
        raise Invalid(words, field="file")
    if media_type(name) is None:
        known = ", ".join([*IMAGES, *OTHERS])
        raise Invalid(
            say("%(name)s is of no kind that pages can have: %(known)s.", name=name, known=known),
            field="file",
        )
    if not content or len(content) > MOST_BYTES:
        raise Invalid(
            say(
                "%(name)s has %(number)s bytes; 1 to %(most_bytes)s are taken.",
                name=name,
                number=Amount(len(content)),
                most_bytes=Amount(MOST_BYTES),
            ),
            field="file",
        )
    if is_image(name):
        _require_picture(name, content, "file")
