"""Tasks that the pools of a version do not have, whatever a protocol says of itself: errors of a phase's settings."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import lru_cache

from sqlalchemy.orm import Session

from anyshot_core.data.pack import Pack as OpenPack
from anyshot_core.data.pool import Pool
from anyshot_core.data.problems import DataError
from anyshot_core.evaluations.needs import divides_into_sides, require_sides, require_spread
from anyshot_core.protocols import Protocol, ProtocolError, Roles
from anyshot_platform.contest.phases.models import PhaseVersion
from anyshot_platform.contest.pools.images import opened, words_without_place
from anyshot_platform.contest.pools.models import Pack
from anyshot_platform.foundation.storage import STORAGE_KEY, Storage
from anyshot_platform.judging.runs.secrets import roles_of


@contextmanager
def opening(session: Session) -> Iterator[Callable[[Sequence[Pack]], Pool]]:
    """Makes pools of packs, whose files are opened once each, however many pools they are in."""
    with ExitStack() as files:
        known: dict[str, OpenPack] = {}

        def opened_pool(rows: Sequence[Pack]) -> Pool:
            for row in rows:
                if row.digest not in known:
                    known[row.digest] = files.enter_context(opened(session.info[STORAGE_KEY], row.digest))
            return Pool([known[row.digest] for row in rows])

        yield opened_pool


def problems_of_count(version: PhaseVersion, tested: Sequence[Pack]) -> Iterator[str]:
    """Why a run of so many tasks would leave datasets out, or ask for tasks that there are none of."""
    roles = _readable_roles(version)
    if roles is None or not tested:
        return
    try:
        require_spread(roles.test, len(tested), version.tasks, each_dataset=version.each_dataset)
    except ProtocolError as problem:
        yield str(problem)


def problems_of_sides(
    session: Session, version: PhaseVersion, trained: Sequence[Pack], tested: Sequence[Pack]
) -> Iterator[str]:
    """Why classes cannot be split as the protocols say: a side that one of them needs would be empty."""
    roles = _readable_roles(version)
    if roles is None or not divides_into_sides(roles) or not tested:
        return
    with opening(session) as opened_pool:
        try:
            require_sides(roles, opened_pool(trained) if trained else (), opened_pool(tested))
        except ProtocolError as problem:
            yield words_without_place(problem)
        except (DataError, OSError):
            return  # a file that cannot be read: the run says so, as a fault of the organizers' data


def problems_of_drawing(session: Session, version: PhaseVersion) -> Iterator[str]:
    """What the protocol says of the packs that it is to draw from: every run would be refused by it."""
    roles = _readable_roles(version)
    if roles is None or version.meta_test is None or not version.meta_test.entries:
        return  # said elsewhere
    digests = tuple(entry.pack.digest for entry in version.meta_test.entries)
    try:
        if words := _refused(session.info[STORAGE_KEY], roles.test, digests):
            yield words_without_place(ProtocolError(words))
    except (DataError, OSError):
        return  # a file that cannot be read: the run says so, as a fault of the organizers' data


@lru_cache(maxsize=256)
def _refused(storage: Storage, protocol: Protocol, digests: tuple[str, ...]) -> str:
    """Why a protocol cannot draw from packs; empty where it can. Packs never change, and may lie far away."""
    with ExitStack() as files:
        pool = Pool([files.enter_context(opened(storage, digest)) for digest in digests])
        try:
            protocol.check(pool)
        except ProtocolError as problem:
            return str(problem)
    return ""


def _readable_roles(version: PhaseVersion) -> Roles | None:
    try:
        return roles_of(version)
    except (ProtocolError, ValueError, TypeError, KeyError):
        return None  # said by the field itself
