"""How many datasets of a pool are left to train on, by what the protocols of a phase show of each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from sqlalchemy.orm import Session

from anyshot_core.data.problems import DataError
from anyshot_core.evaluations.needs import require_trained_side
from anyshot_core.protocols import Roles
from anyshot_platform.kernel.storage import STORAGE_KEY, Storage
from anyshot_platform.pools.images import opened
from anyshot_platform.pools.models import PoolVersion


def count_shown(
    session: Session, roles: Roles | None, trained: PoolVersion | None, tested: PoolVersion | None
) -> int:
    """The datasets that a worker keeps of `trained` (`anyshot_core.protocols.cutting`)."""
    known, storage = set(_digests(tested)), session.info[STORAGE_KEY]
    return sum(
        roles is None or _is_shown(storage, roles, digest, digest in known) for digest in _digests(trained)
    )


def _digests(pool: PoolVersion | None) -> Sequence[str]:
    return [] if pool is None else [entry.pack.digest for entry in pool.entries]


@lru_cache(maxsize=1024)
def _is_shown(storage: Storage, roles: Roles, digest: str, tested: bool) -> bool:
    """Whether anything of a pack may be trained on; it is opened only where the protocols take rows away."""
    if roles.train is None and not roles.test.holds_out and not (tested and roles.test.splits_datasets):
        return True
    try:
        with opened(storage, digest) as pack:
            require_trained_side(roles, pack, tested=tested)
            rows = roles.training_rows(pack, tested=tested)
    except (DataError, OSError):
        return True  # the run says so, as a fault of the organizers' data
    return rows is None or len(rows) > 0
