"""The results of a phase as its boards stand: who is where, with which prize, and who the people of each entry are."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.contest.competitions.models import Competition, Membership
from anyshot_platform.contest.competitions.states import MemberStatus
from anyshot_platform.contest.leagues.models import League
from anyshot_platform.contest.leagues.service import list_leagues
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.service import live_version
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.people.users.models import User
from anyshot_platform.standings.leaderboards.reading import BoardPlace, find_board, number_rows
from anyshot_platform.standings.results.awards import divide_in_team, share_prizes

PODIUM = 3
_EVERYBODY = 10_000


@dataclass(frozen=True)
class Share:
    """One of the people of an entry, and what they get of its prize."""

    user_id: str
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
    people: tuple[Share, ...] = ()  # who was in the team when the entry was handed in, the captain first
    card: MethodCard | None = None
    code_public: bool = False
    own: bool = False

    @property
    def key(self) -> str:
        """What the row is of: a team, or one of the organizers' baselines."""
        return self.submission_id if self.is_baseline else self.team_id

    @property
    def members(self) -> tuple[str, ...]:
        """The names of its people."""
        return tuple(one.name for one in self.people)

    @property
    def shares(self) -> tuple[Share, ...]:
        """Its prize, between these; empty without one."""
        return self.people if self.cents else ()


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


def compute_results(session: Session, phase: Phase) -> list[LeagueResults]:
    """The results of every league as the boards stand in this transaction; none of a phase that is deleted."""
    if phase.deleted_at is not None:
        return []
    version = live_version(session, phase)
    boards = [
        (league, find_board(session, version, league, 0, _EVERYBODY).places)
        for league in list_leagues(session, session.get_one(Competition, phase.competition_id))
    ]
    ids = [place.row.submission_id for _, places in boards for place in places]
    people = people_of_entries(session, ids)
    return [
        LeagueResults(league, tuple(_rows(league, places, people))) for league, places in boards if places
    ]


def _rows(league: League, places: Sequence[BoardPlace], people: dict[str, list[User]]) -> list[ResultRow]:
    ranked = [place for place in places if place.rank is not None]
    ranks = number_rows([place.row for place in ranked])
    cents = share_prizes(ranks, league.awards)
    numbers = {place.row.id: (rank, amount) for place, rank, amount in zip(ranked, ranks, cents, strict=True)}
    return [_row(league, place, *numbers.get(place.row.id, (None, 0)), people) for place in places]


def _row(
    league: League, place: BoardPlace, rank: int | None, cents: int, people: dict[str, list[User]]
) -> ResultRow:
    row = place.row
    users = people.get(row.submission_id, [])
    shares = divide_in_team(cents, len(users), league.award_split)
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
        people=tuple(
            Share(user.id, user.display_name or user.username, share)
            for user, share in zip(users, shares, strict=True)
        ),
    )


def people_of_entries(session: Session, submission_ids: Collection[str]) -> dict[str, list[User]]:
    """Who was in the team when each submission was handed in, the captain first.

    Without those whom the organizers banned or turned away since, and without deleted accounts.
    """
    lists = session.execute(select(Submission.id, Submission.people).where(Submission.id.in_(submission_ids)))
    people = dict(lists.all())
    rows = session.execute(
        select(Membership.id, User)
        .join(User, User.id == Membership.user_id)
        .where(Membership.id.in_({one for members in people.values() for one in members}))
        .where(Membership.status.not_in([MemberStatus.BANNED, MemberStatus.REJECTED]))
        .where(User.deleted_at.is_(None))
    )
    users = dict(rows.all())
    return {key: [users[one] for one in members if one in users] for key, members in people.items()}
