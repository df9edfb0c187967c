"""Import and export of whole competitions."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.contest.bundles.actions.data import PacksByPool
from anyshot_platform.contest.bundles.actions.exporting import describe, say_which_versions
from anyshot_platform.contest.bundles.actions.importing import Intake
from anyshot_platform.contest.bundles.actions.reporting import IMPORT, report_on
from anyshot_platform.contest.bundles.naming import unique
from anyshot_platform.contest.bundles.reading import BundleInvalid, CompetitionBundle, read_bundle
from anyshot_platform.contest.bundles.schema import CompetitionSpec
from anyshot_platform.contest.bundles.writing import write_bundle
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.competitions.states import CompetitionState
from anyshot_platform.contest.phases.actions.checks import evaluated_pools
from anyshot_platform.contest.pools.actions.organizing import put_packs
from anyshot_platform.contest.pools.models import Pack, Pool, PoolVersion
from anyshot_platform.foundation.errors import Conflict, Invalid
from anyshot_platform.foundation.slugs import check_slug
from anyshot_platform.foundation.storage import Storage
from anyshot_platform.judging.visibility.pools import readable
from anyshot_platform.people.audit import service as audit
from anyshot_platform.people.users.viewer import Viewer


class AddressTaken(Conflict):
    """Another competition has this short name."""

    code = "address_taken"


@dataclass(frozen=True)
class ImportedCompetition:
    """A new competition, and what its organizer should know about the import."""

    competition: Competition
    notices: list[str]


def import_competition(
    session: Session,
    storage: Storage,
    bundle: CompetitionBundle,
    actor: Viewer,
    *,
    slug: str | None = None,
    start: datetime | None = None,
    packs: PacksByPool | None = None,
    state: CompetitionState = CompetitionState.DRAFT,
    known: Iterable[str] = (),
) -> ImportedCompetition:
    """Make a competition, owned by the actor, from a bundle; `packs` go into its new pools.

    `start` moves all phases so that the first one starts then; `slug` replaces the bundle's short name. What is
    `known` of the bundle stands in the report too.

    Raises:
        AddressTaken: the short name is in use; a foreign bundle, which has none, gets a free one instead.
    """
    if start is not None:
        bundle = replace(bundle, spec=_shifted(bundle.spec, start))
    address = _free_address(session, slug or bundle.spec.slug, exact=bundle.format.startswith("anyshot"))
    pools = _find_pools(session, bundle.spec, actor)
    brought = packs or {}
    new = {name: version for name, version in pools.items() if not version.entries}
    waiting = sorted(version.pool.slug for name, version in new.items() if name not in brought)
    notices: list[str] = [
        *known,
        *(f"The pool {name} waits for its packs: upload them before the phases open." for name in waiting),
    ]
    intake = Intake(session, storage, bundle, actor.id, pools, notices)
    competition = intake.make_competition(address, state)
    _give_new_ones(session, pools.values(), competition.id)
    for name in new.keys() & brought.keys():
        rows = [session.get_one(Pack, pack_id) for pack_id in brought[name]]
        put_packs(session, new[name].pool, rows, "came with the bundle", actor.id)
    audit.record(
        session,
        actor_id=actor.id,
        action=IMPORT,
        object_type="competition",
        object_id=competition.id,
        competition_id=competition.id,
        after={"slug": address, "format": bundle.format, "report": report_on(bundle, notices).to_dict()},
    )
    return ImportedCompetition(competition, [notice.words for notice in bundle.without_equivalent] + notices)


def export_competition(
    session: Session, storage: Storage, competition: Competition, *, secrets: bool
) -> bytes:
    """The competition as the zip of a bundle; `secrets` puts the seeds of hidden tasks into it."""
    spec, files = describe(session, storage, competition)
    return write_bundle(spec, files, secrets=secrets)


def clone_competition(
    session: Session,
    storage: Storage,
    competition: Competition,
    actor: Viewer,
    *,
    slug: str,
    title: str = "",
    start: datetime | None = None,
) -> ImportedCompetition:
    """The competition again, as a draft owned by the actor: settings, texts, leagues, baselines, phases, pools.

    People, submissions and results stay behind. Keys and seeds are drawn anew. All dates move with `start`.
    """
    spec, files = describe(session, storage, competition)
    check_slug(slug)
    spec = spec.model_copy(update={"slug": slug, "title": title or spec.title})
    try:
        bundle = read_bundle(write_bundle(spec, files, secrets=False))
    except BundleInvalid as error:
        words = f"It cannot be copied before this is mended: {error!s}"
        raise Invalid(words) from error
    known = say_which_versions(session, competition)
    return import_competition(session, storage, bundle, actor, slug=slug, start=start, known=known)


def _shifted(spec: CompetitionSpec, start: datetime) -> CompetitionSpec:
    """The same competition with its first phase starting at `start` and all other dates as much later as before."""
    by = start - min((phase.start for phase in spec.phases), default=start)

    def later(moment: datetime | None) -> datetime | None:
        return moment + by if moment else None

    phases = [
        phase.model_copy(
            update={"start": phase.start + by, "end": later(phase.end), "late_until": later(phase.late_until)}
        )
        for phase in spec.phases
    ]
    leagues = [league.model_copy(update={"opens": later(league.opens)}) for league in spec.leagues]
    moved = {
        "phases": phases,
        "leagues": leagues,
        "opens": later(spec.opens),
        "fact_sheet_by": later(spec.fact_sheet_by),
    }
    return spec.model_copy(update=moved)


def _free_address(session: Session, wanted: str, *, exact: bool) -> str:
    taken = set(session.scalars(select(Competition.slug).where(Competition.slug.startswith(wanted))))
    if wanted in taken and exact:
        free = unique(wanted, taken)
        raise AddressTaken(
            f"There is a competition “{wanted}” already; give another short name, e.g. {free}.",
            free=free,
        )
    return unique(wanted, taken)


def _find_pools(session: Session, spec: CompetitionSpec, actor: Viewer) -> dict[str, PoolVersion]:
    """The pool version that each name of the bundle means; pools that are not there are made, without packs.

    A pool counts as there when the actor may look into it: a name alone must not open other people's hidden data.
    """
    found: dict[str, PoolVersion] = {}
    for wanted in spec.pools:
        version = _known_version(session, actor, wanted.name, wanted.digest)
        if version is None:
            version = _empty_pool(
                session, wanted.name, wanted.title, wanted.description, wanted.digest, actor.id
            )
            version.pool.combines = list(wanted.combines)
        found[wanted.name] = version
    for name in {one for phase in spec.phases for one in evaluated_pools(phase)} - found.keys():
        version = _known_version(session, actor, name, None)
        if version is not None:
            found[name] = version
    return found


def _give_new_ones(session: Session, pools: Iterable[PoolVersion], competition_id: str) -> None:
    """Pools that were made for a competition belong to it; those that were there stay whose they are."""
    for version in pools:
        if not version.entries and version.number == 1 and version.pool.competition_id is None:
            version.pool.competition_id = competition_id
    session.flush()


def _known_version(session: Session, actor: Viewer, name: str, digest: str | None) -> PoolVersion | None:
    known = select(Pool).where(Pool.slug == name, Pool.deleted_at.is_(None), readable(actor))
    pool = session.scalars(known).one_or_none()
    return _version_of(session, pool, digest) if pool else None


def _version_of(session: Session, pool: Pool, digest: str | None) -> PoolVersion | None:
    query = select(PoolVersion).where(PoolVersion.pool_id == pool.id).order_by(PoolVersion.number.desc())
    versions = list(session.scalars(query))
    matching = [version for version in versions if digest is None or version.digest == digest]
    return matching[0] if matching else None


def _empty_pool(
    session: Session, slug: str, title: str, description: str, digest: str | None, actor_id: str
) -> PoolVersion:
    """A pool with a first version that waits for its packs."""
    taken = set(session.scalars(select(Pool.slug).where(Pool.slug.startswith(slug))))
    pool = Pool(slug=unique(slug, taken), name=title or slug, description=description, owner_id=actor_id)
    session.add(pool)
    session.flush()
    version = PoolVersion(
        pool_id=pool.id, number=1, digest=digest or "", note="waits for its packs", created_by=actor_id
    )
    session.add(version)
    session.flush()
    version.pool = pool
    return version
