"""The act that starts a rehearsal."""

from dataclasses import dataclass

from pydantic import Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.actions.declaration import (
    Act,
    ActDone,
    ActOptions,
    ActRequest,
    Danger,
    Findings,
    Target,
)
from anyshot_platform.contest.bundles.actions.exporting import say_which_versions
from anyshot_platform.contest.competitions.actions.acts import DELETED
from anyshot_platform.contest.competitions.actions.organizing import what_is_missing
from anyshot_platform.contest.competitions.models import Competition, Rehearsal
from anyshot_platform.foundation.filters import count, join_texts
from anyshot_platform.foundation.services import Services
from anyshot_platform.running.rehearsals.copying import make_copy
from anyshot_platform.running.rehearsals.diary import tell
from anyshot_platform.standings.baselines.actions.service import list_baselines, why_not_run
from anyshot_platform.standings.baselines.boards import why_on_no_board
from anyshot_platform.standings.baselines.models import Baseline

MOST_TASKS, MOST_TEAMS = 1000, 100_000


class RehearsalOptions(ActOptions):
    """On how many tasks a run is rehearsed, and for how many teams the forecast is."""

    tasks: int = Field(default=10, ge=1, le=MOST_TASKS)
    teams: int = Field(default=30, ge=1, le=MOST_TEAMS)


@dataclass(frozen=True)
class Rehearsable:
    """A competition with what it takes to run its baselines."""

    competition: Competition
    services: Services


def _target(session: Session, rehearsable: Rehearsable) -> Target:
    competition = rehearsable.competition
    return Target(
        "competition", competition.id, competition.slug, f"“{competition.title}”", (competition.id,)
    )


def list_rehearsals(session: Session, competition: Competition) -> list[Rehearsal]:
    """The rehearsals of a competition, newest first."""
    query = select(Rehearsal).where(Rehearsal.competition_id == competition.id)
    return list(session.scalars(query.order_by(Rehearsal.created_at.desc())))


def _players(
    session: Session, services: Services, competition: Competition
) -> tuple[list[Baseline], list[str]]:
    """The baselines that can play, and why others cannot."""
    rows = [
        (row, why_not_run(services, row) or why_on_no_board(session, row))
        for row in list_baselines(session, competition)
    ]
    return [row for row, reason in rows if not reason], [reason for _, reason in rows if reason]


def _look(session: Session, rehearsable: Rehearsable, request: ActRequest[RehearsalOptions]) -> Findings:
    competition = rehearsable.competition
    if competition.deleted_at is not None:
        return Findings(refused=[DELETED])
    underway = [row for row in list_rehearsals(session, competition) if row.ended_at is None]
    if underway:
        return Findings(done="A rehearsal is under way.")
    players, absent = _players(session, rehearsable.services, competition)
    missing = what_is_missing(session, competition)
    refused = ["A rehearsal is not rehearsed."] if is_copy(session, competition) else []
    if missing:
        refused.append(join_texts(("Not ready to be rehearsed:", *missing)))
    if not players:
        refused.append("There is no baseline that could play. Add one under Baselines and gates.")
    names = ", ".join(row.name for row in players)
    return Findings(
        refused=refused,
        warnings=absent,
        does=[
            (
                f"A hidden copy is created, and {names} play in it as teams, through all phases, on at "
                f"most {count(request.options.tasks, 'task')} a run (one of each dataset where "
                "every dataset needs one), up to published results."
            ),
            (
                "Gates are set to 0; questions of leagues and fact sheets are left out. Participants "
                "get no message."
            ),
        ],
    )


def is_copy(session: Session, competition: Competition) -> bool:
    """Whether a competition is the copy in which another is rehearsed."""
    return session.scalar(select(Rehearsal.id).where(Rehearsal.copy_id == competition.id)) is not None


def _start(session: Session, rehearsable: Rehearsable, request: ActRequest[RehearsalOptions]) -> ActDone:
    competition, wishes = rehearsable.competition, request.options
    copy = make_copy(session, rehearsable.services, competition, request.viewer, tasks=wishes.tasks)
    rehearsal = Rehearsal(
        competition_id=competition.id,
        copy_id=copy.id,
        actor_id=request.actor_id,
        tasks=wishes.tasks,
        teams=wishes.teams,
    )
    session.add(rehearsal)
    session.flush()
    for baseline in list_baselines(session, competition):
        if words := why_on_no_board(session, baseline):
            tell(rehearsal, words)  # it is not in the copy
    for words in say_which_versions(session, competition):
        tell(rehearsal, words)
    after = {"copy": copy.slug, **wishes.model_dump()}
    return ActDone("The rehearsal has started.", after=after, result=rehearsal)


REHEARSE = Act(
    key="competition.rehearse",
    title="Rehearse {}",
    target=_target,
    look=_look,
    do=_start,
    undo="Delete the copy: the rehearsal ends.",
    options=RehearsalOptions,
    danger=Danger.NONE,
)
