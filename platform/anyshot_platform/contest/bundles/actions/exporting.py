"""From the rows of a competition to its description."""

from collections.abc import Iterable, Iterator
from typing import Any

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from anyshot_platform.contest.bundles import schema
from anyshot_platform.contest.competitions.files import IMAGES, list_files
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.leagues.description import LeagueSpec, describe_league
from anyshot_platform.contest.leagues.models import League
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.rows import describe_phase
from anyshot_platform.contest.pools.models import Pool, PoolVersion
from anyshot_platform.foundation.storage import Storage
from anyshot_platform.standings.baselines.boards import boards_of
from anyshot_platform.standings.baselines.models import Baseline


def describe(
    session: Session, storage: Storage, competition: Competition
) -> tuple[schema.CompetitionSpec, dict[str, bytes]]:
    """The competition as a bundle: its description and the files that it names."""
    files: dict[str, bytes] = {}
    phases = list(session.scalars(_live(Phase, competition)))
    zone = phases[0].time_zone if phases else "UTC"
    spec = schema.CompetitionSpec(
        anyshot=1,
        slug=competition.slug,
        title=competition.title,
        summary=competition.summary,
        timezone=zone,
        logo=_logo(storage, competition, files),
        contact=competition.contact_email,
        terms=_text("pages/terms.md", competition.terms, files),
        pages=_pages(competition, files),
        registration=competition.registration,
        email_domains=competition.email_domains,
        team_size=competition.team_size,
        visibility=competition.visibility,
        opens=competition.opens_at,
        discussion=competition.discussion_open,
        prizes=competition.prizes,
        retention=competition.retention,  # pyright: ignore[reportArgumentType] - pydantic looks
        fact_sheet=[schema.QuestionSpec.model_validate(question) for question in competition.fact_sheet],
        fact_sheet_from=competition.fact_sheet_from,
        fact_sheet_by=competition.fact_sheet_by,
        pools=_pools(session, phases),
        leagues=_leagues(session, competition),
        baselines=_baselines(session, storage, competition, files),
        phases=[describe_phase(session, phase, zone) for phase in phases],
    )
    for row in list_files(session, competition):
        with storage.open(row.digest) as stream:
            files[f"{schema.FILES}{row.name}"] = stream.read()
    return spec, files


def _live(table: type[Phase | League | Baseline], competition: Competition) -> Select[Any]:
    """The rows of a competition, in their order, without deleted ones."""
    mine = select(table).where(table.competition_id == competition.id, table.deleted_at.is_(None))
    return mine.order_by(table.position, table.id)


def _text(name: str, text: str, files: dict[str, bytes]) -> str | None:
    if not text:
        return None
    files[name] = text.encode()
    return name


def _logo(storage: Storage, competition: Competition, files: dict[str, bytes]) -> str | None:
    if competition.logo_digest is None:
        return None
    suffix = next((s for s, media in IMAGES.items() if media == competition.logo_media_type), "png")
    with storage.open(competition.logo_digest) as stream:
        files[f"logo.{suffix}"] = stream.read()
    return f"logo.{suffix}"


def _pages(competition: Competition, files: dict[str, bytes]) -> list[schema.PageSpec]:
    pages: list[schema.PageSpec] = []
    for page in competition.pages:
        files[f"pages/{page.slug}.md"] = page.body.encode()
        pages.append(schema.PageSpec(title=page.title, file=f"pages/{page.slug}.md"))
    return pages


def _pools(session: Session, phases: Iterable[Phase]) -> list[schema.PoolSpec]:
    rows = _versions_used(session, phases)
    known = {row.pool.slug: row for row in rows}
    parts = [slug for row in rows for slug in row.pool.combines if slug not in known]
    described = [_pool(row.pool, row) for row in known.values()]
    for pool in session.scalars(select(Pool).where(Pool.slug.in_(parts))):
        newest = select(PoolVersion).where(PoolVersion.pool_id == pool.id).order_by(PoolVersion.number.desc())
        described.append(_pool(pool, session.scalars(newest.limit(1)).one()))
    return sorted(described, key=lambda pool: pool.name)


def _versions_used(session: Session, phases: Iterable[Phase]) -> list[PoolVersion]:
    """The versions of pools that phases have; of one pool the newest last, which a bundle names for all of them."""
    ids = {id_ for phase in phases for id_ in _pool_ids(phase)}
    query = select(PoolVersion).where(PoolVersion.id.in_(ids)).order_by(PoolVersion.number, PoolVersion.id)
    return list(session.scalars(query))


def say_which_versions(session: Session, competition: Competition) -> list[str]:
    """Which phases get another version of a pool than they have, where the competition is copied or moved."""
    phases = list(session.scalars(_live(Phase, competition)))
    used = _versions_used(session, phases)
    newest = {row.pool_id: row for row in used}
    earlier: dict[str, list[str]] = {}
    for row in used:
        if row is not newest[row.pool_id]:
            earlier.setdefault(row.pool_id, []).extend(
                phase.name for phase in phases if row.id in _pool_ids(phase)
            )
    return [
        (
            f"All phases get version {newest[pool_id].number} of the pool {newest[pool_id].pool.slug}. "
            f"Those with an earlier one of it: {', '.join(names)}."
        )
        for pool_id, names in earlier.items()
    ]


def _pool(pool: Pool, version: PoolVersion) -> schema.PoolSpec:
    return schema.PoolSpec(
        name=pool.slug,
        title="" if pool.name == pool.slug else pool.name,
        description=pool.description,
        digest=version.digest or None,
        combines=pool.combines,
    )


def _pool_ids(phase: Phase) -> list[str]:
    version = phase.live
    ids = (version.meta_train_pool_version_id, version.meta_test_pool_version_id, phase.smoke_pool_version_id)
    return [*(id_ for id_ in ids if id_ is not None), *(row.id for row in phase.evaluation_pools)]


def _leagues(session: Session, competition: Competition) -> list[LeagueSpec]:
    return [describe_league(league) for league in session.scalars(_live(League, competition))]


def _baselines(
    session: Session, storage: Storage, competition: Competition, files: dict[str, bytes]
) -> list[schema.BaselineSpec]:
    specs: list[schema.BaselineSpec] = []
    for row, leagues in _baselines_with_boards(session, competition):
        file = None
        if row.digest is not None:
            file = f"baselines/{row.slug}.zip"
            with storage.open(row.digest) as stream:
                files[file] = stream.read()
        specs.append(
            schema.BaselineSpec(
                key=row.slug,
                title=row.name,
                file=file,
                builtin=row.builtin,
                settings=row.settings,  # pyright: ignore[reportArgumentType]
                weights="" if file else row.weights,
                leagues=leagues,
            )
        )
    return specs


def _baselines_with_boards(
    session: Session, competition: Competition
) -> Iterator[tuple[Baseline, list[str]]]:
    """Each baseline with those of its leagues that are there, without the ones whose leagues are all deleted.

    A bundle cannot say "no board": without leagues a baseline stands in each league that is open to all.
    """
    for row in session.scalars(_live(Baseline, competition)):
        leagues = boards_of(session, row)
        if leagues or not row.leagues:
            yield row, leagues
