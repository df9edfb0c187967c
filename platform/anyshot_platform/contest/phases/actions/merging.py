"""Two organizers edit one phase: both changes are kept; where both change one field, the second decides knowingly."""

from collections.abc import Collection
from typing import Any

from sqlalchemy.orm import Session

from anyshot_platform.actions.concurrency import Clash, Fields, Stale, is_same, seal, who_wrote
from anyshot_platform.contest.phases.models import Phase


def merge(
    session: Session, phase: Phase, seen: Fields | None, sent: Fields, current: Fields, keep: Collection[str]
) -> dict[str, Any]:
    """The fields of `sent` that are to be written: those that differ from what was `seen`, without those of `keep`.

    Raises:
        Stale: somebody else gave one of them another value meanwhile.
    """
    base = current if seen is None else seen
    mine = {name: value for name, value in sent.items() if not is_same(value, base.get(name))}
    wanted = {name: value for name, value in mine.items() if not is_same(value, current.get(name))}
    clashing = {name: current.get(name) for name in wanted if not is_same(current.get(name), base.get(name))}
    if clashing:
        clashes = [
            Clash(name, sent[name], value, *who_wrote(session, ("phase", phase.id), (name,)))
            for name, value in clashing.items()
        ]
        raise Stale(clashes, seal({**base, **clashing}), rest=len(wanted) > len(clashing))
    return {name: value for name, value in wanted.items() if name not in keep}
