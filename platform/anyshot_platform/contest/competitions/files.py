"""The images and files of a competition's pages: what may be kept, under which name, and how it is sent."""

import tempfile
from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_core.names import NAME_WORDS, is_name
from anyshot_platform.contest.competitions.models import Competition, CompetitionFile
from anyshot_platform.foundation.artifacts.service import store_bytes
from anyshot_platform.foundation.database import hold
from anyshot_platform.foundation.errors import Conflict, Invalid, NotFound
from anyshot_platform.foundation.filters import decimal, size
from anyshot_platform.foundation.isolated_parsing.service import TooCostly, run_confined
from anyshot_platform.foundation.storage import Storage

MOST_BYTES, MOST_FILES, MOST_IN_ALL = 10 << 20, 200, 100 << 20
LOGO_LIMIT = 2 << 20
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


def media_type(name: str) -> str | None:
    """What a file of this name is sent as; None for what is not taken."""
    return (IMAGES | OTHERS).get(_ending(name))


def is_image(name: str) -> bool:
    """Whether a page shows it, instead of offering it for download."""
    return _ending(name) in IMAGES


def _ending(name: str) -> str:
    return name.rpartition(".")[2].lower()


def is_picture(name: str, content: bytes) -> bool:
    """Whether a browser shows this content where a page has an image of this name; raises `Busy`."""
    if not is_image(name):
        return False
    with tempfile.NamedTemporaryFile(prefix="anyshot-picture-") as file:
        file.write(content)
        file.flush()
        try:
            drawn = IMAGES[_ending(name)] == IMAGES["svg"]
            return run_confined("picture", path=file.name, drawn=drawn)["shown"]
        except TooCostly:
            return False


def give_logo(
    session: Session, storage: Storage, competition: Competition, name: str, content: bytes
) -> None:
    """Give a competition its logo; raises `Invalid` for what is too large, or no picture."""
    if not is_image(name):
        raise Invalid("A logo is a PNG, JPEG, GIF, WebP or SVG image.", field="logo")
    if len(content) > LOGO_LIMIT:
        raise Invalid(f"A logo has at most {size(LOGO_LIMIT)}.", field="logo")
    _require_picture(name, content, "logo")
    competition.logo_digest = store_bytes(session, storage, content)
    competition.logo_media_type = IMAGES[_ending(name)]


def _require_picture(name: str, content: bytes, field: str) -> None:
    if not is_picture(name, content):
        words = f"Browsers cannot show {name} as a picture: it is of another kind, or damaged."
        raise Invalid(words, field=field)


def list_files(session: Session, competition: Competition) -> Sequence[CompetitionFile]:
    """The files, by name."""
    query = select(CompetitionFile).where(CompetitionFile.competition_id == competition.id)
    return session.scalars(query.order_by(CompetitionFile.name)).all()


def find_file(session: Session, competition: Competition, name: str) -> CompetitionFile:
    """A file by its name; raises `NotFound`."""
    found = session.get(CompetitionFile, (competition.id, name))
    if found is None:
        raise NotFound("There is no such file.")
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
    hold(session, f"competition {competition.id}")
    others = [row for row in list_files(session, competition) if row.name != name]
    if len(others) >= MOST_FILES or sum(row.size for row in others) + len(content) > MOST_IN_ALL:
        raise Conflict(f"A competition has at most {MOST_FILES} files of {MOST_IN_ALL >> 20} MiB together.")
    digest = store_bytes(session, storage, content)
    row = session.get(CompetitionFile, (competition.id, name))
    if row is None:
        row = CompetitionFile(competition_id=competition.id, name=name, digest=digest, size=len(content))
        session.add(row)
    row.digest, row.size = digest, len(content)
    session.flush()
    return row


def _require_taken(name: str, content: bytes) -> None:
    if not is_name(name):
        raise Invalid(f"A file's name has {NAME_WORDS}; found “{name[:100]}”.", field="file")
    if media_type(name) is None:
        known = ", ".join([*IMAGES, *OTHERS])
        raise Invalid(
            f"{name} is of no kind that pages can have: {known}.",
            field="file",
        )
    if not content or len(content) > MOST_BYTES:
        raise Invalid(
            f"{name} has {decimal(len(content))} bytes; 1 to {decimal(MOST_BYTES)} are taken.",
            field="file",
        )
    if is_image(name):
        _require_picture(name, content, "file")
