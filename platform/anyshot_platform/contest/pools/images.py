"""What the images of packs are known by, kept beside each pack, and which images two packs share."""

import contextlib
import re
from collections.abc import Iterator
from functools import lru_cache

from sqlalchemy.orm import Session

from anyshot_core.data import pack as packs
from anyshot_core.data.fingerprints import Fingerprints, Overlap, find_overlap, find_repeats
from anyshot_core.data.problems import DataError
from anyshot_platform.contest.pools.models import Pack
from anyshot_platform.foundation.storage import STORAGE_KEY, Storage, as_file


@contextlib.contextmanager
def opened(storage: Storage, digest: str) -> Iterator[packs.Pack]:
    """A pack of the storage, opened for reading."""
    with as_file(storage, digest) as path:
        yield packs.Pack.open(path, verify=False)


def words_without_place(problem: DataError) -> str:
    """What a problem of packs says, without the place of their files here, which tells its readers nothing."""
    return re.sub(r" \(\S+\)(?=:)", "", str(problem))


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
