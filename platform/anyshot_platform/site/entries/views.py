"""Who may have an entry in a league, as the team and the organizers see it."""

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, Field
from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from anyshot_platform.contest.competitions.models import Competition, Membership
from anyshot_platform.contest.leagues.actions.waiting import list_teams
from anyshot_platform.contest.leagues.description import LeagueQuestionSpec
from anyshot_platform.contest.leagues.models import League, LeagueEntry
from anyshot_platform.contest.leagues.states import EntryStatus
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.people.teams.models import Team
from anyshot_platform.standings.entries.eligibility import (
    Eligibility,
    eligibilities_of,
    questions_of,
)
from anyshot_platform.standings.results.awards import prizes_of


class TeamMemberOut(BaseModel):
    """A member of one's team, and their answers where one may see them."""

    username: str
    answered: bool
    answers: dict[str, Any] | None


class EligibilityOut(BaseModel):
    """What a league asks, and where one's team stands."""

    league: str
    name: str
    description: str
    prizes: str
    questions: list[LeagueQuestionSpec]
    every_member: bool
    status: EntryStatus
    reason: str
    takes_part: bool = Field(description="whether the team entered, answered or was decided on")
    mine: dict[str, Any] | None
    members: list[TeamMemberOut]

    @property
    def fields(self) -> dict[str, str]:
        """One's own answers as the form sends them."""
        return _as_sent(self.questions, self.mine)


def answer_fields(league: League, answers: dict[str, Any] | None) -> dict[str, str]:
    """A member's answers to a league's questions, as a form sends them."""
    return _as_sent(questions_of(league), answers)


def _as_sent(questions: Iterable[LeagueQuestionSpec], answers: dict[str, Any] | None) -> dict[str, str]:
    said = {question.key: (answers or {}).get(question.key, "") for question in questions}
    return {key: ("yes" if text else "") if isinstance(text, bool) else text for key, text in said.items()}


def show_leagues(session: Session, competition: Competition, membership: Membership) -> list[EligibilityOut]:
    """The leagues of a competition with their questions, one's own answers and the team's standing."""
    team = session.get_one(Team, membership.team_id)
    leagues = session.scalars(
        select(League)
        .where(League.competition_id == competition.id, League.deleted_at.is_(None))
        .order_by(League.position, League.id)
    ).all()
    found = eligibilities_of(session, leagues, team)
    entered = set(session.scalars(_leagues_entered(team)))
    return [
        _show_league(league, found[league.id], membership, entered=league.id in entered) for league in leagues
    ]


def _leagues_entered(team: Team) -> Select[str]:
    entries = select(LeagueEntry.league_id).join(Submission, Submission.id == LeagueEntry.submission_id)
    return entries.where(Submission.team_id == team.id)


def _show_league(
    league: League, found: Eligibility, membership: Membership, *, entered: bool
) -> EligibilityOut:
    mine = next((row.answers for row in found.members if row.membership.id == membership.id), None)
    return EligibilityOut(
        league=league.slug,
        name=league.name,
        description=league.description,
        prizes=prizes_of(league),
        questions=questions_of(league),
        every_member=league.every_member_qualifies,
        status=found.status,
        reason=found.reason,
        takes_part=entered
        or found.decided_by is not None
        or any(row.answers is not None for row in found.members),
        mine=mine,
        members=[
            TeamMemberOut(
                username=row.user.username,
                answered=row.answers is not None,
                answers=_for_team(league, row.answers),
            )
            for row in found.members
        ],
    )


def _for_team(league: League, answers: dict[str, Any] | None) -> dict[str, Any] | None:
    """Answers that the team may see; the others are the organizers' alone."""
    if answers is None:
        return None
    shared = {question.key for question in questions_of(league) if question.shown_to == "team"}
    return {key: value for key, value in answers.items() if key in shared}


class PersonOut(BaseModel):
    """A member of a team as organizers see them when they decide."""

    username: str
    name: str
    country: str
    affiliation: str
    answers: dict[str, Any] | None


class DecisionRow(BaseModel):
    """A team in a league that asks, with the evidence."""

    league: str
    league_name: str
    team: str
    team_name: str
    status: EntryStatus
    reason: str
    missing: list[str]
    decided: bool
    labels: dict[str, str] = Field(description="what each key of the answers asks")
    people: list[PersonOut]

    @property
    def waits(self) -> bool:
        """Whether the members have answered, and the organizers have not decided."""
        return self.status == EntryStatus.DECLARED and not self.missing


def list_decisions(session: Session, leagues: Iterable[League]) -> list[DecisionRow]:
    """Every team that answered in, or entered, a league that asks; those that wait for organizers first."""
    rows = [_decision(one.league, one.team, one.eligibility) for one in list_teams(session, leagues)]
    return sorted(
        rows, key=lambda row: (row.status != EntryStatus.DECLARED, bool(row.missing), row.team_name)
    )


def _decision(league: League, team: Team, found: Eligibility) -> DecisionRow:
    people = [
        PersonOut(
            username=row.user.username,
            name=row.user.display_name,
            country=row.user.country,
            affiliation=row.user.affiliation,
            answers=row.answers,
        )
        for row in found.members
    ]
    return DecisionRow(
        league=league.slug,
        league_name=league.name,
        team=team.id,
        team_name=team.name,
        status=found.status,
        reason=found.reason,
        missing=list(found.missing),
        decided=found.decided_by is not None,
        labels={question.key: question.label for question in questions_of(league)},
        people=people,
    )
