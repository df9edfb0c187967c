"""Keeps files, and makes addresses for those who may fetch them."""

import hashlib
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from sqlalchemy.orm import Session

from anyshot_core.data.digests import digest_file
from anyshot_core.wire.worker_api import BlobRef
from anyshot_platform.foundation.artifacts.models import Blob
from anyshot_platform.foundation.database import insert_into, now
from anyshot_platform.foundation.errors import Forbidden
from anyshot_platform.foundation.services import Services
from anyshot_platform.foundation.storage import Storage

BLOB_PATH = "/api/worker/v1/blobs/"
_PURPOSE = "blob"


class BadSignature(Forbidden):
    """The file's address was altered or has expired."""

    code = "bad_signature"


def keep_file(services: Services, path: Path, digest: str | None = None) -> Blob:
    """Store a file and return its row. `digest`, where given, was computed from these very bytes.

    The row is written first: it holds off the collection of unreferenced files (`running.operations.retention`), which
    looks at `touched_at` under the same lock.
    """
    digest = digest or digest_file(path)
    size = path.stat().st_size
    with services.database.writing() as session:
        touch_blob(session, digest, size)
    services.storage.put(digest, path)
    return Blob(digest=digest, size=size)


def store_bytes(session: Session, storage: Storage, content: bytes) -> str:
    """Keep content in the storage; its digest."""
    digest = hashlib.sha256(content).hexdigest()
    touch_blob(session, digest, len(content))
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "content"
        source.write_bytes(content)
        storage.put(digest, source)
    return digest


def touch_blob(session: Session, digest: str, size: int) -> None:
    """Write the row of a file that is about to be stored, or mark it as wanted again."""
    moment = now()
    session.execute(
        insert_into(session, Blob)
        .values(digest=digest, size=size, created_at=moment, touched_at=moment)
        .on_conflict_do_update(index_elements=[Blob.digest], set_={"touched_at": moment})
    )


def blob_ref(services: Services, digest: str, size: int) -> BlobRef:
    """A reference with a signed address that works for a while, for workers."""
    return BlobRef(digest=digest, size=size, url=signed_url(services, digest))


def signed_url(services: Services, digest: str) -> str:
    """A signed address of a file: the storage's own, or a path of ours."""
    seconds = services.settings.blob_url_seconds
    direct = services.storage.direct_url(digest, seconds)
    if direct is not None:
        return direct
    # Rounded up to whole periods, so that repeated pages give the same address and caches can work.
    expires = (int(time.time()) // seconds + 2) * seconds
    signature = services.signer.sign(_PURPOSE, f"{digest}:{expires}")
    return f"{BLOB_PATH}{digest}?expires={expires}&signature={signature}"


def check_signature(services: Services, digest: str, expires: int, signature: str) -> None:
    """Raise `BadSignature` unless the address is ours and still works."""
    genuine = services.signer.verify(_PURPOSE, f"{digest}:{expires}", signature)
    if not genuine or expires < time.time():
        raise BadSignature("This address has expired or was altered.")


def read_chunks(file: BinaryIO, size: int = 1 << 20) -> Iterator[bytes]:
    """The content of an open file, in parts; closes it, also when the reader stops early."""
    with file:
        while chunk := file.read(size):
            yield chunk
