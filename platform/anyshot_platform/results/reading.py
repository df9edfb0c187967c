"""The results of a phase as one viewer sees them: who stands where, with which prize, method card and code."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.competitions.models import Competition, Membership
from anyshot_platform.competitions.states import MemberStatus
from anyshot_platform.fact_sheets.models import FactSheet
from anyshot_platform.leaderboards.reading import BoardPlace, number_rows, read_board
from anyshot_platform.leagues.models import League
from anyshot_platform.leagues.service import list_leagues
from anyshot_platform.phases.models import Phase
from anyshot_platform.phases.service import live_version
from anyshot_platform.results.awards import divide_in_team, share_prizes
from anyshot_platform.sight.code import code_is_public
from anyshot_platform.submissions.models import Submission
from anyshot_platform.teams.models import Team
from anyshot_platform.users.models import User

PODIUM = 3
_EVERYBODY = 10_000


@dataclass(frozen=True)
class Share:
    """What one member gets of a team's prize."""

    name: str
    cents: int


@dataclass(frozen=True)
class MethodCard:
    """A fact sheet that its team agreed to show: question and answer."""

    answers: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class ResultRow:
    """A team's result in a league; baselines and others out of the ranking have no rank."""

    rank: int | None
    team_id: str
    team: str
    submission_id: str
    is_baseline: bool
    score: float
    half_width: float | None
    runs: int
    tasks: int
    cents: int
    members: tuple[str, ...]  # where the viewer may know them, the captain first
    shares: tuple[Share, ...]  # of the prize, between these
    card: MethodCard | None
    code_public: bool
    own: bool


@dataclass(frozen=True)
class LeagueResults:
    """A league with its rows in order."""

    league: League
    rows: tuple[ResultRow, ...]

    @property
    def podium(self) -> tuple[ResultRow, ...]:
        """The first three places."""
        return tuple(row for row in self.rows if row.rank is not None and row.rank <= PODIUM)

    @property
    def winners(self) -> tuple[ResultRow, ...]:
        """Who gets a prize."""
        return tuple(row for row in self.rows if row.cents)


@dataclass(frozen=True)
class _Known:
    """What is known of teams and submissions, read once for all leagues."""

    cards: dict[str, MethodCard]
    members: dict[str, list[str]]  # of the teams whose members the viewer may know
    public_code: set[str]
    own_team: str | None


def read_results(
    session: Session, competition: Competition, phase: Phase, *, team_id: str | None, everything: bool
) -> list[LeagueResults]:
    """The results of every league; members' shares are those of `team_id`, or of all with `everything`.

    Whether the viewer may see them at all is the caller's question to Sight.
    """
    version = live_version(session, phase)
    places = {
        league.id: read_board(session, version, league, limit=_EVERYBODY).places
        for league in list_leagues(session, competition)
    }
    teams = {place.row.team_id for found in places.values() for place in found}
    known = _Known(
        _cards(session, competition, teams),
        _members(session, teams if everything else teams & {team_id or ""}),
        _public_code(session, phase),
        team_id,
    )
    return [
        LeagueResults(league, tuple(_rows(league, places[league.id], known)))
        for league in list_leagues(session, competition)
        if places[league.id]
    ]


def _rows(league: League, places: Sequence[BoardPlace], known: _Known) -> list[ResultRow]:
    ranked = [place for place in places if place.rank is not None]
    ranks = number_rows([place.row for place in ranked])
    cents = share_prizes(ranks, league.awards)
    numbers = {place.row.id: (rank, amount) for place, rank, amount in zip(ranked, ranks, cents, strict=True)}
    return [_row(league, place, *numbers.get(place.row.id, (None, 0)), known) for place in places]


def _row(league: League, place: BoardPlace, rank: int | None, cents: int, known: _Known) -> ResultRow:
    row, names = place.row, known.members.get(place.row.team_id, [])
    shares = divide_in_team(cents, len(names), league.award_split) if cents else []
    return ResultRow(
        rank=rank,
        team_id=row.team_id,
        team=place.name,
        submission_id=row.submission_id,
        is_baseline=place.is_baseline,
        score=row.value,
        half_width=row.half_width,
        runs=row.runs,
        tasks=row.tasks,
        cents=cents,
        members=tuple(names),
        shares=tuple(Share(*pair) for pair in zip(names, shares, strict=False)),
        card=None if place.is_baseline else known.cards.get(row.team_id),
        code_public=row.submission_id in known.public_code,
        own=row.team_id == known.own_team,
    )


def _cards(session: Session, competition: Competition, teams: Collection[str]) -> dict[str, MethodCard]:
    """The fact sheets that were handed in and may be shown, by team."""
    labels = [(str(question["key"]), str(question["label"])) for question in competition.fact_sheet]
    agreed = select(FactSheet).where(
        FactSheet.team_id.in_(teams), FactSheet.public, FactSheet.handed_in_at.is_not(None)
    )
    return {
        sheet.team_id: MethodCard(
            tuple((label, sheet.answers[key]) for key, label in labels if sheet.answers.get(key))
        )
        for sheet in session.scalars(agreed)
    }


def _members(session: Session, teams: Collection[str]) -> dict[str, list[str]]:
    """The members' names."""
    found = members_of(session, teams)
    return {team: [user.display_name or user.username for user in users] for team, users in found.items()}


def members_of(session: Session, teams: Collection[str]) -> dict[str, list[User]]:
    """The members of these teams, the captain first, then as they joined; without deleted accounts."""
    rows = session.execute(
        select(Membership.team_id, User)
        .join(User, User.id == Membership.user_id)
        .join(Team, Team.id == Membership.team_id)
        .where(Membership.team_id.in_(teams), Membership.status == MemberStatus.APPROVED)
        .where(User.deleted_at.is_(None))
        .order_by(Team.captain_id != Membership.user_id, Membership.created_at, Membership.id)
    )
    found: dict[str, list[User]] = {}
    for team_id, user in rows:
        found.setdefault(team_id or "", []).append(user)
    return found


def _public_code(session: Session, phase: Phase) -> set[str]:
    query = select(Submission.id).join(Phase, Phase.id == Submission.phase_id)
    return set(session.scalars(query.where(Phase.id == phase.id, code_is_public())))
