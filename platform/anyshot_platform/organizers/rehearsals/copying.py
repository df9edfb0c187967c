"""The hidden copy in which a competition is rehearsed, with its baselines as teams."""

from __future__ import annotations

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from anyshot_platform.baselines.models import Baseline
from anyshot_platform.bundles.naming import unique
from anyshot_platform.bundles.reading import BundleInvalid, read_bundle
from anyshot_platform.bundles.schema import CompetitionSpec
from anyshot_platform.bundles.writing import write_bundle
from anyshot_platform.competitions.models import Competition, Membership
from anyshot_platform.competitions.service import add_member
from anyshot_platform.competitions.states import (
    CompetitionState,
    MemberStatus,
    Registration,
    Role,
    Visibility,
)
from anyshot_platform.competitions.teams import free_name
from anyshot_platform.database import new_id, now
from anyshot_platform.errors import Invalid
from anyshot_platform.kernel.language import say, words_of
from anyshot_platform.kernel.texts import name_key
from anyshot_platform.leagues.states import Admission
from anyshot_platform.organizers.bundles.exporting import describe
from anyshot_platform.organizers.bundles.service import import_competition
from anyshot_platform.phases.description import EntriesSpec
from anyshot_platform.services import Services
from anyshot_platform.teams.models import Team
from anyshot_platform.users.models import User
from anyshot_platform.users.viewer import Viewer

_SLUG = 40  # letters of the original's short name


def make_copy(
    session: Session, services: Services, competition: Competition, viewer: Viewer, *, tasks: int
) -> Competition:
    """A private copy that is published, for the same organizers. Raises `Invalid` where it cannot be made."""
    taken = set(session.scalars(select(Competition.slug)))
    slug = unique(f"{competition.slug[:_SLUG]}-rehearsal", taken)
    spec, files = describe(session, services.storage, competition)
    try:
        bundle = read_bundle(write_bundle(_reduced(spec, slug, tasks), files, secrets=False))
    except BundleInvalid as error:
        words = say("It cannot be rehearsed before this is mended: %(error)s", error=words_of(error))
        raise Invalid(words) from error
    copy = import_competition(
        session, services.storage, bundle, viewer, slug=slug, start=now(), state=CompetitionState.PUBLISHED
    ).competition
    for member in session.scalars(_organizers(competition)):
        add_member(session, copy, session.get_one(User, member.user_id), member.role)
    session.flush()
    return copy


def _organizers(competition: Competition) -> Select[Membership]:
    roles = (Role.OWNER, Role.ORGANIZER, Role.REVIEWER)
    return select(Membership).where(
        Membership.competition_id == competition.id,
        Membership.status == MemberStatus.APPROVED,
        Membership.role.in_(roles),
    )


def _reduced(spec: CompetitionSpec, slug: str, tasks: int) -> CompetitionSpec:
    """The same competition with fewer tasks, seen by nobody else, and without what only people can answer."""
    phases = []
    for phase in spec.phases:
        count = min(phase.tasks.count, tasks)
        fewer = phase.tasks.model_copy(update={"count": count, "shards": min(phase.tasks.shards, count)})
        entries = _with_lowest_gates(phase.entries)
        phases.append(phase.model_copy(update={"tasks": fewer, "entries": entries}))
    open_to_all = {"questions": [], "every_member": False, "opens": None, "closed_to_newcomers": False}
    leagues = [
        league.model_copy(
            update={
                **open_to_all,
                "admission": Admission.DECLARED
                if league.admission == Admission.APPROVAL
                else league.admission,
            }
        )
        for league in spec.leagues
    ]
    return spec.model_copy(
        update={
            "slug": slug,
            "title": f"Rehearsal: {spec.title}"[:200],
            "visibility": Visibility.PRIVATE,
            "opens": None,
            "registration": Registration.CLOSED,
            "discussion": False,
            "fact_sheet": [],
            "phases": phases,
            "leagues": leagues,
        }
    )


def _with_lowest_gates(entries: EntriesSpec | None) -> EntriesSpec | None:
    """The same gates at 0: few tasks tell too little of who beats a real one. The texts may name them."""
    if entries is None:
        return None
    gates = [gate.model_copy(update={"score": 0.0}) for gate in entries.gates]
    return entries.model_copy(update={"gates": gates})


def make_player(session: Session, copy: Competition, baseline: Baseline) -> Membership:
    """A team of the name of a baseline. Its account has no password, no address, and is in no list: it is deleted."""
    name = f"rehearsal-{new_id()}"
    user = User(username=name, username_key=name, deleted_at=now())
    session.add(user)
    session.flush()
    member = add_member(session, copy, user, Role.PARTICIPANT)
    team = session.get_one(Team, member.team_id)
    team.name = free_name(session, copy.id, baseline.name[:56])
    team.name_key = name_key(team.name)
    return member
