"""Acts on a team in a league that asks: admitting and refusing it."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from anyshot_core.words import count_of
from anyshot_platform.actions.concurrency import Fields, Written, require_seen
from anyshot_platform.actions.declaration import (
    TEAM_READS,
    Act,
    ActDone,
    ActRequest,
    Consent,
    Danger,
    Findings,
    Target,
    by_name,
)
from anyshot_platform.actions.many import together
from anyshot_platform.actions.service import NO_CONSENT, ActOutcome, carry_out
from anyshot_platform.contest.competitions.messages import members_of_team, tell_team
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.leagues.models import League
from anyshot_platform.contest.leagues.states import EntryStatus
from anyshot_platform.contest.phases.status_words import status_words
from anyshot_platform.foundation.errors import NotFound
from anyshot_platform.people.teams.models import Team
from anyshot_platform.standings.entries import eligibility
from anyshot_platform.standings.entries.models import TeamVerdict
from anyshot_platform.standings.leaderboards.service import refresh_everywhere


@dataclass(frozen=True)
class Applicant:
    """A team in a league."""

    team: Team
    league: League

    @property
    def name(self) -> str:
        """What people call it."""
        return name_of(self.team.name, self.league.name)


def find_applicant(session: Session, competition: Competition, league: League, team_id: str) -> Applicant:
    """A team of this competition, in a league of it; raises `NotFound`."""
    team = session.get(Team, team_id)
    if team is None or team.competition_id != competition.id:
        raise NotFound("There is no such team.")
    return Applicant(team, league)


def judge(
    session: Session,
    competition: Competition,
    teams: Sequence[tuple[League, str]],
    status: EntryStatus,
    actor_id: str,
    reason: str,
    seen: Fields,
    consent: Consent = NO_CONSENT,
) -> list[ActOutcome]:
    """Admit or refuse teams, each by its id in a league that asks; boards follow, the teams hear.

    `consent` is as in `together`.

    Raises `Stale` where one was decided on since it was `seen`.
    """
    act, request = VERDICTS[status], ActRequest(actor_id, reason)
    chosen = [find_applicant(session, competition, *team) for team in teams]
    there = {one.name: _written(session, one) for one in chosen}
    require_seen(session, seen, dict.fromkeys(there, status.value), there)
    title = act.title.replace("{}", count_of(len(chosen), "team"))
    with together(len(chosen), title, competition, consent, reason) as each:
        return [carry_out(session, act, one, request, each) for one in chosen]


def name_of(team: str, league: str) -> str:
    """What people call a team in a league."""
    return f"the team “{team}” in “{league}”"


def _written(session: Session, one: Applicant) -> Written:
    known = eligibility.eligibility_of(session, one.league, one.team)
    verdict = session.get(TeamVerdict, (one.league.id, one.team.id))
    return Written(known.status.value, known.decided_by, verdict.decided_at if verdict else None)


def _target(session: Session, one: Applicant) -> Target:
    team = one.team
    return Target("team", team.id, team.name, one.name, (team.competition_id,))


def _verdict(
    name: str, verb: str, status: EntryStatus, words: str, does: str, undo: str, danger: Danger
) -> Act[Applicant]:
    def look(session: Session, one: Applicant, request: ActRequest) -> Findings:
        if not eligibility.asks(one.league):
            return Findings(
                refused=[f"{one.league.name} asks its teams nothing: decide on their submissions."]
            )
        known = session.get(TeamVerdict, (one.league.id, one.team.id))
        if known is not None and known.decided_by and known.status == status and _covers(session, known, one):
            return Findings(done=f"It is {status_words(status.value)} already.")
        blocked = _unanswered(session, one) if status == EntryStatus.ADMITTED else []
        return Findings(blocked=blocked, does=[does], told=len(members_of_team(session, one.team.id)))

    def do(session: Session, one: Applicant, request: ActRequest) -> ActDone:
        team, league = one.team, one.league
        before = eligibility.eligibility_of(session, league, team).status
        eligibility.judge(session, league, team, status, request.actor_id, request.reason)
        refresh_everywhere(session, team.id)
        _tell(session, one, words, request.reason)
        return ActDone(
            f"It is {status_words(status.value)}.",
            {"status": before.value, "league": league.slug},
            {"status": status.value, "league": league.slug},
        )

    return Act(f"team.{name}", f"{verb} {{}}", _target, look, do, undo, TEAM_READS, danger=danger)


def _covers(session: Session, known: TeamVerdict, one: Applicant) -> bool:
    """Whether a decision holds for everybody in the team: an admission not for who joined since."""
    people = eligibility.people_of(session, one.team)
    return known.status != EntryStatus.ADMITTED or people <= set(known.people)


def _unanswered(session: Session, one: Applicant) -> list[str]:
    """Who has not answered what the league asks of them: to admit the team makes their answers needless."""
    missing = eligibility.eligibility_of(session, one.league, one.team).missing
    return (
        [f"{', '.join(missing)} of “{one.team.name}” must answer the questions of the league."]
        if missing
        else []
    )


def _tell(session: Session, one: Applicant, words: str, reason: str) -> None:
    competition = session.get_one(Competition, one.team.competition_id)
    tell_team(
        session,
        one.team.id,
        kind="membership",
        title=words.format(title=competition.title, name=one.league.name),
        body=reason,
        url=f"/competitions/{competition.slug}/leagues",
    )


ADMIT = _verdict(
    "admit",
    "Admit",
    EntryStatus.ADMITTED,
    "{title}: the organizers admitted your team to the league {name}",
    "Its entries may stand on the league's boards.",
    "Refuse it: its members get a message again.",
    danger=Danger.NONE,
)
REFUSE = _verdict(
    "refuse",
    "Refuse",
    EntryStatus.REFUSED,
    "{title}: the organizers did not admit your team to the league {name}",
    "Its entries leave the league's boards; its members see the reason.",
    "Admit it: its members get a message again.",
    danger=Danger.PROOF,
)
ACTS = by_name(ADMIT, REFUSE)
VERDICTS = {EntryStatus.ADMITTED: ADMIT, EntryStatus.REFUSED: REFUSE}
