"""Who may have an entry in a league: its questions, the members' answers, the organizers' verdict on a team.

A league asks when it has questions, or when every member must qualify; who has to answer is every member of the
team, or one of them. Where organizers approve, they decide once on a team, not on each submission; a change of the
team's members, or of an answer, takes an admission back until they decide again. A refusal stays until they lift it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from anyshot_platform.competitions.models import Membership
from anyshot_platform.competitions.states import MemberStatus
from anyshot_platform.database import now
from anyshot_platform.entries.models import LeagueAnswer, TeamVerdict
from anyshot_platform.errors import Forbidden, Invalid
from anyshot_platform.leagues.description import LeagueQuestionSpec
from anyshot_platform.leagues.models import League
from anyshot_platform.leagues.states import Admission, EntryStatus
from anyshot_platform.teams.models import Team
from anyshot_platform.users.models import User

CHANGED = "The members or their answers have changed."


@dataclass(frozen=True)
class MemberAnswers:
    """A member of a team with what they answered for it; None where they have not."""

    membership: Membership
    user: User
    answers: dict[str, Any] | None  # empty for a deleted account that had answered


@dataclass(frozen=True)
class Eligibility:
    """Where a team stands with a league's condition."""

    asks: bool
    status: EntryStatus
    reason: str
    members: tuple[MemberAnswers, ...] = ()  # without deleted accounts
    missing: tuple[str, ...] = ()  # user names of those whose answers are needed
    decided_by: str | None = None

    @property
    def must_answer(self) -> frozenset[str]:
        """The user names of those whose answers hold the team back; empty where the organizers have decided."""
        return frozenset(self.missing) if self.status == EntryStatus.DECLARED else frozenset()

    @property
    def waits(self) -> bool:
        """Whether all have answered, and the team waits for the organizers' decision."""
        return self.status == EntryStatus.DECLARED and not self.missing


def questions_of(league: League) -> list[LeagueQuestionSpec]:
    """What a league asks; one confirmation where every member must qualify and no question is written."""
    if league.questions or not league.every_member_qualifies:
        return [LeagueQuestionSpec.model_validate(question) for question in league.questions]
    return [LeagueQuestionSpec(key="qualifies", label=f"I qualify for the league “{league.name[:150]}”.")]


def asks(league: League) -> bool:
    """Whether a team has to answer before it can have an entry."""
    return bool(league.questions) or league.every_member_qualifies


def approves_teams(league: League) -> bool:
    """Whether organizers decide on a team in this league, once, and not on each of its submissions."""
    return league.admission == Admission.APPROVAL and asks(league)


def eligibility_of(session: Session, league: League, team: Team) -> Eligibility:
    """Whether the team may stand in the league, and if not, what is missing, in words for the team."""
    return eligibilities_of(session, [league], team)[league.id]


def eligibilities_of(session: Session, leagues: Sequence[League], team: Team) -> dict[str, Eligibility]:
    """Where the team stands with each of these leagues, by league id; the queries are as many for one as for all."""
    found = _weigh_all(session, leagues, [team])
    return {league.id: found[league.id, team.id] for league in leagues}


def eligibilities_in(session: Session, league: League, teams: Sequence[Team]) -> dict[str, Eligibility]:
    """Where each of these teams stands with a league, by team id; the queries are as many for one as for all."""
    found = _weigh_all(session, [league], teams)
    return {team.id: found[league.id, team.id] for team in teams}


def _weigh_all(
    session: Session, leagues: Sequence[League], teams: Sequence[Team]
) -> dict[tuple[str, str], Eligibility]:
    """Where each team stands with each league, by league id and team id."""
    asking, team_ids = [league.id for league in leagues if asks(league)], [team.id for team in teams]
    members = _members(session, team_ids) if asking else {}
    answers = _answers(session, asking, team_ids) if asking else {}
    verdicts = _verdicts(session, asking, team_ids) if asking else {}

    def weigh(league: League, team_id: str) -> Eligibility:
        if league.id not in asking:
            return Eligibility(False, EntryStatus.ADMITTED, "")
        said = tuple(
            MemberAnswers(member, user, answers.get((league.id, team_id, member.id)))
            for member, user in members.get(team_id, ())
        )
        missing, verdict = _missing(league, said), verdicts.get((league.id, team_id))
        status, reason = _judge(league, missing, verdict)
        return Eligibility(
            True, status, reason, _present(said), missing, verdict.decided_by if verdict else None
        )

    return {(league.id, team_id): weigh(league, team_id) for league in leagues for team_id in team_ids}


def _judge(league: League, missing: tuple[str, ...], verdict: TeamVerdict | None) -> tuple[EntryStatus, str]:
    if verdict is not None and verdict.status != EntryStatus.DECLARED:
        return verdict.status, verdict.reason
    if missing:
        return EntryStatus.DECLARED, (f"{', '.join(missing)} must answer the questions of the league.")
    if league.admission == Admission.APPROVAL:
        return EntryStatus.DECLARED, "The organizers have not decided yet."
    return EntryStatus.ADMITTED, ""


def _missing(league: League, members: tuple[MemberAnswers, ...]) -> tuple[str, ...]:
    """Whose answers are needed; a deleted account has to answer only where nobody else is left in the team."""
    asked = _present(members) or members
    silent = tuple(member.user.username for member in asked if member.answers is None)
    answered = any(member.answers is not None for member in members)
    return silent if league.every_member_qualifies or not answered else ()


def _present(members: tuple[MemberAnswers, ...]) -> tuple[MemberAnswers, ...]:
    """The members whose accounts are not deleted."""
    return tuple(member for member in members if member.user.deleted_at is None)


def _members(session: Session, team_ids: Sequence[str]) -> dict[str | None, list[tuple[Membership, User]]]:
    """The members of each team, the oldest first."""
    rows = session.execute(
        select(Membership, User)
        .join(User, User.id == Membership.user_id)
        .where(Membership.team_id.in_(team_ids), Membership.status == MemberStatus.APPROVED)
        .order_by(Membership.created_at, Membership.id)
    )
    found: dict[str | None, list[tuple[Membership, User]]] = {}
    for member, user in rows:
        found.setdefault(member.team_id, []).append((member, user))
    return found


def _answers(
    session: Session, league_ids: Sequence[str], team_ids: Sequence[str]
) -> dict[tuple[str, str, str], dict[str, Any]]:
    """What was answered for the teams, by league, team and membership."""
    mine = (LeagueAnswer.league_id.in_(league_ids), LeagueAnswer.team_id.in_(team_ids))
    rows = session.scalars(select(LeagueAnswer).where(*mine))
    return {(row.league_id, row.team_id, row.membership_id): row.answers for row in rows}


def _verdicts(
    session: Session, league_ids: Sequence[str], team_ids: Sequence[str]
) -> dict[tuple[str, str], TeamVerdict]:
    """What was decided on the teams, by league and team."""
    mine = (TeamVerdict.league_id.in_(league_ids), TeamVerdict.team_id.in_(team_ids))
    return {(row.league_id, row.team_id): row for row in session.scalars(select(TeamVerdict).where(*mine))}


def answer(session: Session, league: League, membership: Membership, said: Mapping[str, str]) -> None:
    """Keep a member's answers, for their present team; raises `Invalid` with the question that lacks one."""
    if membership.team_id is None or membership.status != MemberStatus.APPROVED:
        raise Forbidden("Join the competition first.")
    answers = _read(league, said)
    row = answers_of(session, league, membership)
    if row is not None and (row.team_id, row.answers) == (membership.team_id, answers):
        return
    if row is None:
        row = LeagueAnswer(league_id=league.id, membership_id=membership.id, team_id=membership.team_id)
        session.add(row)
    row.team_id, row.answers, row.answered_at = membership.team_id, answers, now()
    _open_again(session, membership.team_id, league.id)
    session.flush()


def answers_of(session: Session, league: League, membership: Membership) -> LeagueAnswer | None:
    """What a member answered to a league's questions."""
    mine = (LeagueAnswer.league_id == league.id, LeagueAnswer.membership_id == membership.id)
    return session.scalars(select(LeagueAnswer).where(*mine)).one_or_none()


def _read(league: League, said: Mapping[str, str]) -> dict[str, Any]:
    questions = questions_of(league)
    unknown = set(said) - {question.key for question in questions}
    if unknown:
        known = ", ".join(question.key for question in questions)
        raise Invalid(f"{league.name} does not ask {', '.join(sorted(unknown))}. Its questions: {known}.")
    return {question.key: _read_one(question, said.get(question.key, "").strip()) for question in questions}


def _read_one(question: LeagueQuestionSpec, text: str) -> str | bool:
    if question.answer == "confirm":
        confirmed = text.casefold() in ("1", "true", "yes", "on")
        if question.required and not confirmed:
            raise Invalid(f"Confirm: {question.label}", field=question.key)
        return confirmed
    if question.required and not text:
        raise Invalid(f"Answer: {question.label}", field=question.key)
    if question.answer == "link" and text and not text.startswith(("https://", "http://")):
        raise Invalid(
            f"{question.label}: a link begins with https://, found “{text[:60]}”.",
            field=question.key,
        )
    return text[:4000]


def judge(
    session: Session, league: League, team: Team, status: EntryStatus, actor_id: str, reason: str = ""
) -> EntryStatus:
    """Decide on a team in a league that asks; returns what was decided before."""
    row = session.get(TeamVerdict, (league.id, team.id))
    if row is None:
        row = TeamVerdict(league_id=league.id, team_id=team.id)
        session.add(row)
        session.flush()
    before = row.status
    row.status, row.reason, row.decided_by, row.decided_at = status, reason, actor_id, now()
    session.flush()
    return before


def ask_again(session: Session, team_id: str) -> None:
    """Open the decisions on a team again: its members have changed."""
    _open_again(session, team_id)


def _open_again(session: Session, team_id: str, league_id: str | None = None) -> None:
    query = select(TeamVerdict).where(TeamVerdict.team_id == team_id)
    if league_id is not None:
        query = query.where(TeamVerdict.league_id == league_id)
    for row in session.scalars(query):
        if row.status == EntryStatus.ADMITTED:
            row.status, row.reason, row.decided_by, row.decided_at = EntryStatus.DECLARED, CHANGED, None, None
    session.flush()


def forget_answers(session: Session, user_id: str) -> None:
    """Erase a person's answers, with their account; that they answered stays, and with it the rows of their team."""
    mine = select(Membership.id).where(Membership.user_id == user_id)
    session.execute(update(LeagueAnswer).where(LeagueAnswer.membership_id.in_(mine)).values(answers={}))
