"""Uploads that can be resumed: bytes are appended to a file until all are there."""

import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

from anyio import to_thread
from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from anyshot_core.data.digests import digest_file
from anyshot_platform.foundation.database import new_id, now
from anyshot_platform.foundation.errors import Conflict, Invalid, NotFound, PlatformError
from anyshot_platform.foundation.services import Services
from anyshot_platform.judging.submissions.models import Upload, UsedTicket
from anyshot_platform.judging.submissions.states import UploadPurpose

_WRITTEN_AT_ONCE = 1 << 20  # bytes; each write is handed to a thread, and chunks are small


class TooLarge(PlatformError):
    """More bytes than are allowed or were announced."""

    status = 413
    code = "too_large"


class WrongOffset(Conflict):
    """The part does not begin where the last one ended; `details` say where."""

    code = "wrong_offset"


def begin_upload(
    services: Services,
    session: Session,
    user_id: str,
    *,
    filename: str,
    size: int,
    digest: str | None = None,
    purpose: UploadPurpose = UploadPurpose.SUBMISSION,
    begun_at: datetime | None = None,
) -> Upload:
    """Announce an upload of `size` bytes; `begun_at` is when it began, where that is known before its first byte."""
    settings = services.settings
    most = settings.pack_max_bytes if purpose == UploadPurpose.PACK else settings.upload_max_bytes
    if size > most:
        words = f"At most {most >> 20} MiB are allowed; this file has {size >> 20}."
        raise TooLarge(words, limit=most)
    upload = Upload(
        id=new_id(),
        user_id=user_id,
        filename=clean_filename(filename),
        size=size,
        digest=digest,
        purpose=purpose,
        begun_at=begun_at,
    )
    folder = services.settings.upload_folder
    folder.mkdir(parents=True, exist_ok=True)
    session.add(upload)
    session.flush()  # what is over the budget leaves no file
    upload_path(services, upload).touch(exist_ok=False)
    return upload


def begin_or_resume(
    services: Services,
    session: Session,
    user_id: str,
    *,
    filename: str,
    size: int,
    digest: str | None,
    purpose: UploadPurpose = UploadPurpose.SUBMISSION,
    begun_at: datetime | None = None,
) -> Upload:
    """Announce an upload; one of the same bytes that its user broke off is gone on with, and counted once."""
    known = _find_broken(services, session, user_id, size, digest, purpose) if digest else None
    if known is None:
        return begin_upload(
            services,
            session,
            user_id,
            filename=filename,
            size=size,
            digest=digest,
            purpose=purpose,
            begun_at=begun_at,
        )
    known.filename = clean_filename(filename)
    known.received = upload_path(services, known).stat().st_size
    return known


def _find_broken(
    services: Services, session: Session, user_id: str, size: int, digest: str, purpose: UploadPurpose
) -> Upload | None:
    """The user's newest upload of these bytes that was used for nothing, if its file is there."""
    begun = select(Upload).where(
        Upload.user_id == user_id,
        Upload.purpose == purpose,
        Upload.digest == digest,
        Upload.size == size,
        Upload.used_at.is_(None),
    )
    known = session.scalars(begun.order_by(Upload.created_at.desc())).first()
    return known if known is not None and upload_path(services, known).exists() else None


def clean_filename(name: str) -> str:
    """A name to show: no folders, no control characters, at most 200 characters."""
    last = name.replace("\\", "/").rsplit("/", 1)[-1]
    return "".join(letter for letter in last if letter.isprintable())[-200:] or "submission.zip"


def upload_path(services: Services, upload: Upload) -> Path:
    """Where the bytes lie."""
    return services.settings.upload_folder / f"{upload.id}.part"


def find_upload(session: Session, user_id: str, upload_id: str) -> Upload:
    """The user's upload; raises `NotFound`."""
    upload = session.get(Upload, upload_id)
    if upload is None or upload.user_id != user_id or upload.used_at is not None:
        raise NotFound("There is no such upload; it may have expired.")
    return upload


async def receive_part(
    services: Services,
    user_id: str,
    upload_id: str,
    offset: int,
    chunks: AsyncIterator[bytes],
    place: Callable[[Session], datetime],
) -> Upload:
    """Append bytes at `offset`, which must be where the file ends.

    What arrived before a broken connection is kept. No transaction is open while bytes arrive. `place` tells the moment
    by which the request stands.
    """
    upload = await to_thread.run_sync(_find, services, user_id, upload_id)
    path = upload_path(services, upload)
    received = path.stat().st_size if path.exists() else 0
    if offset != received:
        raise WrongOffset(f"{received} bytes have arrived; go on from there.", received=received)
    try:
        received += await _write_at(path, received, upload.size - received, chunks)
    finally:
        await to_thread.run_sync(_note_received, services, upload_id, path, place)
    upload.received = received
    return upload


async def _write_at(path: Path, offset: int, room: int, chunks: AsyncIterator[bytes]) -> int:
    """Write at the offset, not at the end: a part that is sent twice at once is then written over itself."""
    written, waiting = 0, bytearray()
    with path.open("r+b") as file:
        file.seek(offset)
        try:
            async for chunk in chunks:
                if written + len(waiting) + len(chunk) > room:
                    raise TooLarge("More bytes arrived than were announced.")
                waiting += chunk
                if len(waiting) >= _WRITTEN_AT_ONCE:
                    part, waiting = waiting, bytearray()
                    written += len(part)
                    await to_thread.run_sync(file.write, part)
        finally:  # a broken connection loses nothing of what arrived
            written += file.write(waiting)
    return written


def _find(services: Services, user_id: str, upload_id: str) -> Upload:
    with services.database.reading() as session:
        return find_upload(session, user_id, upload_id)


def _note_received(
    services: Services, upload_id: str, path: Path, place: Callable[[Session], datetime]
) -> None:
    with services.database.writing() as session:
        upload = session.get(Upload, upload_id)
        if upload is not None and path.exists():
            upload.received = path.stat().st_size
            if upload.received:
                begun_at = place(session)
                upload.begun_at = upload.begun_at or begun_at
            if upload.received == upload.size:
                upload.completed_at = upload.completed_at or now()


@contextmanager
def sealed_upload(
    services: Services, user_id: str, upload_id: str, purpose: UploadPurpose = UploadPurpose.SUBMISSION
) -> Iterator[tuple[Upload, Path, str]]:
    """The upload, a copy of its file that no part can reach any more, and that copy's digest.

    A part that began before the upload was complete may still be written; what is hashed, checked and stored is the
    copy. Raises `Conflict` or `Invalid` unless all bytes are here.
    """
    upload = _find(services, user_id, upload_id)
    _require_purpose(upload, purpose)
    handle, name = tempfile.mkstemp(
        dir=services.settings.upload_folder, prefix=f"{upload.id}.", suffix=".sealed"
    )
    os.close(handle)
    path = Path(name)
    try:
        with contextlib.suppress(FileNotFoundError):
            shutil.copyfile(upload_path(services, upload), path)
        yield upload, path, _require_whole(services, upload, path)
    finally:
        path.unlink(missing_ok=True)


def use_up(session: Session, upload_id: str) -> None:
    """Mark an upload as used in this transaction; of several at once, one finds it unused. Raises `NotFound`."""
    used = session.execute(
        update(Upload).where(Upload.id == upload_id, Upload.used_at.is_(None)).values(used_at=now())
    )
    if used.rowcount != 1:  # pyright: ignore[reportAttributeAccessIssue]
        raise NotFound("There is no such upload; it may have been used already.")


def take_upload(services: Services, session: Session, user_id: str, upload_id: str) -> tuple[Upload, bytes]:
    """An upload and its content, used up in this transaction; raises as `sealed_upload` does."""
    upload = find_upload(session, user_id, upload_id)
    _require_purpose(upload, UploadPurpose.SUBMISSION)
    path = upload_path(services, upload)
    content = path.read_bytes() if path.exists() else b""
    _require_digest(services, upload, len(content), hashlib.sha256(content).hexdigest())
    use_up(session, upload.id)
    path.unlink(missing_ok=True)
    return upload, content


def _require_purpose(upload: Upload, purpose: UploadPurpose) -> None:
    if upload.purpose != purpose:
        raise NotFound("This upload is for something else.")


def _require_whole(services: Services, upload: Upload, path: Path) -> str:
    """The digest of the bytes that arrived; raises `Conflict` or `Invalid` unless they are all that was announced."""
    digest = digest_file(path)
    _require_digest(services, upload, path.stat().st_size, digest)
    return digest


def _require_digest(services: Services, upload: Upload, received: int, digest: str) -> None:
    """Raise `Conflict` where bytes are missing, `Invalid` where they are others: those are thrown away."""
    if received != upload.size:
        raise Conflict(
            f"{received} of {upload.size} bytes have arrived.",
            received=received,
            size=upload.size,
        )
    if upload.digest is not None and digest != upload.digest:
        upload_path(services, upload).write_bytes(b"")  # or the next try would go on with the same bytes
        raise Invalid(
            "The bytes that arrived are not the ones announced. Please upload again.", digest=digest
        )


def drop_upload(services: Services, upload_id: str) -> None:
    """Remove the file of an upload that became a submission."""
    with services.database.reading() as session:
        upload = session.get(Upload, upload_id)
    if upload is not None:
        upload_path(services, upload).unlink(missing_ok=True)


def forget_upload(services: Services, upload_id: str) -> None:
    """Remove an upload that nobody will use, unless it is used already: it counts no longer."""
    with services.database.writing() as session:
        upload = session.get(Upload, upload_id, with_for_update=True)
        if upload is None or upload.used_at is not None:
            return
        session.delete(upload)
    upload_path(services, upload).unlink(missing_ok=True)


def forget_old_uploads(services: Services, *, older_than: timedelta = timedelta(days=2)) -> int:
    """Remove uploads that nobody came back for, and files without a row; returns how many."""
    before = now() - older_than
    with services.database.writing() as session:
        old = session.scalars(select(Upload).where(Upload.created_at < before)).all()
        for upload in old:
            upload_path(services, upload).unlink(missing_ok=True)
        session.execute(delete(Upload).where(Upload.id.in_([upload.id for upload in old])))
        session.execute(delete(UsedTicket).where(UsedTicket.used_at < before))
    return len(old) + _remove_strays(services, before)


def _remove_strays(services: Services, before: datetime) -> int:
    """Remove old files without a row: their process died before it could; returns how many."""
    with services.database.reading() as session:
        known = set(session.scalars(select(Upload.id)))
    strays = [
        path
        for path in services.settings.upload_folder.glob("*.*")
        if path.name.partition(".")[0] not in known and _is_older(path, before)
    ]
    for path in strays:
        path.unlink(missing_ok=True)
    return len(strays)


def _is_older(path: Path, before: datetime) -> bool:
    try:
        return path.stat().st_mtime < before.timestamp()
    except FileNotFoundError:  # its request has ended meanwhile
        return False
