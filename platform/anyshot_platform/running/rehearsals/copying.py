"""The hidden copy in which a competition is rehearsed, with its baselines as teams."""

from collections.abc import Mapping

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from anyshot_core.protocols import Legacy
from anyshot_platform.contest.bundles.actions.exporting import describe
from anyshot_platform.contest.bundles.actions.service import import_competition
from anyshot_platform.contest.bundles.naming import unique
from anyshot_platform.contest.bundles.reading import BundleInvalid, read_bundle
from anyshot_platform.contest.bundles.schema import CompetitionSpec
from anyshot_platform.contest.bundles.writing import write_bundle
from anyshot_platform.contest.competitions.models import Competition, Membership
from anyshot_platform.contest.competitions.service import add_member
from anyshot_platform.contest.competitions.states import (
    CompetitionState,
    MemberStatus,
    Registration,
    Role,
    Visibility,
)
from anyshot_platform.contest.competitions.teams import free_name
from anyshot_platform.contest.leagues.states import Admission
from anyshot_platform.contest.phases.description import EntriesSpec, TasksSpec
from anyshot_platform.contest.phases.service import list_phases, live_version
from anyshot_platform.foundation.database import new_id, now
from anyshot_platform.foundation.errors import Invalid
from anyshot_platform.foundation.services import Services
from anyshot_platform.foundation.texts import name_key
from anyshot_platform.people.teams.models import Team
from anyshot_platform.people.users.models import User
from anyshot_platform.people.users.viewer import Viewer
from anyshot_platform.standings.baselines.models import Baseline

_SLUG = 40  # letters of the original's short name


def make_copy(
    session: Session, services: Services, competition: Competition, viewer: Viewer, *, tasks: int
) -> Competition:
    """A private copy that is published, for the same organizers. Raises `Invalid` where it cannot be made."""
    taken = set(session.scalars(select(Competition.slug)))
    slug = unique(f"{competition.slug[:_SLUG]}-rehearsal", taken)
    spec, files = describe(session, services.storage, competition)
    datasets = _datasets(session, competition)
    try:
        bundle = read_bundle(write_bundle(_reduced(spec, slug, tasks, datasets), files, secrets=False))
    except BundleInvalid as error:
        words = f"It cannot be rehearsed before this is mended: {error!s}"
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


def _datasets(session: Session, competition: Competition) -> dict[str, int]:
    """How many datasets each phase tests on, by its short name."""
    pools = (
        (phase.slug, live_version(session, phase).meta_test) for phase in list_phases(session, competition)
    )
    return {name: len(pool.entries) for name, pool in pools if pool is not None}


def _fewer(tasks: TasksSpec, most: int, datasets: int) -> TasksSpec:
    """At most so many tasks a run; of each dataset one at least, where a protocol or learners of their own need it."""
    count, protocol = min(tasks.count, most), tasks.protocol
    if tasks.each_dataset:
        count = min(tasks.count, max(most, datasets))
    elif datasets and protocol.get("name") == Legacy.name:
        each = max(1, count // datasets)
        count, protocol = each * datasets, {**protocol, "tasks_per_dataset": each}
    shards = min(tasks.shards, count)
    return tasks.model_copy(update={"count": count, "protocol": protocol, "shards": shards})


def _reduced(spec: CompetitionSpec, slug: str, tasks: int, datasets: Mapping[str, int]) -> CompetitionSpec:
    """The same competition with fewer tasks, seen by nobody else, and without what only people can answer."""
    phases = []
    for phase in spec.phases:
        fewer = _fewer(phase.tasks, tasks, datasets.get(phase.key, 0))
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
