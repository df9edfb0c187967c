"""What the images of packs are known by, kept beside each pack, and which images two packs share."""

import contextlib
import re
import tempfile
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_core.data import pack as packs
from anyshot_core.data.fingerprints import Fingerprints, Overlap, find_overlap, find_repeats, fingerprint
from anyshot_core.data.problems import DataError
from anyshot_platform.contest.pools.models import Pack
from anyshot_platform.foundation.artifacts.service import keep_file
from anyshot_platform.foundation.services import Services
from anyshot_platform.foundation.storage import STORAGE_KEY, Storage, as_file


def keep_fingerprints(services: Services, opened: packs.Pack) -> str:
    """Make the fingerprints of a pack's images, and store them; the digest of their file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fingerprints"
        path.write_bytes(fingerprint(opened).to_bytes())
        return keep_file(services, path).digest


def packs_without(session: Session) -> Sequence[str]:
    """The ids of packs that came before fingerprints were made."""
    return session.scalars(select(Pack.id).where(Pack.fingerprints.is_(None))).all()


@contextlib.contextmanager
def opened(storage: Storage, digest: str) -> Iterator[packs.Pack]:
    """A pack of the storage, opened for reading."""
    with as_file(storage, digest) as path:
        yield packs.Pack.open(path, verify=False)


def words_without_place(problem: DataError) -> str:
    """What a problem of packs says, without the place of their files here, which tells its readers nothing."""
    return re.sub(r" \(\S+\)(?=:)", "", str(problem))


def fingerprint_old_pack(services: Services, pack_id: str) -> int:
    """Make the fingerprints of a pack that has none."""
    with services.database.reading() as session:
        digest = session.get_one(Pack, pack_id).digest
    with opened(services.storage, digest) as pack:
        made = keep_fingerprints(services, pack)
    with services.database.writing() as session:
        session.get_one(Pack, pack_id).fingerprints = made
    return 1


def fingerprints_of(session: Session, pack: Pack) -> Fingerprints:
    """The fingerprints of a pack that has some."""
    assert pack.fingerprints is not None
    return _read(session.info[STORAGE_KEY], pack.fingerprints)


def overlap_of(session: Session, first: Pack, second: Pack) -> Overlap | None:
    """The images of the first that the second has too; None while one of them has no fingerprints."""
    if first.fingerprints is None or second.fingerprints is None:
        return None
    return _compare(session.info[STORAGE_KEY], first.fingerprints, second.fingerprints)


def repeats_of(session: Session, pack: Pack) -> Overlap | None:
    """The images of a pack that are in it twice, or look like an earlier one; None while it has no fingerprints."""
    return None if pack.fingerprints is None else _repeats(session.info[STORAGE_KEY], pack.fingerprints)


@lru_cache(maxsize=1024)
def _repeats(storage: Storage, digest: str) -> Overlap:
    return find_repeats(_read(storage, digest))


@lru_cache(maxsize=64)
def _read(storage: Storage, digest: str) -> Fingerprints:
    with storage.open(digest) as file:
        return Fingerprints.from_bytes(file.read())


@lru_cache(maxsize=8192)
def _compare(storage: Storage, first: str, second: str) -> Overlap:
    """Files are known by their content, so what two of them share never changes."""
    return find_overlap(_read(storage, first), _read(storage, second))
