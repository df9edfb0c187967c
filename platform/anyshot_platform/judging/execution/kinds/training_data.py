"""How many datasets of a pool are left to train on, by what the protocols of a phase show of each."""

from collections.abc import Sequence
from functools import lru_cache

from sqlalchemy.orm import Session

from anyshot_core.data.problems import DataError
from anyshot_core.evaluations.needs import require_trained_side
from anyshot_core.protocols import Roles
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.contest.pools.images import opened
from anyshot_platform.contest.pools.models import PoolVersion
from anyshot_platform.foundation.storage import STORAGE_KEY, Storage
from anyshot_platform.judging.runs.secrets import roles_of
from anyshot_platform.judging.visibility.smoke import smoke_pool


def datasets_to_hold_out_of(
    session: Session, phase: Phase, version: PhaseVersion, *, smoke: bool
) -> int | None:
    """The datasets that a run trains on, of which `config.json` may hold some out for validation.

    None where the phase says what is validated on, so that the runner asks `config.json` for none, or has no data.
    What a phase says of validation does not hold for smoke tests, which train and test on the public pool.
    """
    if version.validation_protocol and not smoke:
        return None
    if version.each_dataset:
        return 1
    roles = roles_of(version)
    if smoke:
        public = smoke_pool(session, phase)
        return count_shown(session, Roles(roles.test) if roles else None, public, public) or None
    return count_shown(session, roles, version.meta_train, version.meta_test) or None


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
