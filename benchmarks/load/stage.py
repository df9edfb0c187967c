"""A small competition to measure with."""

from datetime import timedelta

from anyshot_platform.contest.competitions.service import create_competition
from anyshot_platform.contest.competitions.states import CompetitionState
from anyshot_platform.contest.leagues.models import League
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.contest.pools.models import Pack
from anyshot_platform.contest.pools.service import create_pool, create_pool_version
from anyshot_platform.foundation.artifacts.service import keep_file
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.services import Services
from anyshot_platform.people.accounts.service import create_user
from anyshot_platform.people.users.models import User

SLUG = "load"


def make_competition(services: Services, packs: list[str] | None = None, *, tasks: int = 10) -> str:
    """Create a published competition with one open phase without quotas; returns the phase's id.

    `packs` are ids of packs; without them, a paper pack that nobody reads is made.
    """
    pack_ids = packs or [_make_paper_pack(services)]
    with services.database.writing() as session:
        owner: User = create_user(
            session, username="olga", email="olga@example.org", password=None, is_site_admin=True
        )
        competition = create_competition(session, owner, slug=SLUG, title="Load")
        competition.state = CompetitionState.PUBLISHED
        session.add(League(competition_id=competition.id, slug="free", name="Free style"))
        pool = create_pool(session, slug="load", name="Pool", owner_id=owner.id)
        rows = [session.get_one(Pack, pack_id) for pack_id in pack_ids]
        version = create_pool_version(session, pool, rows, created_by=owner.id)
        phase = Phase(
            competition_id=competition.id,
            slug="feedback",
            name="Feedback",
            starts_at=now() - timedelta(days=90),
            quota_day=None,
            quota_phase=None,
            quota_concurrent=None,
        )
        phase.versions = [
            PhaseVersion(
                meta_train_pool_version_id=version.id,
                meta_test_pool_version_id=version.id,
                protocol={"name": "any_way_any_shot", "ways": [2, 5], "shots": [1, 2], "query": 3},
                tasks=tasks,
                train_seeds=[93],
                test_seeds=[94],
                run_seconds=120.0,
            )
        ]
        session.add(phase)
        session.flush()
        return phase.id


def _make_paper_pack(services: Services) -> str:
    path = services.settings.home / "paper"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"paper")
    blob = keep_file(services, path)
    with services.database.writing() as session:
        row = Pack(name="paper", digest=blob.digest, size=blob.size, images=1, classes=1)
        session.add(row)
        session.flush()
        return row.id
