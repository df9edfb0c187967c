"""What a scored submission comes to: its place in each league, and what it changed, with how sure that is."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field
from sqlalchemy.orm import Session

from anyshot_platform.contest.phases.models import PhaseVersion
from anyshot_platform.foundation.filters import capitalized, decimal, join_texts, score
from anyshot_platform.foundation.storage import Storage
from anyshot_platform.judging.execution.pairs import Statement
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.visibility.access import SubmissionAccess
from anyshot_platform.standings.entries.selection import COMPETES
from anyshot_platform.standings.entries.service import TeamEntry, list_entries
from anyshot_platform.standings.entries.states import EntryState
from anyshot_platform.standings.leaderboards.comparison import find_best_baseline, find_best_other
from anyshot_platform.standings.leaderboards.reading import read_board, read_rank_of
from anyshot_platform.standings.leaderboards.trust import read_beside


@dataclass(frozen=True)
class EntryPlace:
    """The team's entry in a league; `counts`: whether it is this submission."""

    league: str
    league_name: str
    counts: bool
    rank: Annotated[
        int | None, Field(description="null where the board is hidden, or the entry is not on it")
    ]
    ranked: int  # rows with a rank on that board; 0 without a rank
    words: str


@dataclass(frozen=True)
class ScoreChange:
    """This submission minus another one."""

    against: str
    submission_id: Annotated[str | None, Field(description="null where the viewer may not open it")]
    difference: Annotated[
        float, Field(description="of scores; of average ranks where the statement is `in_ranks`")
    ]
    statement: Annotated[
        Statement | None, Field(description="null where the two did not meet the same tasks")
    ]
    words: str

    @property
    def figure(self) -> str:
        """The difference with its sign; what rounds to nothing has none."""
        rounded = round(self.difference, 3)
        size = f"{'+' * (rounded > 0)}{score(rounded or 0.0)}"
        in_ranks = self.statement is not None and self.statement.in_ranks
        return f"{size} average ranks" if in_ranks else size

    @property
    def tone(self) -> str:
        """Good and bad only where the two can be told apart."""
        if self.statement is None or not self.statement.told_apart:
            return "info"
        return "good" if self.statement.ahead > 0 else "bad"


@dataclass(frozen=True)
class Answer:
    """What a score comes to."""

    places: tuple[EntryPlace, ...]
    changes: tuple[ScoreChange, ...]


@dataclass(frozen=True)
class _Other:
    """A submission to look at beside this one."""

    submission: Submission
    name: str
    short: str  # where the name has just been said
    open: bool  # whether the viewer may open it


def read_answer(
    session: Session, storage: Storage, found: SubmissionAccess, version: PhaseVersion
) -> Answer | None:
    """What there is to say, as far as the viewer sees it; None without a score, and of what does not compete."""
    submission, sight = found.submission, found.sight
    if not sight.scored or submission.kind not in COMPETES:
        return None
    hidden = bool(sight.phase.board_hidden)
    entries = [
        row
        for row in list_entries(session, submission.phase, team_id=submission.team_id)
        if found.sees_team or row.submission.id == submission.id
    ]
    return Answer(
        places=tuple(_place(session, version, row, submission, hidden=hidden) for row in entries),
        changes=_changes(session, storage, found, version),
    )


def _place(
    session: Session, version: PhaseVersion, row: TeamEntry, submission: Submission, *, hidden: bool
) -> EntryPlace:
    on_board = row.entry.state == EntryState.STANDING and not hidden
    rank = read_rank_of(session, version, row.league, row.submission) if on_board else None
    ranked = read_board(session, version, row.league, limit=1).total if rank else 0
    counts = row.submission.id == submission.id
    words = _own_words(row, rank, ranked) if counts else _other_words(row, rank, ranked)
    return EntryPlace(row.league.slug, row.league.name, counts, rank, ranked, words)


_STANDS = {
    EntryState.STANDING: "Stands on the leaderboard.",
    EntryState.HELD_BACK: "Held back.",
    EntryState.REFUSED: "Refused.",
    EntryState.WITHDRAWN: "Withdrawn by the team.",
    EntryState.DISQUALIFIED: "Disqualified.",
    EntryState.GONE: "No longer in the league.",
}


def _own_words(row: TeamEntry, rank: int | None, ranked: int) -> str:
    if row.entry.state != EntryState.STANDING:
        return join_texts((_STANDS[row.entry.state], row.entry.reason))
    return f"Rank {decimal(rank)} of {decimal(ranked)}." if rank else "This is your team's entry."


def _other_words(row: TeamEntry, rank: int | None, ranked: int) -> str:
    number = row.submission.number
    if not rank:
        return f"Your team's entry is another one, #{number}."
    return f"Your team's entry is another one, #{number}, on rank {decimal(rank)} of {decimal(ranked)}."


def _others(session: Session, found: SubmissionAccess, version: PhaseVersion) -> list[_Other]:
    """The team's best other submission, and the best baseline where the board may be seen."""
    submission, sight = found.submission, found.sight
    others = []
    if best := find_best_other(session, version, submission, found.beside()):
        name = f"your best other submission (#{best.number})"
        others.append(_Other(best, name, f"your best other (#{best.number})", True))
    if not sight.phase.board_hidden and (best := find_best_baseline(session, version)):
        name = best.comment or best.filename
        words = f"the best baseline (“{name}”)"
        others.append(_Other(best, words, "the baseline", sight.everything))
    return others


def _changes(
    session: Session, storage: Storage, found: SubmissionAccess, version: PhaseVersion
) -> tuple[ScoreChange, ...]:
    """Without those of which nothing is known where two scores alone do not tell which is ahead."""
    submission, others = found.submission, _others(session, found, version)
    pairs = [(submission.id, other.submission.id) for other in others]
    sees_board = not found.sight.phase.board_hidden
    said = read_beside(session, storage, version, pairs, sees_board=sees_board)
    return tuple(
        _change(submission, other, one)
        for other, one in zip(others, said, strict=True)
        if one or not version.rule.relative
    )


def _change(submission: Submission, other: _Other, statement: Statement | None) -> ScoreChange:
    difference = (submission.score or 0.0) - (other.submission.score or 0.0)
    if statement and statement.in_ranks:
        difference = statement.difference
    words = (
        statement.words("this submission", other.short)
        if statement
        else (
            "The difference has no interval: the two did not run the same tasks, or their results "
            "are no longer kept."
        )
    )
    return ScoreChange(
        against=other.name,
        submission_id=other.submission.id if other.open else None,
        difference=difference,
        statement=statement,
        words=capitalized(words),
    )
