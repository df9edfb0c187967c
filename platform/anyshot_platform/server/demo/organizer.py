"""What the demo's organizer does before anyone can take part: pools, competition, phases."""

import secrets
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import select

from anyshot_platform.actions.declaration import ActRequest, Consent
from anyshot_platform.actions.service import carry_out
from anyshot_platform.contest.bundles.actions.service import import_competition
from anyshot_platform.contest.bundles.reading import CompetitionBundle, read_bundle
from anyshot_platform.contest.competitions.states import CompetitionState
from anyshot_platform.contest.kit.wheels import kit_version
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.pools.actions.acts import PUBLISH
from anyshot_platform.contest.pools.service import add_pack, create_pool, create_pool_version
from anyshot_platform.foundation.services import Services
from anyshot_platform.judging.visibility.pools import find_packs
from anyshot_platform.people.accounts import service as users
from anyshot_platform.people.users.viewer import Viewer
from anyshot_platform.server.demo.data import DemoData

BUNDLE = Path(__file__).parent / "competition"
NAME = "organizer"
PUBLIC = "set-0"  # what participants meta-train and smoke-test on


@dataclass(frozen=True)
class DemoCompetition:
    """The competition that participants find."""

    competition: str
    phase: str
    organizer: str
    password: str


def set_the_stage(
    services: Services, data: DemoData, *, tasks: int, budget_seconds: float
) -> DemoCompetition:
    """Create the organizer's account, the pools and the competition, and open its feedback phase for a month."""
    password = secrets.token_urlsafe(9)
    with services.database.writing() as session:
        owner = users.create_user(
            session, username=NAME, email="organizer@example.org", password=password, is_site_admin=True
        )
        actor = Viewer(user_id=owner.id, username=owner.username, is_site_admin=True)
    for name, paths in data.packs.items():
        rows = [add_pack(services, path, actor.id).digest for path in paths]
        _make_pool(services, f"demo-{name}", name.capitalize(), rows, actor, public=name == PUBLIC)
    address = services.settings.base_url
    with services.database.writing() as session:
        start = datetime.now(UTC) - timedelta(hours=1)
        bundle = _of_this_size(read_bundle(BUNDLE), tasks, budget_seconds)
        made = import_competition(session, services.storage, bundle, actor, start=start)
        made.competition.state = CompetitionState.PUBLISHED
        for page in made.competition.pages:
            page.body = page.body.replace("ADDRESS", address).replace("==VERSION", f"=={kit_version()}")
        phase = session.scalars(select(Phase).where(Phase.competition_id == made.competition.id)).one()
        return DemoCompetition(made.competition.slug, phase.slug, NAME, password)


def _of_this_size(bundle: CompetitionBundle, tasks: int, budget_seconds: float) -> CompetitionBundle:
    """The competition with so many tasks and so much time for a run; a smoke test has no more time than a run."""
    (phase,) = bundle.spec.phases
    smoke_seconds = min(phase.smoke.budget, budget_seconds)
    changes = {
        "tasks": phase.tasks.model_copy(update={"count": tasks}),
        "budget": phase.budget.model_copy(update={"run": budget_seconds}),
        "smoke": phase.smoke.model_copy(update={"budget": smoke_seconds}),
    }
    spec = bundle.spec.model_copy(update={"phases": [phase.model_copy(update=changes)]})
    return replace(bundle, spec=spec)


def _make_pool(
    services: Services, slug: str, name: str, digests: list[str], actor: Viewer, *, public: bool
) -> None:
    with services.database.writing() as session:
        pool = create_pool(session, slug=slug, name=name, owner_id=actor.id)
        create_pool_version(session, pool, find_packs(session, actor, digests), created_by=actor.id)
        if public:
            carry_out(session, PUBLISH, pool, ActRequest(actor.id), Consent(slug))
