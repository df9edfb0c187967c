"""The act that makes up for an outage before the end of a phase: more time, or a better place in the queue."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_core.words import deadline_words
from anyshot_platform.actions.declaration import (
    TEAM_READS,
    Act,
    ActDone,
    ActRequest,
    Danger,
    Findings,
)
from anyshot_platform.actions.on_results import results_are_public
from anyshot_platform.contest.competitions.messages import members_of, members_of_team, tell_team
from anyshot_platform.contest.phases.actions.acts import ACTS as PHASE_ACTS
from anyshot_platform.contest.phases.actions.acts import End
from anyshot_platform.contest.phases.actions.key_acts import KEY_IS_PUBLIC
from anyshot_platform.contest.phases.models import Phase, PhaseExtension
from anyshot_platform.contest.phases.priorities import ORGANIZERS_MOST
from anyshot_platform.contest.phases.service import end_for, live_version
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.errors import Invalid
from anyshot_platform.foundation.filters import count, list_of
from anyshot_platform.foundation.schema.quantities import Moment
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.states import RunState
from anyshot_platform.judging.submissions.actions.submitting import count_late, words_on_counting_late
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionKind
from anyshot_platform.people.teams.models import Team
from anyshot_platform.running.announcements.models import Date, PhaseNotice
from anyshot_platform.running.announcements.organizing import announce
from anyshot_platform.running.announcements.phases import NOTICE
from anyshot_platform.running.deadlines.outages import find_hit, find_outages
from anyshot_platform.standings.results.actions.final_acts import phase_target

_EXTEND: Act[Phase, End] = PHASE_ACTS["extend"]


class Relief(StrEnum):
    """How an outage is made up for."""

    EVERYBODY = "everybody"  # the end moves
    TEAMS = "teams"  # some teams have more time
    QUEUE = "queue"  # what was handed in before the end goes first


class ReliefOptions(End, frozen=False):
    """`way` is `everybody` (the end moves), `teams` (these have more time) or `queue` (what waits goes first)."""

    way: Relief
    end: Moment | None = Field(default=None, description="until when there is time; not for the queue")
    teams: list[Annotated[str, Field(max_length=64)]] = Field(
        default=[], max_length=1000, description="names of teams; none: those that the outages hit"
    )


def _find_teams(session: Session, phase: Phase, options: ReliefOptions) -> tuple[list[Team], list[str]]:
    """The teams that get more time, and names that no team has."""
    if not options.teams:
        return find_hit(session, phase, find_outages(session, phase)), []
    query = select(Team).where(
        Team.competition_id == phase.competition_id, Team.name.in_(options.teams), Team.deleted_at.is_(None)
    )
    found = list(session.scalars(query.order_by(Team.name)))
    return found, sorted(set(options.teams) - {team.name for team in found})


def _waiting(session: Session, phase: Phase) -> list[Run]:
    """The runs that wait, of what was handed in before the end, and that others of the competition could overtake."""
    query = (
        select(Run)
        .join(Submission, Submission.id == Run.submission_id)
        .where(
            Run.phase_version_id == live_version(session, phase).id,
            Run.state.in_([RunState.QUEUED, RunState.WAITING]),
            Run.priority < ORGANIZERS_MOST,
            Submission.kind == SubmissionKind.ENTRY,
        )
    )
    if phase.ends_at is not None:
        query = query.where(Submission.created_at < phase.ends_at)
    return list(session.scalars(query))


def _named(teams: Sequence[Team]) -> str:
    return list_of([team.name for team in teams])


def _teams_of(session: Session, runs: Sequence[Run]) -> list[Team]:
    ids = {run.team_id for run in runs}
    return list(session.scalars(select(Team).where(Team.id.in_(ids)).order_by(Team.name)))


def _count_members(session: Session, teams: Sequence[Team]) -> int:
    return len({user_id for team in teams for user_id in members_of_team(session, team.id)})


def _look(session: Session, phase: Phase, request: ActRequest[ReliefOptions]) -> Findings:
    options = request.options
    if options.way == Relief.QUEUE:
        runs = _waiting(session, phase)
        teams = _teams_of(session, runs)
        if not runs:
            return Findings(done="Nothing waits that could go first.")
        words = (
            f"{count(len(runs), 'run')} that wait, of {_named(teams)}, go before others of the competition."
        )
        return Findings(does=[words], told=_count_members(session, teams))
    end = options.end
    if end is None or phase.ends_at is None:
        return Findings(refused=["Say until when." if phase.ends_at else "The phase has no end."])
    if options.way == Relief.EVERYBODY:
        found = _EXTEND.look(session, phase, _to_extend(request, end))
        return replace(found, told=len(members_of(session, phase.competition)))
    teams, unknown = _find_teams(session, phase, options)
    if teams and not unknown and all(end_for(phase, team.id) == end for team in teams):
        return Findings(done=f"{_named(teams)} can submit until then already.")
    refused = [KEY_IS_PUBLIC] if phase.key_published_at is not None else []
    refused += [f"There is no team {name} in this competition." for name in unknown]
    refused += [] if teams or unknown else ["No team is known that an outage hit: name the teams."]
    refused += ["The phase is closed by hand: open it first."] if phase.closed_at is not None else []
    refused += (
        [] if end > max(phase.ends_at, now()) else ["The new end is not after now and the end of the phase."]
    )
    return Findings(
        refused=refused,
        blocked=results_are_public(session, phase),
        does=[
            f"{_named(teams)} can submit until {deadline_words(end, phase.time_zone)}, all others as before.",
            *words_on_counting_late(session, phase, end, [team.id for team in teams]),
        ],
        told=_count_members(session, teams),
    )


def _to_extend(request: ActRequest[ReliefOptions], end: datetime) -> ActRequest[End]:
    return ActRequest(request.actor_id, request.reason, End(end=end), request.viewer)


def _do(session: Session, phase: Phase, request: ActRequest[ReliefOptions]) -> ActDone:
    if request.options.way == Relief.QUEUE:
        return _go_first(session, phase, request)
    end = request.options.end
    if end is None:
        raise Invalid("Say until when.", field="end")
    if request.options.way == Relief.EVERYBODY:
        return _move_end(session, phase, request, end)
    return _give_time(session, phase, request, end)


def _move_end(session: Session, phase: Phase, request: ActRequest[ReliefOptions], end: datetime) -> ActDone:
    done = _EXTEND.do(session, phase, _to_extend(request, end))
    title = f"{phase.name} ends {deadline_words(end, phase.time_zone)}"
    announce(session, phase.competition, title, request.reason, request.actor_id)
    if end <= now() + NOTICE:  # they know it: nobody is told a second time that it closes within a day
        session.merge(PhaseNotice(phase_id=phase.id, date=Date.CLOSING, moment=end))
    return done


def _give_time(session: Session, phase: Phase, request: ActRequest[ReliefOptions], end: datetime) -> ActDone:
    teams, _ = _find_teams(session, phase, request.options)
    before = {extension.team_id: extension.until.isoformat() for extension in phase.extensions}
    for team in teams:
        session.merge(PhaseExtension(phase_id=phase.id, team_id=team.id, until=end))
    session.flush()
    session.expire(phase, ["extensions"])
    count_late(session, phase, end, [team.id for team in teams])
    until = deadline_words(end, phase.time_zone)
    _tell(session, phase, teams, f"your team can submit to {phase.name} until {until}", request.reason)
    return ActDone(
        f"{_named(teams)} can submit until {until}.",
        {"extensions": {team.name: before.get(team.id) for team in teams}},
        {"extensions": {team.name: end.isoformat() for team in teams}},
    )


def _go_first(session: Session, phase: Phase, request: ActRequest[ReliefOptions]) -> ActDone:
    runs = _waiting(session, phase)
    teams = _teams_of(session, runs)
    before = sorted({run.priority for run in runs})
    for run in runs:
        run.priority = ORGANIZERS_MOST
    _tell(session, phase, teams, f"what your team handed in to {phase.name} goes first now", request.reason)
    return ActDone(
        f"{count(len(runs), 'run')} of {_named(teams)} go first now.",
        {"priority": before},
        {"priority": ORGANIZERS_MOST, "teams": [team.name for team in teams], "runs": len(runs)},
    )


def _tell(session: Session, phase: Phase, teams: Sequence[Team], words: str, reason: str) -> None:
    competition = phase.competition
    url = f"/competitions/{competition.slug}/phases/{phase.slug}"
    for team in teams:
        title = f"{competition.title}: {words}"
        tell_team(session, team.id, kind="phase", title=title, body=reason, url=url)


RELIEVE = Act(
    key="phase.relieve",
    title="Make up for an outage in {}",
    target=phase_target,
    look=_look,
    do=_do,
    undo="Move the end back, or give the teams an earlier end; a place in the queue stays.",
    reason=TEAM_READS,
    options=ReliefOptions,
    danger=Danger.NAME,
)
