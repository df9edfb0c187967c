"""Who may have an entry in a league: its questions, the members' answers, the organizers' verdict on a team.

A league asks when it has questions, or when every member must qualify; who has to answer is every member of the
team, or one of them. For an entry these are the people who were in the team when it was handed in: who joins later is
asked for what the team hands in from then on, and who leaves has still to answer.

Where organizers approve, they decide once on a team, not on each submission. An admission holds for the people on whom
it was decided, and one of them who answers otherwise takes it back. A refusal stays until the organizers lift it.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, select, update
from sqlalchemy.orm import Session

from anyshot_platform.contest.competitions.models import Membership
from anyshot_platform.contest.competitions.states import MemberStatus
from anyshot_platform.contest.leagues.description import LeagueQuestionSpec
from anyshot_platform.contest.leagues.models import League
from anyshot_platform.contest.leagues.states import Admission, EntryStatus
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.errors import Forbidden, Invalid
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.people.teams.models import Team
from anyshot_platform.people.users.models import User
from anyshot_platform.standings.entries.models import LeagueAnswer, TeamVerdict

CHANGED = "Answers have changed since the organizers decided."


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
    """Whether what the team hands in now may stand in the league; if not, what is missing, in words for the team."""
    return eligibilities_of(session, [league], team)[league.id]


def eligibilities_of(session: Session, leagues: Sequence[League], team: Team) -> dict[str, Eligibility]:
    """Where the team of now stands with each of these leagues, by league id; as many queries for one as for all."""
    found = _weigh_all(session, leagues, _teams_of_now(session, leagues, [team]))
    return {league.id: found[league.id, team.id] for league in leagues}


def eligibilities_in(session: Session, league: League, teams: Sequence[Team]) -> dict[str, Eligibility]:
    """Where each of these teams stands now with a league, by team id; as many queries for one as for all."""
    found = _weigh_all(session, [league], _teams_of_now(session, [league], teams))
    return {team.id: found[league.id, team.id] for team in teams}


def eligibilities_of_entries(
    session: Session, leagues: Sequence[League], submissions: Sequence[Submission]
) -> dict[tuple[str, str], Eligibility]:
    """Whether each submission may stand in each league, by league id and submission id.

    By the people who were in the team when it was handed in; as many queries for one as for all.
    """
    ids = {one for submission in submissions for one in submission.people}
    known = {row[0].id: row for row in _read_members(session, Membership.id.in_(ids))} if ids else {}
    groups = {
        submission.id: _Group(submission.team_id, [known[one] for one in submission.people if one in known])
        for submission in submissions
    }
    return _weigh_all(session, leagues, groups)


@dataclass(frozen=True)
class _Group:
    """People of a team on whose answers something hangs."""

    team_id: str
    members: Sequence[tuple[Membership, User]]


def _teams_of_now(session: Session, leagues: Sequence[League], teams: Sequence[Team]) -> dict[str, _Group]:
    """The members that each team has now, by its id; nobody is read where no league asks."""
    members: dict[str | None, list[tuple[Membership, User]]] = {}
    if any(asks(league) for league in leagues):
        here = Membership.team_id.in_([team.id for team in teams])
        for row in _read_members(session, here, Membership.status == MemberStatus.APPROVED):
            members.setdefault(row[0].team_id, []).append(row)
    return {team.id: _Group(team.id, members.get(team.id, [])) for team in teams}


def _weigh_all(
    session: Session, leagues: Sequence[League], groups: Mapping[str, _Group]
) -> dict[tuple[str, str], Eligibility]:
    """Where each group of people stands with each league, by league id and the key of the group."""
    asking, team_ids = (
        [league.id for league in leagues if asks(league)],
        {one.team_id for one in groups.values()},
    )
    answers = _answers(session, asking, team_ids) if asking else {}
    verdicts = _verdicts(session, asking, team_ids) if asking else {}

    def weigh(league: League, group: _Group) -> Eligibility:
        if league.id not in asking:
            return Eligibility(False, EntryStatus.ADMITTED, "")
        said = tuple(
            MemberAnswers(member, user, answers.get((league.id, group.team_id, member.id)))
            for member, user in group.members
        )
        missing, verdict = _missing(league, said), verdicts.get((league.id, group.team_id))
        status, reason = _judge(league, said, missing, verdict)
        return Eligibility(
            True, status, reason, _present(said), missing, verdict.decided_by if verdict else None
        )

    return {(league.id, key): weigh(league, group) for league in leagues for key, group in groups.items()}


def _judge(
    league: League, members: tuple[MemberAnswers, ...], missing: tuple[str, ...], verdict: TeamVerdict | None
) -> tuple[EntryStatus, str]:
    if verdict is not None and verdict.status != EntryStatus.DECLARED and _is_about(verdict, members):
        return verdict.status, verdict.reason
    if missing:
        return EntryStatus.DECLARED, f"{', '.join(missing)} must answer the questions of the league."
    if league.admission == Admission.APPROVAL:
        return EntryStatus.DECLARED, "The organizers have not decided yet."
    return EntryStatus.ADMITTED, ""


def _is_about(verdict: TeamVerdict, members: tuple[MemberAnswers, ...]) -> bool:
    """Whether a decision holds for these people: an admission not for somebody who came later."""
    known = set(verdict.people)
    return verdict.status == EntryStatus.REFUSED or all(one.membership.id in known for one in members)


def _missing(league: League, members: tuple[MemberAnswers, ...]) -> tuple[str, ...]:
    """Whose answers are needed; a deleted account has to answer only where nobody else is left in the team."""
    asked = _present(members) or members
    silent = tuple(member.user.username for member in asked if member.answers is None)
    answered = any(member.answers is not None for member in members)
    return silent if league.every_member_qualifies or not answered else ()


def _present(members: tuple[MemberAnswers, ...]) -> tuple[MemberAnswers, ...]:
    """The members whose accounts are not deleted."""
    return tuple(member for member in members if member.user.deleted_at is None)


def _read_members(session: Session, *conditions: ColumnElement[bool]) -> Sequence[tuple[Membership, User]]:
    """Members with their accounts, the oldest first."""
    rows = session.execute(
        select(Membership, User)
        .join(User, User.id == Membership.user_id)
        .where(*conditions)
        .order_by(Membership.created_at, Membership.id)
    )
    return [(member, user) for member, user in rows]


def _answers(
    session: Session, league_ids: Sequence[str], team_ids: Collection[str]
) -> dict[tuple[str, str, str], dict[str, Any]]:
    """What was answered for the teams, by league, team and membership."""
    mine = (LeagueAnswer.league_id.in_(league_ids), LeagueAnswer.team_id.in_(team_ids))
    rows = session.scalars(select(LeagueAnswer).where(*mine))
    return {(row.league_id, row.team_id, row.membership_id): row.answers for row in rows}


def _verdicts(
    session: Session, league_ids: Sequence[str], team_ids: Collection[str]
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
    if row is not None and row.answers == answers:
        return
    if row is None:
        row = LeagueAnswer(league_id=league.id, membership_id=membership.id, team_id=membership.team_id)
        session.add(row)
    row.answers, row.answered_at = answers, now()
    _open_again(session, league, membership)
    session.flush()


def answers_of(session: Session, league: League, membership: Membership) -> LeagueAnswer | None:
    """What a member answered to a league's questions for the team that they are in."""
    mine = (
        LeagueAnswer.league_id == league.id,
        LeagueAnswer.membership_id == membership.id,
        LeagueAnswer.team_id == membership.team_id,
    )
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
    row.people = sorted(people_of(session, team))
    session.flush()
    return before


def people_of(session: Session, team: Team) -> set[str]:
    """The memberships of who is in the team, and of who was when it handed something in."""
    here = select(Membership.id).where(
        Membership.team_id == team.id, Membership.status == MemberStatus.APPROVED
    )
    lists = session.scalars(select(Submission.people).where(Submission.team_id == team.id))
    return {*session.scalars(here), *(one for people in lists for one in people)}


def _open_again(session: Session, league: League, membership: Membership) -> None:
    """Open an admission again for which one of its people answers otherwise."""
    row = session.get(TeamVerdict, (league.id, membership.team_id))
    if row is not None and row.status == EntryStatus.ADMITTED and membership.id in row.people:
        row.status, row.reason, row.decided_by, row.decided_at = EntryStatus.DECLARED, CHANGED, None, None


def forget_answers(session: Session, user_id: str) -> None:
    """Erase a person's answers, with their account; that they answered stays, and with it the rows of their team."""
    mine = select(Membership.id).where(Membership.user_id == user_id)
    session.execute(update(LeagueAnswer).where(LeagueAnswer.membership_id.in_(mine)).values(answers={}))
