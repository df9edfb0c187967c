"""The data of a competition as everybody may know them: public pools in full, hidden ones by number."""

from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy.orm import Session

from anyshot_core.protocols import PROTOCOLS
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.service import list_phases
from anyshot_platform.contest.pools.models import Pack, PoolVersion
from anyshot_platform.contest.pools.rights import is_public
from anyshot_platform.foundation.errors import NotFound
from anyshot_platform.foundation.filters import join_texts

TRAIN, TEST, SMOKE = "meta-training", "meta-testing", "smoke test"
_USES = {
    TRAIN: "meta-training in {}",
    TEST: "meta-testing in {}",
    SMOKE: "smoke test in {}",
}


@dataclass(frozen=True)
class PoolShown:
    """A version of a pool that phases use. Of a hidden one, only `datasets` and `roles` are for everybody."""

    version: PoolVersion
    public: bool
    roles: tuple[tuple[str, str], ...]  # what for (one of the three words), in which phase
    packs: tuple[Pack, ...]  # empty for a hidden pool
    datasets: int

    @property
    def size(self) -> int:
        """Bytes of what can be downloaded."""
        return sum(pack.size for pack in self.packs)

    @property
    def uses(self) -> str:
        """The roles in words."""
        return join_texts((_USES[role].format(phase) for role, phase in self.roles), ", ")


def data_of(session: Session, competition: Competition) -> list[PoolShown]:
    """The pools that the phases of a competition use, public ones first."""
    roles: dict[str, list[tuple[str, str]]] = {}
    versions: dict[str, PoolVersion] = {}
    for phase in list_phases(session, competition):
        for role, version in _pools_of(phase):
            versions[version.id] = version
            roles.setdefault(version.id, []).append((role, phase.name))
    shown = [_show(version, tuple(roles[key])) for key, version in versions.items()]
    return sorted(shown, key=lambda pool: not pool.public)


def has_public_data(session: Session, competition: Competition) -> bool:
    """Whether a pool that its phases use is public."""
    phases = list_phases(session, competition)
    return any(is_public(version) for phase in phases for _, version in _pools_of(phase))


def _pools_of(phase: Phase) -> Iterator[tuple[str, PoolVersion]]:
    version = phase.live
    for role, pool in ((TRAIN, version.meta_train), (TEST, version.meta_test), (SMOKE, phase.smoke_pool)):
        if pool is not None:
            yield role, pool


def _show(version: PoolVersion, roles: tuple[tuple[str, str], ...]) -> PoolShown:
    public = is_public(version)
    packs = tuple(entry.pack for entry in version.entries)
    return PoolShown(version, public, roles, packs if public else (), len(packs))


def find_public_pack(session: Session, competition: Competition, digest: str) -> Pack:
    """A dataset of a public pool of the competition; raises `NotFound`, the same for hidden and for unknown ones."""
    for pool in data_of(session, competition):
        for pack in pool.packs:
            if pack.digest == digest:
                return pack
    raise NotFound("This competition has no public dataset of this digest.")


def suggested_split(session: Session, competition: Competition) -> dict[str, list[str]]:
    """Names of public datasets to train and to test on at home: those of the phases, or a fifth held out.

    Where classes are split within each dataset, both are all datasets. Empty where nothing is public.
    """
    pools = data_of(session, competition)
    trained = _names(pools, TRAIN)
    tested = [name for name in _names(pools, TEST) or _names(pools, SMOKE) if name not in trained]
    if _splits_classes(session, competition):
        both = trained or _names(pools, TEST)
        return {"meta-train": both, "meta-test": both}
    if trained and not tested and len(trained) > 1:
        held_out = max(1, len(trained) // 5)
        return {"meta-train": trained[:-held_out], "meta-test": trained[-held_out:]}
    return {"meta-train": trained, "meta-test": tested}


def _names(pools: list[PoolShown], role: str) -> list[str]:
    found = [pack.name for pool in pools if role in {known for known, _ in pool.roles} for pack in pool.packs]
    return list(dict.fromkeys(found))


def _splits_classes(session: Session, competition: Competition) -> bool:
    kinds = [
        PROTOCOLS.get(str(phase.live.protocol.get("name"))) for phase in list_phases(session, competition)
    ]
    return any(kind is not None and kind.splits_datasets for kind in kinds)
